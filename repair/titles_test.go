package repair_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"carrel/core/clock"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// untitled is a store whose libraries are not marked as complete in the order of titles until they are built again.
type untitled struct {
	library.LibraryStore
	mu    sync.Mutex
	built map[principal.ID]bool
}

func (u *untitled) complete(p principal.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.built[p]
}

func (u *untitled) Built(ctx context.Context, p principal.ID, o library.Order) (bool, error) {
	built, err := u.LibraryStore.Built(ctx, p, o)
	return built && (o == library.ByChange || u.complete(p)), err
}

func (u *untitled) OpenLibrary(ctx context.Context, s library.Slice, newest bool) (*library.Opening, error) {
	o, err := u.LibraryStore.OpenLibrary(ctx, s, newest)
	if err == nil && s.Order == library.ByTitle {
		o.Built = o.Built && u.complete(s.Owner)
	}
	return o, err
}

func (u *untitled) SetBuilt(ctx context.Context, p principal.ID, asOf clock.Instant) error {
	u.mu.Lock()
	u.built[p] = true
	u.mu.Unlock()
	return u.LibraryStore.SetBuilt(ctx, p, asOf)
}

// forget makes the libraries those of a store from before the order of titles.
func (u *untitled) forget(h *domaintest.Fixture, ps ...principal.ID) {
	h.T.Helper()
	for _, p := range ps {
		for _, b := range library.AllBuckets {
			if err := u.DropEntries(h.T.Context(), p, titleEntries(h, p, b)); err != nil {
				h.T.Fatal(err)
			}
		}
		u.built[p] = false
	}
}

func titleEntries(h *domaintest.Fixture, p principal.ID, b library.Bucket) (all []library.BucketEntry) {
	h.T.Helper()
	q := library.Slice{Owner: p, Bucket: b, Order: library.ByTitle, Ascending: true, Limit: 1000}
	es, err := h.Store.Libraries.PageLibrary(h.T.Context(), q)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, e := range es {
		all = append(all, library.BucketEntry{Bucket: b, Entry: e})
	}
	return all
}

func wantByTitle(h *domaintest.Fixture, shared bool, want ...string) {
	h.T.Helper()
	c, err := h.Listing.Library(h.T.Context(), domaintest.As("u:acme:ben"), "u:acme:ann", library.LibraryQuery{
		Order: library.ByTitle, IncludeShared: shared})
	if err != nil {
		h.T.Fatal(err)
	}
	var titles []string
	for _, n := range c.Nodes() {
		titles = append(titles, n.Title)
	}
	if !slices.Equal(titles, want) {
		h.T.Errorf("with shared items %v, the library shows %q, not %q", shared, titles, want)
	}
}

// TestRebuild_GivesALibraryTheOrderOfTitles: a library of an older store is rebuilt when it is first read by title, and
// with includeShared also those of the viewer and of its groups. By last change it is read as before.
func TestRebuild_GivesALibraryTheOrderOfTitles(t *testing.T) {
	u := &untitled{built: map[principal.ID]bool{}}
	h := domaintest.New(t, func(s *domain.Store) { u.LibraryStore, s.Libraries = s.Libraries, u })
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:ben", principal.Public)
	for _, title := range []string{"c", "a", "b"} {
		h.Note(title, principal.Public)
	}
	h.Note("b-private", principal.Private, "u:acme:ben=VIEWER")
	h.Quiet()
	u.forget(h, "u:acme:ann", "u:acme:ben")
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ann", "c", "a", "b")
	if n := scrubAll(h); n != 0 {
		t.Errorf("the scrubber finds %d mismatches in libraries that are not complete by title", n)
	}
	h.WantAudited()
	if u.complete("u:acme:ann") {
		t.Error("a page by last change rebuilds the library")
	}
	wantByTitle(h, false, "a", "b", "c")
	if !u.complete("u:acme:ann") || u.complete("u:acme:ben") {
		t.Errorf("rebuilt: %v", u.built)
	}
	wantByTitle(h, true, "a", "b", "b-private", "c")
	if !u.complete("u:acme:ben") {
		t.Error("the library of the viewer was not rebuilt")
	}
	h.WantClean()
}

