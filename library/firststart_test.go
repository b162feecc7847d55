package library_test

import (
	"context"
	"errors"
	"testing"

	"carrel/core/sched"
	"carrel/library"
)

// dying is a store whose process dies before it fixes a setting.
type dying struct {
	library.Store
	before string
}

var errDied = errors.New("the process has died")

func (d *dying) FixSetting(ctx context.Context, name string, value []byte) ([]byte, error) {
	if name == d.before {
		return nil, errDied
	}
	return d.Store.FixSetting(ctx, name, value)
}

// Where the first process on a new store dies between two settings, the next ones
// start, read each other's cursors, and resume from them at once.
func TestNew_AfterTheFirstProcessDied(t *testing.T) {
	for _, before := range []string{"cursor-keys", "changes-since"} {
		t.Run(before, func(t *testing.T) {
			g := newGateways(t)
			_, err := library.New(t.Context(), library.Config{Store: &dying{g.store, before}, Runtime: sched.NewReal()})
			if !errors.Is(err, errDied) {
				t.Fatalf("the first process: %v", err)
			}
			one, _ := g.open(0, false)
			two, _ := g.open(0, false)
			one.user("u:acme:ann", library.Public)
			one.note("first", library.Private)
			c, err := one.svc.Library(t.Context(), as("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
			if err != nil || len(c.Edges) != 1 {
				t.Fatalf("%+v, %v", c, err)
			}
			one.note("second", library.Private)
			two.follows(as("u:acme:ann"), "u:acme:ann", c.Edges[0].Cursor()).wants("+first", "+second")
		})
	}
}
