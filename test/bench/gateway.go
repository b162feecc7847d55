package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"carrel/auth"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/edge"
	"carrel/library"
	"carrel/paste"
	"carrel/pebblestore"
	"carrel/principal"
	"carrel/resolvers"
)

// A gateway is a store with everything on top of it, assembled as main does it.
type gateway struct {
	store   domain.Store
	opened  opened
	runtime *sched.Real
	journal *journal.Journal
	service *domain.Services
	pastes  *paste.Service
	stop    context.CancelFunc
}

// opened is what an open store of either kind does as a whole.
type opened interface {
	naming.BlockStore
	Close() error
}

// open opens the store in dir and assembles the domain on it.
func open(ctx context.Context, dir string, tuning library.Tuning) (*gateway, error) {
	pebble, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		return nil, err
	}
	return assemble(ctx, pebble, domain.Config{Store: pebble.Store, Tuning: tuning})
}

// headerCache is the default of --header-cache, in bytes.
const headerCache = 32 << 20

// assemble assembles the domain on a store. Closing the gateway also closes the store. c contains
// the store and the settings that differ from the defaults.
func assemble(ctx context.Context, store opened, c domain.Config) (*gateway, error) {
	ctx, stop := context.WithCancel(ctx)
	c.HeaderCache.Bytes = headerCache
	g := &gateway{store: c.Store, opened: store, runtime: sched.NewReal(), stop: stop}
	if err := g.connect(ctx, c); err != nil {
		return nil, errors.Join(err, g.close())
	}
	g.runtime.Go(func() { g.journal.Run(ctx, g.service.Background()) })
	return g, nil
}

// connect creates the journal and the Service on the open store.
func (g *gateway) connect(ctx context.Context, c domain.Config) error {
	names, err := naming.New(g.opened, "bench", naming.DefaultBlockSize)
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	g.journal = journal.New(ctx, c.Store.Journal, g.runtime, log)
	c.Runtime, c.Journal, c.Names, c.Log = g.runtime, g.journal, names, log
	services, err := domain.Open(ctx, c)
	if err != nil {
		return err
	}
	g.service, g.pastes = services, services.Pastes
	return nil
}

func (g *gateway) close() error {
	g.stop()
	g.runtime.Close()
	return g.opened.Close()
}

// handler returns the handler of package edge, with authentication, and the token of a viewer.
func (g *gateway) handler(viewer principal.ID) (h *edge.Handler, token string, err error) {
	h, tokens, err := g.handlerFor(viewer)
	if err != nil {
		return nil, "", err
	}
	return h, tokens[0], nil
}

// handlerFor is handler with the tokens of several viewers.
func (g *gateway) handlerFor(viewers ...principal.ID) (h *edge.Handler, tokens []string, err error) {
	secret := make([]byte, auth.MinSecretBytes)
	g.runtime.Random(secret)
	known, err := auth.New(auth.Config{Secret: secret, Now: time.Now})
	if err != nil {
		return nil, nil, err
	}
	for _, v := range viewers {
		token, err := auth.Mint(secret, auth.Claims{Subject: string(v), IssuedAt: time.Now(), TTL: time.Hour})
		if err != nil {
			return nil, nil, err
		}
		tokens = append(tokens, token)
	}
	limits := edge.DefaultLimits()
	limits.ViewerPoints, limits.AddressPoints = 0, 0 // rate limits are not measured
	h, err = edge.New(edge.Config{
		Schema: resolvers.NewSchema(&resolvers.Root{Services: resolvers.Services{
			People: g.service.People, Library: g.service.Library, PeopleByID: g.service.People, ItemsByID: g.service.Library,
			Listing: g.service.Listing, Notes: g.service.Notes, Pastes: g.service.Pastes}}),
		Authenticate: known.Caller,
		Limits:       limits,
		Log:          slog.New(slog.DiscardHandler),
		Random:       func(b []byte) { _, _ = rand.Read(b) }, // it never fails
	})
	return h, tokens, err
}
