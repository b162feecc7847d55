package library_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"carrel/backend"
	"carrel/core/commit"
	"carrel/library"
	"carrel/library/repair"
	"carrel/library/storetest"
	"carrel/principal"
)

// damagedLanes is a store in which one in-flight list cannot be read.
type damagedLanes struct {
	backend.Store
	damaged bool
}

var errDamaged = errors.New("no form that is known")

func (d *damagedLanes) Lanes(ctx context.Context) ([]commit.Lane, error) {
	lanes, err := d.Store.Lanes(ctx)
	if err == nil && d.damaged {
		err = &commit.UnreadableLanes{IDs: []commit.LaneID{"damaged"}, Err: errDamaged}
	}
	return lanes, err
}

const benID = principal.ID("u:acme:ben")

// damagedHouse is a house of ann, ben and a group, with an item shared with ben.
func damagedHouse(t *testing.T) (*house, *damagedLanes, *library.ContentRows) {
	t.Helper()
	var store *damagedLanes
	h := newHouse(t, func(s backend.Store) backend.Store {
		store = &damagedLanes{Store: s}
		return store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:dora"} {
		h.user(id, principal.Public)
	}
	h.group("g:acme:team", "u:acme:ann", principal.Public)
	id := h.note("item", principal.LoggedIn, "u:acme:ben=VIEWER")
	h.quiet()
	if err := h.svc.FillDirectory(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := store.Read(t.Context(), id, library.ContentQuery{Members: []principal.ID{benID}})
	if err != nil {
		t.Fatal(err)
	}
	return h, store, rows
}

// derivedMistakes are derived rows that are wrong, each of another kind.
var derivedMistakes = []struct {
	name  string
	plant func(t *testing.T, h *house, rows *library.ContentRows) error
}{
	{"an item missing in a library", func(t *testing.T, h *house, rows *library.ContentRows) error {
		header, m := rows.Header, rows.Members[0]
		m.Leaving, header.MTS = true, header.MTS+1
		return h.store.Enforce(t.Context(), &library.Enforcement{Header: &header, Rows: []library.Member{m}, Reverse: true})
	}},
	{"an entry of somebody without a role", func(t *testing.T, h *house, rows *library.ContentRows) error {
		return h.store.Enforce(t.Context(), &library.Enforcement{Header: &rows.Header, Rows: []library.Member{{Principal: "u:acme:dora", Role: library.Viewing, Seq: 1}}})
	}},
	{"a record of somebody without a role", func(t *testing.T, h *house, rows *library.ContentRows) error {
		header, m := rows.Header, library.Member{Principal: "u:acme:dora", Role: library.Viewing, Seq: 1}
		e := library.Enforcement{Header: &header, Rows: []library.Member{m}, Reverse: true}
		if err := h.store.Enforce(t.Context(), &e); err != nil {
			return err
		}
		e.Reverse, header.MTS, e.Rows[0].Leaving = false, header.MTS+1, true
		return h.store.Enforce(t.Context(), &e)
	}},
	{"a membership of somebody who is no member", func(t *testing.T, h *house, _ *library.ContentRows) error {
		header := h.header("g:acme:team")
		m := principal.GroupMemberRow{Principal: benID, Role: principal.GroupManager, Seq: 1}
		return h.store.EnforceGroup(t.Context(), &principal.GroupEnforcement{Header: &header, Rows: []principal.GroupMemberRow{m}})
	}},
	{"a name missing in the directory", func(t *testing.T, h *house, _ *library.ContentRows) error {
		rows, err := h.store.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "ben", Limit: 1})
		if err == nil {
			err = h.store.DropDirectory(t.Context(), rows)
		}
		return err
	}},
	{"a name that is nobody's", func(t *testing.T, h *house, _ *library.ContentRows) error {
		header := h.header("u:acme:ben")
		base := header.Seq
		header.Seq, header.MTS, header.DisplayName = base+1, header.MTS+1, "Zoe"
		v, err := h.store.CommitPrincipal(t.Context(), &principal.Commit{ID: header.ID, Base: base, Header: header})
		if err != nil || !v.Applied {
			t.Fatalf("%+v, %v", v, err)
		}
		// The rows of the new name are there, and those of the old one too.
		return h.store.EnforceDirectory(t.Context(), &principal.DirectoryEnforcement{Header: &header})
	}},
}

// The list that cannot be read may hold whatever was changed just now. What was
// changed long ago is mended.
func TestScrub_GoesOnWhereAListCannotBeRead(t *testing.T) {
	for _, c := range derivedMistakes {
		t.Run(c.name, func(t *testing.T) {
			h, store, rows := damagedHouse(t)
			if err := c.plant(t, h, rows); err != nil {
				t.Fatal(err)
			}
			store.damaged = true
			if n := h.scrubAll(); n != 0 {
				t.Errorf("%d rows were mended that may be of changes under way", n)
			}
			r, err := h.svc.Audit(t.Context())
			if err != nil || r.Mismatches == 0 || !slices.Equal(r.UnreadableLanes, []commit.LaneID{"damaged"}) {
				t.Errorf("the audit reports %+v, %v", r, err)
			}
			h.svc = h.in(11 * time.Minute)
			if n := h.scrubAll(); n == 0 {
				t.Error("what was changed long ago is not mended")
			}
			if r, err = h.svc.Audit(t.Context()); err != nil || r.Mismatches != 0 || r.Clean() {
				t.Errorf("afterwards the audit reports %+v, %v", r, err)
			}
			store.damaged = false
			h.wantClean()
		})
	}
}

// Items on a list that can be read are left to those who finish them, as ever.
func TestScrub_LeavesItemsOfReadableListsAlone(t *testing.T) {
	h, store, rows := damagedHouse(t)
	if err := derivedMistakes[0].plant(t, h, rows); err != nil {
		t.Fatal(err)
	}
	err := store.PutLane(t.Context(), commit.Lane{ID: "other", Stamp: 1, Blocks: storetest.Blocks(library.InFlight{Content: rows.Header.ID, Scope: commit.ScopeAll})})
	if err != nil {
		t.Fatal(err)
	}
	store.damaged = true
	h.svc = h.in(11 * time.Minute)
	if n := h.scrubAll(); n != 0 {
		t.Errorf("%d rows were mended of an item with a change in flight", n)
	}
}

func TestScrub_EndsWhereListsCannotBeLookedFor(t *testing.T) {
	var store *brokenLanes
	h := newHouse(t, func(s backend.Store) backend.Store {
		store = &brokenLanes{Store: s}
		return store
	})
	h.user("u:acme:ann", principal.Public)
	store.broken = true
	if _, err := h.svc.ScrubFrom(t.Context(), repair.ScrubPlace{}, 3); !errors.Is(err, errDamaged) {
		t.Errorf("the scrubber ended with %v", err)
	}
}

// brokenLanes is a store that does not answer what is in flight.
type brokenLanes struct {
	backend.Store
	broken bool
}

func (b *brokenLanes) Lanes(ctx context.Context) ([]commit.Lane, error) {
	if b.broken {
		return nil, errDamaged
	}
	return b.Store.Lanes(ctx)
}
