package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"carrel/config"
	"carrel/core/naming"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/pebblestore"
)

// storePlace returns the place that the flag names.
func storePlace(s config.StoreFlag) (place, error) { return placeOf("store", s.Store, s.Cassandra) }

// refuseMissing returns an error if the store that the flag names does not exist.
func refuseMissing(s config.StoreFlag) error {
	place, err := storePlace(s)
	if err != nil {
		return err
	}
	return place.exists()
}

// place is where a store is, and what kind of store it is.
type place interface {
	// open opens the store, and makes an embedded one where there is none.
	open(ctx context.Context, with surroundings) (backend, error)
	// exists refuses a place at which open would make a store: it would be found
	// to be in order and to hold nothing.
	exists() error
	// passes tells whether what kept it from being opened, or from being looked
	// at, may be over in a moment.
	passes(err error) bool
	// migrate brings the store's schema up to date, and tells each step.
	migrate(ctx context.Context, tell func(step string)) error
}

// backend is what a gateway needs of an open store.
type backend interface {
	library.Store
	naming.BlockStore
	Close() error
}

// placeOf reads the name of a store that a flag was given.
func placeOf(flag, name string, f config.ClusterFlags) (place, error) {
	if dir, ok := strings.CutPrefix(name, "pebble:"); ok && dir != "" {
		return directory{flag: flag, path: dir}, nil
	}
	if rest, ok := strings.CutPrefix(name, "cassandra://"); ok {
		return clusterOf(flag, rest, f)
	}
	return nil, config.WrongUsage(flag, name, "pebble:DIR or "+clusterName)
}

// directory is that of an embedded store.
type directory struct{ flag, path string }

func (d directory) open(_ context.Context, with surroundings) (backend, error) {
	store, err := pebblestore.Open(d.path, pebblestore.Options{Log: with.log, Fatal: func(msg string) { with.fatal(errors.New(msg)) }})
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	return store, nil
}

func (d directory) exists() error {
	if _, err := os.Stat(d.path); err != nil {
		return config.WrongUsage(d.flag, "pebble:"+d.path, "a store that exists")
	}
	return nil
}

func (d directory) passes(error) bool { return false }

func (d directory) migrate(_ context.Context, tell func(step string)) error {
	tell("pebble:" + d.path + " needs no migration: an embedded store has no schema, and its format is checked whenever it is opened")
	return nil
}

// refuseHalfCopied refuses a store that a copy has not completed.
func refuseHalfCopied(ctx context.Context, store backend) error {
	if rows, ok := store.(archive.Store); ok {
		return archive.RefuseHalfCopied(ctx, rows)
	}
	return nil
}
