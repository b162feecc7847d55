package library_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// dying is a store whose process dies before it stores a setting.
type dying struct {
	commit.RegisterStore
	before string
}

var errDied = errors.New("the process has died")

func (d *dying) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	if name == d.before {
		return nil, errDied
	}
	return d.RegisterStore.PutSettingIfAbsent(ctx, name, value)
}

// TestNew_AfterTheFirstProcessDiedOthersStart: if the first process on a new store dies between two
// settings, the next ones start, read each other's cursors, and resume from them at once.
func TestNew_AfterTheFirstProcessDiedOthersStart(t *testing.T) {
	for _, before := range []string{"cursor-keys", "changes-since"} {
		t.Run(before, func(t *testing.T) {
			g := domaintest.NewGateways(t)
			store := g.Through
			store.Registers = &dying{store.Registers, before}
			_, err := domain.Open(t.Context(), domain.Config{Store: store, Runtime: sched.NewReal()})
			if !errors.Is(err, errDied) {
				t.Fatalf("the first process: %v", err)
			}
			one, _ := g.Open(0, false)
			two, _ := g.Open(0, false)
			one.User("u:acme:ann", principal.Public)
			one.Note("first", principal.Private)
			c, err := one.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
			if err != nil || len(c.Edges) != 1 {
				t.Fatalf("%+v, %v", c, err)
			}
			one.Note("second", principal.Private)
			two.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", c.Edges[0].Cursor()).Want("+first", "+second")
		})
	}
}

// unkept is a store of a version that does not record since when it has changes.
type unkept struct{ commit.RegisterStore }

func (u *unkept) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	if name == "changes-since" {
		return value, nil
	}
	return u.RegisterStore.PutSettingIfAbsent(ctx, name, value)
}

// TestNew_OnAStoreWithOneUserDeliversNoEarlierChanges: a store that has a user already may have had
// changes that were not kept. Nobody can resume from a cursor of the minute in which the store was
// first opened by a version that keeps changes.
func TestNew_OnAStoreWithOneUserDeliversNoEarlierChanges(t *testing.T) {
	h, wall := datedFixture(t, func(s *domain.Store) { s.Registers = &unkept{s.Registers} })
	h.User("u:acme:ann", principal.Public)
	h.Note("first", principal.Private)
	h.Quiet()
	h.Store.Registers = h.Store.Registers.(*unkept).RegisterStore
	svc := domaintest.Open(t, domain.Config{Store: h.Store, Runtime: wall, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	h.Services = svc
	resume := func() error {
		c, err := svc.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
		if err != nil || len(c.Edges) != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
		f, err := svc.Feed.Follow(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", domaintest.Ptr(c.Edges[0].Cursor()))
		if err == nil {
			f.Close()
		}
		return err
	}
	if err := resume(); fault.ReasonOf(err) != fault.ReasonResync {
		t.Errorf("within the first minute: %v", err)
	}
	wall.pass(time.Minute)
	if err := resume(); err != nil {
		t.Errorf("after it: %v", err)
	}
}
