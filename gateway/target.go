package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"carrel/cassandra"
	"carrel/config"
	"carrel/core/naming"
	"carrel/domain"
	"carrel/interchange/archive"
	"carrel/observe"
	"carrel/pebblestore"
)

// Target is a store that may be opened: its kind and its location.
type Target interface {
	// CheckExists returns an error if there is no store. It is for commands that must not create
	// one, such as an audit, which would find an empty store consistent.
	CheckExists() error
	// Migrate brings the store's schema up to date, and reports each step.
	Migrate(ctx context.Context, report func(step string)) error
	// open opens the store, and creates an embedded one if there is none.
	open(ctx context.Context, with Options) (OpenStore, error)
	// transient reports whether an error of opening or reading the store may be temporary.
	transient(err error) bool
}

// Backend is what every kind of store can do as a whole.
type Backend interface {
	naming.BlockStore
	archive.Store
	Close() error
}

// OpenStore is an open store.
type OpenStore struct {
	Backend
	domain.Store
	// shared is the same store if several processes may use it, and embedded if a second process cannot
	// open it. The other is nil.
	shared   *cassandra.Store
	embedded *pebblestore.Store
}

// TargetOf returns the store that the flag names.
func TargetOf(s config.StoreFlag) (Target, error) { return ParseTarget("store", s.Store, s.Cassandra) }

// CheckExists returns an error if the store that the flag names does not exist.
func CheckExists(s config.StoreFlag) error {
	target, err := TargetOf(s)
	if err != nil {
		return err
	}
	return target.CheckExists()
}

// ParseTarget returns the store with a name, which is the value of a flag.
func ParseTarget(flag, name string, f config.ClusterFlags) (Target, error) {
	if dir, ok := strings.CutPrefix(name, "pebble:"); ok && dir != "" {
		return directory{flag: flag, path: dir}, nil
	}
	if rest, ok := strings.CutPrefix(name, "cassandra://"); ok {
		return parseCluster(flag, rest, f)
	}
	return nil, config.WrongUsage(flag, name, "pebble:DIR or "+clusterName)
}

// directory is the directory of an embedded store.
type directory struct{ flag, path string }

func (d directory) open(_ context.Context, with Options) (OpenStore, error) {
	o := pebblestore.Options{Log: with.Log, Fatal: func(msg string) { with.Fatal(errors.New(msg)) }}
	if with.Metrics != nil {
		o.Observe = func(ctx context.Context, c pebblestore.Call) { with.called(ctx, callOf(c)) }
	}
	store, err := pebblestore.Open(d.path, o)
	if err != nil {
		return OpenStore{}, fmt.Errorf("opening the store: %w", err)
	}
	return OpenStore{Backend: store, Store: store.Store, embedded: store}, nil
}

// callOf returns a call of an embedded store as it is counted.
func callOf(c pebblestore.Call) observe.Call {
	outcome := observe.OutcomeOf(c.Err)
	if c.Err == nil && c.Refused {
		outcome = "refused"
	}
	return observe.Call{System: "pebble", Operation: c.Operation, Outcome: outcome, Took: c.Took}
}

// CheckExists implements Target.
func (d directory) CheckExists() error {
	if !pebblestore.Exists(d.path) {
		return config.WrongUsage(d.flag, "pebble:"+d.path, "a store that exists")
	}
	return nil
}

func (d directory) transient(error) bool { return false }

// Migrate implements Target.
func (d directory) Migrate(_ context.Context, report func(step string)) error {
	report("pebble:" + d.path + " needs no migration: an embedded store has no schema, and its format is checked whenever it is opened")
	return nil
}
