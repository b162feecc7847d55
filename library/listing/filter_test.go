package listing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// filterFixture is ann's library with items that differ in what a filter compares.
func filterFixture(t *testing.T) *domaintest.Rows {
	t.Helper()
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:acme:carl", "g:acme:team")
	r.Principal("u:acme:ghost", principal.Private)
	for i, c := range []struct {
		name, title, description string
		kind                     library.ContentKind
		visibility               principal.Visibility
		creator                  principal.ID
		role                     library.ContentRole
	}{
		{"guide", "A guide to gardens", "", library.Note, principal.Public, "u:acme:ann", library.Manages},
		{"map", "Map of the garden", "Paths and walls", library.Link, principal.Public, "u:acme:bob", library.Viewing},
		{"plan", "Plan", "The garden next year", library.Note, principal.LoggedIn, "u:acme:bob", library.Editing},
		{"diary", "Diary", "", library.Note, principal.Private, "u:acme:ann", library.Manages},
		{"ghostly", "Garden of ghosts", "", library.Link, principal.Public, "u:acme:ghost", library.Viewing},
		{"orphan", "Garden without a gardener", "", library.Link, principal.Public, "u:acme:gone", library.Viewing},
	} {
		id := library.ContentID("c:acme:" + c.name)
		r.Change(id, func(h *library.Header) {
			h.Kind, h.Title, h.Visibility, h.Creator, h.Position = c.kind, c.title, c.visibility, c.creator, clock.Instant(10*i+10)
			if c.description != "" {
				h.Description = &c.description
			}
		}, domaintest.ContentMember("u:acme:ann", c.role), domaintest.ContentMember("u:acme:carl", library.Viewing))
		r.ApplyIndex(id, "u:acme:ann", "u:acme:carl")
	}
	return r
}

