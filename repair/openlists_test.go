package repair_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
	"carrel/storetest"
)

// damagedLists is a store in which one in-flight list cannot be read.
type damagedLists struct {
	commit.JournalStore
	damaged bool
}

var errDamaged = errors.New("the form of the list is unknown")

func (d *damagedLists) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	inFlightLists, err := d.JournalStore.InFlightLists(ctx)
	if err == nil && d.damaged {
		err = &commit.UnreadableLists{IDs: []commit.ListID{"damaged"}, Err: errDamaged}
	}
	return inFlightLists, err
}

const benID = principal.ID("u:acme:ben")

// damagedFixture is a fixture of ann, ben and a group, with an item shared with ben.
func damagedFixture(t *testing.T) (*domaintest.Fixture, *damagedLists, *library.ContentRows) {
	t.Helper()
	var store *damagedLists
	h := domaintest.New(t, func(s *domain.Store) {
		store = &damagedLists{JournalStore: s.Journal}
		s.Journal = store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:dora"} {
		h.User(id, principal.Public)
	}
	h.Group("g:acme:team", "u:acme:ann", principal.Public)
	id := h.Note("item", principal.LoggedIn, "u:acme:ben=VIEWER")
	h.Quiet()
	rows, err := h.Store.Contents.Read(t.Context(), id, library.ContentQuery{Members: []principal.ID{benID}})
	if err != nil {
		t.Fatal(err)
	}
	return h, store, rows
}

// derivedMistakes are derived rows that are wrong, each of another kind.
var derivedMistakes = []struct {
	name  string
	plant func(t *testing.T, h *domaintest.Fixture, rows *library.ContentRows) error
}{
	{"an item missing in a library", func(t *testing.T, h *domaintest.Fixture, rows *library.ContentRows) error {
		header, m := rows.Header, rows.Members[0]
		m.Leaving, header.MTS = true, header.MTS+1
		return h.Store.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &header, Rows: []library.Member{m}, All: true})
	}},
	{"an entry of somebody without a role", func(t *testing.T, h *domaintest.Fixture, rows *library.ContentRows) error {
		return h.Store.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &rows.Header,
			Rows: []library.Member{{Principal: "u:acme:dora", Role: library.Viewing, Seq: 1}}})
	}},
	{"a record of somebody without a role", func(t *testing.T, h *domaintest.Fixture, rows *library.ContentRows) error {
		header, m := rows.Header, library.Member{Principal: "u:acme:dora", Role: library.Viewing, Seq: 1}
		e := library.IndexUpdate{Header: &header, Rows: []library.Member{m}, All: true}
		if err := h.Store.Contents.ApplyIndex(t.Context(), &e); err != nil {
			return err
		}
		e.All, header.MTS, e.Rows[0].Leaving = false, header.MTS+1, true
		return h.Store.Contents.ApplyIndex(t.Context(), &e)
	}},
	{"a membership of somebody who is no member", func(t *testing.T, h *domaintest.Fixture, _ *library.ContentRows) error {
		header := h.Header("g:acme:team")
		m := principal.GroupMemberRow{Principal: benID, Role: principal.GroupManager, Seq: 1}
		return h.Store.Principals.ApplyGroupIndex(t.Context(), &principal.GroupIndexUpdate{Header: &header, Rows: []principal.GroupMemberRow{m}})
	}},
	{"a name missing in the directory", func(t *testing.T, h *domaintest.Fixture, _ *library.ContentRows) error {
		rows, err := h.Store.Directory.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "ben", Limit: 1})
		if err == nil {
			err = h.Store.Directory.DropDirectory(t.Context(), rows)
		}
		return err
	}},
	{"a name that is nobody's", func(t *testing.T, h *domaintest.Fixture, _ *library.ContentRows) error {
		header := h.Header("u:acme:ben")
		base := header.Seq
		header.Seq, header.MTS, header.DisplayName = base+1, header.MTS+1, "Zoe"
		v, err := h.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: header.ID, Base: base, Header: header})
		if err != nil || !v.Applied {
			t.Fatalf("%+v, %v", v, err)
		}
		// The rows of the new name are there, and those of the old one too.
		return h.Store.Directory.ApplyDirectory(t.Context(), &principal.DirectoryUpdate{Header: &header})
	}},
}

// TestScrub_UnreadableListDoesNotStopIt: the list that cannot be read may contain recent changes.
// What was changed long ago is repaired.
func TestScrub_UnreadableListDoesNotStopIt(t *testing.T) {
	for _, c := range derivedMistakes {
		t.Run(c.name, func(t *testing.T) {
			h, store, rows := damagedFixture(t)
			if err := c.plant(t, h, rows); err != nil {
				t.Fatal(err)
			}
			store.damaged = true
			if n := scrubAll(h); n != 0 {
				t.Errorf("%d rows were repaired that may be of changes in flight", n)
			}
			r, err := h.Repair.Audit(t.Context())
			if err != nil || r.Mismatches == 0 || !slices.Equal(r.UnreadableLists, []commit.ListID{"damaged"}) {
				t.Errorf("the audit reports %+v, %v", r, err)
			}
			h.Services = h.After(11 * time.Minute)
			if n := scrubAll(h); n == 0 {
				t.Error("what was changed long ago is not repaired")
			}
			if r, err = h.Repair.Audit(t.Context()); err != nil || r.Mismatches != 0 || r.Clean() {
				t.Errorf("afterwards the audit reports %+v, %v", r, err)
			}
			store.damaged = false
			h.WantClean()
		})
	}
}

// TestScrub_LeavesItemsOfReadableListsAlone: as usual, the scrubber does not repair items that are
// on a list that can be read.
func TestScrub_LeavesItemsOfReadableListsAlone(t *testing.T) {
	h, store, rows := damagedFixture(t)
	if err := derivedMistakes[0].plant(t, h, rows); err != nil {
		t.Fatal(err)
	}
	err := store.PutInFlightList(t.Context(), commit.InFlightList{ID: "other", Stamp: 1,
		Block: storetest.Block(commit.Entry{Kind: commit.Content, Key: string(rows.Header.ID), Reach: commit.Reach{Scope: commit.ScopeAll}})})
	if err != nil {
		t.Fatal(err)
	}
	store.damaged = true
	h.Services = h.After(11 * time.Minute)
	if n := scrubAll(h); n != 0 {
		t.Errorf("%d rows were repaired of an item with a change in flight", n)
	}
}

func TestScrub_EndsIfListsCannotBeListed(t *testing.T) {
	var store *brokenLists
	h := domaintest.New(t, func(s *domain.Store) {
		store = &brokenLists{JournalStore: s.Journal}
		s.Journal = store
	})
	h.User("u:acme:ann", principal.Public)
	h.Note("item", principal.Private)
	h.Quiet()
	store.broken = true
	if _, _, err := h.Repair.ScrubAll(t.Context()); !errors.Is(err, errDamaged) {
		t.Errorf("the scrubber ended with %v", err)
	}
}

// brokenLists is a store that fails to return what is in flight.
type brokenLists struct {
	commit.JournalStore
	broken bool
}

func (b *brokenLists) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	if b.broken {
		return nil, errDamaged
	}
	return b.JournalStore.InFlightLists(ctx)
}
