package library_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/claim"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// hanging is a store whose readings of claims and headers never end by themselves.
type hanging struct {
	backend.Store
	hung atomic.Bool
}

func (h *hanging) ReadClaim(ctx context.Context, k claim.Key, serial bool) (claim.Claim, error) {
	if !h.hung.Load() {
		return h.Store.ReadClaim(ctx, k, serial)
	}
	<-ctx.Done()
	return claim.Claim{}, ctx.Err()
}

func (h *hanging) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	if !h.hung.Load() {
		return h.Store.ReadMany(ctx, ids, members)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *hanging) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if !h.hung.Load() {
		return h.Store.ReadPrincipals(ctx, ids)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A query of a bounded API fails with UNAVAILABLE when its time is over, whatever it reads.
func TestBounded_QueriesOfAHungStoreEndInTime(t *testing.T) {
	tenant := "acme"
	for name, query := range map[string]func(ctx context.Context, api library.API, v *principal.Viewer) error{
		"ContentByURL": func(ctx context.Context, api library.API, v *principal.Viewer) error {
			_, err := api.ContentByURL(ctx, v, "https://example.org/a", &tenant)
			return err
		},
		"Contents": func(ctx context.Context, api library.API, v *principal.Viewer) error {
			_, err := api.Contents(ctx, v, []library.ContentID{"c:acme:a"})
			return err
		},
		"Nodes": func(ctx context.Context, api library.API, v *principal.Viewer) error {
			_, err := api.Nodes(ctx, v, []string{"c:acme:a"})
			return err
		},
		"Principals": func(ctx context.Context, api library.API, v *principal.Viewer) error {
			_, err := api.Principals(ctx, v, []principal.ID{"u:acme:ann"})
			return err
		},
		"ViewerUser": func(ctx context.Context, api library.API, v *principal.Viewer) error {
			_, err := api.ViewerUser(ctx, v)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &hanging{}
				h := backendtest.New(t, func(s backend.Store) backend.Store { store.Store = s; return store })
				h.Quiet()
				store.hung.Store(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				err := query(ctx, library.Bounded(h.Service, h.Runtime), &principal.Viewer{User: "u:acme:ann"})
				if took := time.Since(start); fault.CodeOf(err) != fault.Unavailable || took > sched.QueryWithin {
					t.Errorf("it ended after %v: %v", took, err)
				}
				store.hung.Store(false)
			})
		})
	}
}