func TestFilter_ShowsWhatMeetsAllConditions(t *testing.T) {
	r := filterFixture(t)
	ptr := domaintest.Ptr[string]
	carl := func() *principal.Viewer { return domaintest.As("u:acme:carl") }
	for _, c := range []struct {
		name   string
		viewer func() *principal.Viewer
		filter *library.LibraryFilter
		shared bool
		want   []string
	}{
		{"none", domaintest.Ann, nil, false, []string{"guide", "map", "plan", "diary", "ghostly", "orphan"}},
		{"without conditions", domaintest.Ann, &library.LibraryFilter{}, false, []string{"guide", "map", "plan", "diary", "ghostly", "orphan"}},
		{"a text without words", domaintest.Ann, &library.LibraryFilter{Text: ptr(" - ")}, false,
			[]string{"guide", "map", "plan", "diary", "ghostly", "orphan"}},
		{"a word", domaintest.Ann, &library.LibraryFilter{Text: ptr("GARDEN")}, false, []string{"guide", "map", "plan", "ghostly", "orphan"}},
		{"two words", domaintest.Ann, &library.LibraryFilter{Text: ptr("wall gard")}, false, []string{"map"}},
		{"a kind", domaintest.Ann, &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}, false, []string{"guide", "plan", "diary"}},
		{"both kinds", domaintest.Ann, &library.LibraryFilter{Kinds: []library.ContentKind{library.Note, library.Link, library.Note}},
			false, []string{"guide", "map", "plan", "diary", "ghostly", "orphan"}},
		{"a visibility", domaintest.Ann, &library.LibraryFilter{Visibilities: []principal.Visibility{principal.LoggedIn}},
			false, []string{"plan"}},
		{"two visibilities", domaintest.Ann, &library.LibraryFilter{Visibilities: []principal.Visibility{principal.Private,
			principal.LoggedIn}}, false, []string{"plan", "diary"}},
		{"a role", domaintest.Ann, &library.LibraryFilter{Roles: []library.ContentRole{library.Manages}}, false, []string{"guide", "diary"}},
		{"roles are the owner's", domaintest.Bob, &library.LibraryFilter{Roles: []library.ContentRole{library.Manages, library.Editing}},
			false, []string{"guide", "plan"}},
		{"a creator", domaintest.Ann, &library.LibraryFilter{CreatedBy: ptr("u:acme:bob")}, false, []string{"map", "plan"}},
		{"a creator in capitals", domaintest.Ann, &library.LibraryFilter{CreatedBy: ptr("U:ACME:Bob")}, false, []string{"map", "plan"}},
		{"a creator who is not seen", domaintest.Ann, &library.LibraryFilter{CreatedBy: ptr("u:acme:ghost")}, false, nil},
		{"a creator who is seen by some", domaintest.Root, &library.LibraryFilter{CreatedBy: ptr("u:acme:ghost")}, false, []string{"ghostly"}},
		{"a creator that does not exist", domaintest.Root, &library.LibraryFilter{CreatedBy: ptr("u:acme:gone")}, false, nil},
		{"a group", domaintest.Ann, &library.LibraryFilter{CreatedBy: ptr("g:acme:team")}, false, nil},
		{"an item", domaintest.Ann, &library.LibraryFilter{CreatedBy: ptr("c:acme:guide")}, false, nil},
		{"everything", domaintest.Ann, &library.LibraryFilter{Text: ptr("pl"), Kinds: []library.ContentKind{library.Note},
			Visibilities: []principal.Visibility{principal.LoggedIn},
			CreatedBy:    ptr("u:acme:bob"), Roles: []library.ContentRole{library.Editing}}, false, []string{"plan"}},
		{"everything but one", domaintest.Ann, &library.LibraryFilter{Text: ptr("pl"), Kinds: []library.ContentKind{library.Note},
			Visibilities: []principal.Visibility{principal.LoggedIn},
			CreatedBy:    ptr("u:acme:bob"), Roles: []library.ContentRole{library.Viewing}}, false, nil},
		{"for everyone", domaintest.Anonymous, &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}, false, []string{"guide"}},
		{"for a colleague", domaintest.Bob, &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}, false, []string{"guide", "plan"}},
		{"for one who has a role", carl, &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}, false, []string{"guide", "plan"}},
		{"roles are the owner's, with includeShared", carl, &library.LibraryFilter{Roles: []library.ContentRole{library.Manages}},
			true, []string{"guide", "diary"}},
		{"for one who has a role, with includeShared", carl, &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}},
			true, []string{"guide", "plan", "diary"}},
		{"a hidden creator, with includeShared", carl, &library.LibraryFilter{CreatedBy: ptr("u:acme:ghost")}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			for _, descending := range []bool{false, true} {
				for _, size := range []int{1, 2, 5, 20} {
					for _, forwards := range []bool{true, false} {
						want := slices.Clone(c.want)
						if descending {
							slices.Reverse(want)
						}
						q := library.LibraryQuery{Filter: c.filter, IncludeShared: c.shared, Descending: descending, OtherSide: true}
						wantSame(r, want, walkAll(r, c.viewer(), "u:acme:ann", q, size, forwards))
					}
				}
			}
			// What the connection counts is not filtered.
			plain, filtered := r.Read(c.viewer(), "u:acme:ann", library.LibraryQuery{}),
				r.Read(c.viewer(), "u:acme:ann", library.LibraryQuery{Filter: c.filter, IncludeShared: c.shared})
			want, err := r.Listing.LibraryCount(t.Context(), plain)
			r.Must(err)
			got, err := r.Listing.LibraryCount(t.Context(), filtered)
			r.Must(err)
			if got != want || filtered.Bucket != plain.Bucket {
				t.Errorf("it counts %+v in %s, want %+v in %s", got, filtered.Bucket, want, plain.Bucket)
			}
		})
	}
}

