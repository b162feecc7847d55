package listing_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// walked is what a viewer can learn from a walk: what it shows, and what it costs.
type walked struct {
	Pages                    [][]string
	More, Other              []bool
	Count                    library.Count
	Slices, Batches, Headers int
	Resolutions, Libraries   int
}

// walkOf reads all pages of ann's library.
func walkOf(r *domaintest.Rows, s *scans, viewer func() *principal.Viewer, q library.LibraryQuery, forwards bool) (w walked) {
	r.T.Helper()
	s.slices, s.batches, s.headers = 0, 0, 0
	var from *string
	for {
		if len(w.Pages) > 100 {
			r.T.Fatalf("the walk does not end: %+v", w)
		}
		q.PageArgs = domaintest.FirstAfter(3, from)
		if !forwards {
			q.PageArgs = domaintest.LastBefore(3, from)
		}
		v := viewer()
		conn := r.Read(v, "u:acme:ann", q)
		resolutions, libraries := v.Resolved()
		w.Resolutions, w.Libraries = w.Resolutions+resolutions, w.Libraries+libraries
		info := &conn.PageInfo
		more, other, next := info.HasNextPage, info.HasPreviousPage, info.EndCursor()
		if !forwards {
			more, other, next = info.HasPreviousPage, info.HasNextPage, info.StartCursor()
		}
		w.Pages, w.More, w.Other = append(w.Pages, domaintest.NamesOf(conn)), append(w.More, more), append(w.Other, other)
		if !more {
			var err error
			w.Count, err = r.Listing.LibraryCount(r.T.Context(), conn)
			r.Must(err)
			w.Slices, w.Batches, w.Headers = s.slices, s.batches, s.headers
			return w
		}
		from = next
	}
}

// TestLibrary_NothingDependsOnHiddenItems: whatever a viewer can observe of a library, with
// includeShared and without, does not depend on the items on which it has no role, even if they match
// its filter, and however many they are.
func TestLibrary_NothingDependsOnHiddenItems(t *testing.T) {
	garden := &library.LibraryFilter{Text: domaintest.Ptr("garden")}
	viewers := map[string]func() *principal.Viewer{
		"nobody": domaintest.Anonymous, "a colleague": domaintest.Bob,
		"a colleague without groups": func() *principal.Viewer { return domaintest.As("u:acme:carl") },
		"another tenant":             domaintest.Eve, "an administrator of another tenant": domaintest.OtherRoot,
	}
	observe := func(hidden int) map[string]walked {
		r := domaintest.NewRows(t)
		r.Principals("u:acme:ann", "u:acme:bob", "u:acme:carl", "u:other:eve", "g:acme:team")
		r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:bob", principal.GroupMember))
		owner := domaintest.ContentMember("u:acme:ann", library.Manages)
		for i := range 20 {
			at := clock.Instant(1000*i + 1000)
			members := []library.Member{owner}
			vis := []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private}[i%3]
			if vis == principal.Private {
				members = append(members, domaintest.ContentMember("u:acme:bob", library.Viewing))
				if i%2 == 0 {
					members[1].Principal = "g:acme:team"
				}
				members = append(members, domaintest.ContentMember("u:other:eve", library.Viewing))
			}
			r.Item(library.ContentID(fmt.Sprintf("c:acme:seen%02d", i)), at, vis, members...)
			// Items of the viewers which are not in ann's library.
			r.Item(library.ContentID(fmt.Sprintf("c:acme:bobs%02d", i)), at+1, principal.Private,
				domaintest.ContentMember("u:acme:bob", library.Manages))
			for n := range hidden {
				id := library.ContentID(fmt.Sprintf("c:acme:garden%02d-%d", i, n))
				r.Change(id, func(h *library.Header) {
					h.Position, h.Visibility, h.Title = at+2+clock.Instant(n), principal.Private, "garden"
				}, owner)
				r.ApplyIndex(id, "u:acme:ann")
			}
		}
		s := &scans{}
		r.Services = r.OpenProcess(s.on(r.Store.Store))
		all := map[string]walked{}
		for name, viewer := range viewers {
			for _, shared := range []bool{false, true} {
				for _, filter := range []*library.LibraryFilter{nil, garden} {
					for way := range 4 {
						q := library.LibraryQuery{IncludeShared: shared, Filter: filter, Descending: way%2 == 1, OtherSide: true}
						what := fmt.Sprintf("%s, includeShared %v, filter %v, descending %v, forwards %v", name, shared, filter != nil, q.Descending, way < 2)
						all[what] = walkOf(r, s, viewer, q, way < 2)
					}
				}
			}
		}
		return all
	}
	none := observe(0)
	for _, hidden := range []int{1, 20} {
		if diff := cmp.Diff(none, observe(hidden)); diff != "" {
			t.Errorf("with %d hidden items: (-without them +with them)\n%s", 20*hidden, diff)
		}
	}
	if w := none["a colleague, includeShared true, filter false, descending false, forwards true"]; len(w.Pages) != 7 || w.Resolutions == 0 {
		t.Errorf("the colleague sees %+v", w)
	}
}
