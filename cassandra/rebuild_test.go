package cassandra

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
)

// interrupting is a store that, if interrupts is set, fails when a rebuild has restored everything
// and starts to look for entries that should not exist. It counts the items that are read.
type interrupting struct {
	library.ContentStore
	library.LibraryStore
	interrupts bool
	reads      atomic.Int32
}

// on returns s with the changes.
func (i *interrupting) on(s domain.Store) domain.Store {
	i.ContentStore, i.LibraryStore, s.Contents, s.Libraries = s.Contents, s.Libraries, i, i
	return s
}

var errInterrupted = errors.New("interrupted")

func (i *interrupting) PageLibrary(ctx context.Context, p library.Slice) ([]library.Entry, error) {
	if i.interrupts && p.Limit > 1 {
		return nil, errInterrupted
	}
	return i.LibraryStore.PageLibrary(ctx, p)
}

func (i *interrupting) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	i.reads.Add(1)
	return i.ContentStore.Read(ctx, id, q)
}

// gateway is another process on the fixture's keyspace.
func (d *fixture) gateway(store domain.Store) *domain.Services {
	d.t.Helper()
	rt := sched.NewReal()
	names, err := naming.New(d.store, "gateway", naming.DefaultBlockSize)
	d.ok(err)
	svc := domaintest.Open(d.t, domain.Config{Store: store, Runtime: rt, Journal: d.journal, Names: names})
	d.t.Cleanup(func() {
		svc.Engine.End()
		rt.Close()
	})
	return svc
}

// TestRebuild_InterruptedIsContinued: another process continues the rebuild, but starts over if the
// library or the record was deleted by hand meanwhile.
func TestRebuild_InterruptedIsContinued(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.seed(16)
	before := d.everything()
	const libraries, record = "library_by_principal", "content_by_principal"
	for _, c := range []struct {
		name      string
		byHand    []string
		continued bool
	}{
		{"and nothing else", nil, true},
		{"and its library deleted", []string{"DELETE FROM " + libraries + " WHERE principal_id = '" + string(ann) + "'"}, false},
		{"and its record deleted", []string{"DELETE FROM " + record + " WHERE principal_id = '" + string(ann) + "'"}, false},
		{"and both deleted", []string{"DELETE FROM " + libraries + " WHERE principal_id = '" + string(ann) + "'",
			"DELETE FROM " + record + " WHERE principal_id = '" + string(ann) + "'"}, false},
		{"and all libraries truncated", []string{"TRUNCATE " + libraries}, false},
		{"and everything truncated", []string{"TRUNCATE " + libraries, "TRUNCATE " + record}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := d.in(t)
			if _, _, err := d.gateway((&interrupting{interrupts: true}).on(d.store.Store)).Repair.Rebuild(t.Context(),
				ann); !errors.Is(err, errInterrupted) {
				t.Fatalf("the rebuild: %v", err)
			}
			for _, stmt := range c.byHand {
				d.byHand(stmt)
			}
			store := &interrupting{}
			if _, _, err := d.gateway(store.on(d.store.Store)).Repair.Rebuild(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
			if n := store.reads.Load(); (n == 0) != c.continued {
				t.Errorf("%d items were read for repair", n)
			}
			if note, err := d.store.Libraries.RebuildNote(t.Context(), ann); note != nil || err != nil {
				t.Errorf("the note is %q: %v", note, err)
			}
			if diff := cmp.Diff(before, d.everything()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			_, err := d.svc.Repair.RebuildAll(t.Context(), func(int, int) {}) // the other truncated libraries
			d.ok(err)
			d.wantClean()
		})
	}
}