func TestFilter_InvalidIsRefused(t *testing.T) {
	r := filterFixture(t)
	ptr := domaintest.Ptr[string]
	for want, f := range map[string]library.LibraryFilter{
		"filter.text has at most 200 characters":        {Text: ptr(strings.Repeat("x", 1<<20))},
		"filter.text has at most 10 words":              {Text: ptr("a b c d e f g h i j k l m")},
		"filter.kinds is empty":                         {Kinds: []library.ContentKind{}},
		"filter.visibilities is empty":                  {Visibilities: []principal.Visibility{}},
		"filter.roles is empty":                         {Roles: []library.ContentRole{}},
		"filter.kinds has 11 values":                    {Kinds: slices.Repeat([]library.ContentKind{library.Note}, 11)},
		"filter.roles has 1000 values":                  {Roles: slices.Repeat([]library.ContentRole{library.Viewing}, 1000)},
		"filter.visibilities has 11 values":             {Visibilities: slices.Repeat([]principal.Visibility{principal.Public}, 11)},
		"filter.createdBy is malformed; the id of a us": {CreatedBy: ptr("bob")},
		"filter.createdBy is malformed":                 {CreatedBy: ptr("")},
		"the id of a user has the form u:<tenant>:<nam": {CreatedBy: ptr("u:acme:" + strings.Repeat("x", 129))},
	} {
		for _, q := range []library.LibraryQuery{{Filter: &f}, {Filter: &f, NoEntries: true}} {
			_, err := r.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", q)
			domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadInput)
			if err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 300) {
				t.Errorf("%s: %v", want, err)
			}
		}
	}
	// Errors of the filter come before those of the library.
	_, err := r.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:nobody",
		library.LibraryQuery{Filter: &library.LibraryFilter{Kinds: []library.ContentKind{}}})
	domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadInput)
	for _, f := range []library.LibraryFilter{
		{Kinds: slices.Repeat([]library.ContentKind{library.Note}, 10)}, {Text: ptr("a b c d e f g h i j")},
		{Text: ptr(strings.Repeat("ä", 200))},
	} {
		if _, err := r.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", library.LibraryQuery{Filter: &f}); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// TestFilter_CursorIsAcceptedWithAnyFilter: a cursor is a position in the library.
func TestFilter_CursorIsAcceptedWithAnyFilter(t *testing.T) {
	r := filterFixture(t)
	notes := &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}
	links := &library.LibraryFilter{Kinds: []library.ContentKind{library.Link}}
	first := r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{Filter: notes, PageArgs: domaintest.First(2)})
	r.WantNames(first, "guide", "plan")
	from := first.PageInfo.EndCursor()
	r.WantNames(r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{Filter: links, PageArgs: domaintest.FirstAfter(9, from)}),
		"ghostly", "orphan")
	r.WantNames(r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.FirstAfter(9, from)}),
		"diary", "ghostly", "orphan")
	r.WantNames(r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{Filter: links, PageArgs: domaintest.LastBefore(9, from)}), "map")
	plain := r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.First(2)})
	r.WantNames(r.Read(domaintest.Ann(), "u:acme:ann",
		library.LibraryQuery{Filter: notes, PageArgs: domaintest.FirstAfter(9, plain.PageInfo.EndCursor())}), "plan", "diary")
}

// TestFilter_OfAHiddenCreatorReadsNoItem: it is known in advance that nothing matches. That the
// library is complete is checked all the same.
func TestFilter_OfAHiddenCreatorReadsNoItem(t *testing.T) {
	r, s := long(t, 100, func(_ int, h *library.Header) { h.Creator = "u:acme:ghost" })
	r.Principal("u:acme:ghost", principal.Private)
	for _, creator := range []string{"u:acme:ghost", "u:acme:nobody", "g:acme:team"} {
		*s = scans{ContentStore: s.ContentStore, LibraryStore: s.LibraryStore}
		all := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{})
		s.headers, s.slices = 0, 0
		from := all.Edges[3].Cursor()
		for _, q := range []library.LibraryQuery{
			{PageArgs: domaintest.First(5)}, {PageArgs: domaintest.FirstAfter(5, &from)}, {PageArgs: domaintest.LastBefore(5, &from)},
			{Descending: true},
		} {
			q.Filter, q.OtherSide = &library.LibraryFilter{CreatedBy: &creator}, true
			conn := r.Read(domaintest.Anonymous(), "u:acme:ann", q)
			info := &conn.PageInfo
			if len(conn.Edges) > 0 || info.HasNextPage || info.HasPreviousPage || s.headers+s.slices > 0 {
				t.Errorf("%s: %d edges, more: %t and %t; %d slices and %d headers were read", creator, len(conn.Edges),
					info.HasNextPage, info.HasPreviousPage, s.slices, s.headers)
			}
			wantEnds(r, conn, cursorOf(q))
		}
	}
}