// TestRepairs_FindWrongTitles: the audit finds entries by title that are missing, or that are not at the title's place, and
// each kind of repair mends them.
func TestRepairs_FindWrongTitles(t *testing.T) {
	const ben = principal.ID("u:acme:ben")
	for name, mend := range map[string]func(h *domaintest.Fixture) error{
		"rebuild of the library": func(h *domaintest.Fixture) error { _, _, err := h.Repair.Rebuild(h.T.Context(), ben); return err },
		"rebuild of all": func(h *domaintest.Fixture) error {
			_, err := h.Repair.RebuildAll(h.T.Context(), func(int, int) {})
			return err
		},
		"scrubber": func(h *domaintest.Fixture) error { scrubAll(h); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := domaintest.Town(t)
			id := h.Note("old-title", principal.LoggedIn, "u:acme:ben=VIEWER")
			h.Note("other", principal.LoggedIn, "u:acme:ben=VIEWER")
			h.Quiet()
			old := titleEntries(h, ben, principal.LoggedIn)
			h.Update(id, "title", 0)
			h.WantClean()
			want := titleEntries(h, ben, principal.LoggedIn)
			// The entry under the title is lost, and that under the former one is back.
			lost := want[slices.IndexFunc(want, func(e library.BucketEntry) bool { return e.Content == id })]
			if err := h.Store.Libraries.DropEntries(t.Context(), ben, []library.BucketEntry{lost}); err != nil {
				t.Fatal(err)
			}
			state := h.Content(id)
			state.Title, state.Widest, state.UnsettledTitles = "old-title", principal.LoggedIn, nil
			rows, err := h.Store.Contents.Read(t.Context(), id, library.ContentQuery{Members: []principal.ID{ben}})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Store.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &state, Rows: rows.Members, All: true}); err != nil {
				t.Fatal(err)
			}
			report, err := h.Repair.Audit(t.Context())
			if err != nil || report.Mismatches == 0 || len(titleEntries(h, ben, principal.LoggedIn)) != len(old) {
				t.Fatalf("the audit found %+v, %v", report, err)
			}
			if err := mend(h); err != nil {
				t.Fatal(err)
			}
			if got := titleEntries(h, ben, principal.LoggedIn); len(got) != len(want) || got[1].EntryKey != want[1].EntryKey {
				t.Errorf("the entries are %v, not %v", got, want)
			}
			h.WantClean()
		})
	}
}

// TestRebuild_OfAProgramWithoutTitlesStartsAgain: it has restored no entry by title of the items that it has passed.
func TestRebuild_OfAProgramWithoutTitlesStartsAgain(t *testing.T) {
	h := newRebuildFixture(t)
	h.lost.lose(rebuildOwner)
	h.interrupt(250, false)
	note := h.progress()
	other := bytes.Replace(note, []byte(`"titles":1,`), nil, 1)
	other[7]++ // a later step, which stays
	var kept struct {
		AsOf clock.Instant `json:"asOf"`
	}
	if err := json.Unmarshal(other[8:], &kept); err != nil || len(other) == len(note) {
		t.Fatalf("the note is %q, %v", note, err)
	}
	if err := h.Store.Libraries.PutRebuildNote(t.Context(), rebuildOwner, kept.AsOf, other); err != nil {
		t.Fatal(err)
	}
	if err := h.Store.Libraries.DropEntries(t.Context(), rebuildOwner, titleEntries(h.Fixture, rebuildOwner, principal.Private)); err != nil {
		t.Fatal(err)
	}
	svc, _ := h.gateway(0)
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Fatal(err)
	}
	if n := len(titleEntries(h.Fixture, rebuildOwner, principal.Private)); n != rebuildItems {
		t.Errorf("%d of %d items have entries by title", n, rebuildItems)
	}
}