func cursorOf(q library.LibraryQuery) *string {
	if q.After != nil {
		return q.After
	}
	return q.Before
}

// TestFilter_OfALostLibraryRebuildsIt: a lost library is not mistaken for one in which nothing
// matches. It is rebuilt first, or the page is UNAVAILABLE.
func TestFilter_OfALostLibraryRebuildsIt(t *testing.T) {
	r, _ := long(t, 3, linkAt())
	o := newOpenings()
	o.lost = true
	svc := r.OpenProcess(o.on(r.Store.Store))
	_, err := svc.Listing.Library(t.Context(), domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()})
	if o.rebuilt == 0 && fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestFilter_IsServedFromCopies: if headers are cached, a second search reads none.
func TestFilter_IsServedFromCopies(t *testing.T) {
	h := newCopying(t, alwaysOn)
	for i := range 30 {
		h.Note(fmt.Sprint("n", i), principal.Public, "u:acme:ann=VIEWER")
	}
	h.Quiet()
	q := library.LibraryQuery{Filter: &library.LibraryFilter{Text: domaintest.Ptr("n2")}}
	first := h.page(domaintest.Anonymous(), q)
	if _, headers := h.reads.take(); len(headers) != 30 {
		t.Errorf("the first search has read %d headers", len(headers))
	}
	second := h.page(domaintest.Anonymous(), q)
	if calls, headers := h.reads.take(); len(headers) != 0 {
		t.Errorf("the second search has read %d headers: %v", len(headers), calls)
	}
	names := domaintest.NamesOf(first)
	if len(names) < 10 || !slices.Equal(names, domaintest.NamesOf(second)) {
		t.Errorf("they show %v and %v", names, domaintest.NamesOf(second))
	}
	h.Update("c:acme:n2", "other", principal.Public)
	h.Quiet()
	if names := domaintest.NamesOf(h.page(domaintest.Anonymous(), q)); slices.Contains(names, "n2") {
		t.Errorf("after its change n2 is among %v", names)
	}
}

// TestFilter_IsOpenedOnce: a filtered page is begun, while its owner is read, with the slice that it
// shows.
func TestFilter_IsOpenedOnce(t *testing.T) {
	r, _ := long(t, 100, func(i int, h *library.Header) {
		linkAt(70)(i, h)
		h.Creator = []principal.ID{"u:acme:ghost", "u:acme:ann"}[i%2]
	})
	r.Principal("u:acme:ghost", principal.Private)
	for name, c := range map[string]struct {
		filter *library.LibraryFilter
		want   string
	}{
		"links": {anyLink(), "n0070"}, "an empty one": {&library.LibraryFilter{}, "n0000"},
		"a creator":        {&library.LibraryFilter{CreatedBy: domaintest.Ptr("u:acme:ann")}, "n0001"},
		"a hidden creator": {&library.LibraryFilter{CreatedBy: domaintest.Ptr("u:acme:ghost")}, ""},
	} {
		o := newOpenings()
		svc := domaintest.Open(t, domain.Config{Store: o.on(r.Store.Store), Runtime: r.Clock, Journal: r.Repairs, Remote: true})
		read := svc.Listing.Begin(t.Context(), domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: c.filter})
		waitFor(t, o.read, "u:acme:ann")
		conn, err := read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if names := append(domaintest.NamesOf(conn), ""); names[0] != c.want {
			t.Errorf("%s: it shows %v", name, names)
		}
		if n := o.take(); n != 1 {
			t.Errorf("%s: the library was opened %d times", name, n)
		}
	}
}
