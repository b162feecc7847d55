package listing_test

import (
	"context"
	"slices"
	"testing"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// titled returns a fixture in which ann has notes with these titles, in this order of their creation.
func titled(t *testing.T, titles ...string) (*domaintest.Fixture, []library.ContentID) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:ben", principal.Public)
	ids := make([]library.ContentID, len(titles))
	for i, title := range titles {
		ids[i] = h.Note("n"+string(rune('a'+i)), principal.Public)
		h.Update(ids[i], title, 0)
	}
	h.WantNothingInFlight()
	return h, ids
}

func some(text string) input.Optional[*string] { return input.Some(&text) }

func byTitle(q library.LibraryQuery) library.LibraryQuery {
	q.Order = library.ByTitle
	return q
}

func titlesOf(c *library.LibraryConnection) (titles []string) {
	for _, n := range c.Nodes() {
		titles = append(titles, n.Title)
	}
	return titles
}

// walkTitles returns the titles of all pages of n, and compares the page info with them.
func walkTitles(t *testing.T, h *domaintest.Fixture, v func() *principal.Viewer, q library.LibraryQuery, n int,
	backward bool) (all []string) {
	t.Helper()
	var at *string
	for range 100 {
		q := byTitle(q)
		if q.PageArgs, q.OtherSide = domaintest.FirstAfter(n, at), true; backward {
			q.PageArgs = domaintest.LastBefore(n, at)
		}
		c, err := h.Listing.Library(t.Context(), v(), "u:acme:ann", q)
		if err != nil {
			t.Fatal(err)
		}
		more, other, next := c.PageInfo.HasNextPage, c.PageInfo.HasPreviousPage, c.PageInfo.End
		page := titlesOf(c)
		if backward {
			more, other, next = c.PageInfo.HasPreviousPage, c.PageInfo.HasNextPage, c.PageInfo.Start
			all = append(page, all...)
		} else {
			all = append(all, page...)
		}
		if other != (at != nil) {
			t.Errorf("after %q there is something on the other side: %v", all, other)
		}
		if !more {
			return all
		}
		s := next()
		at = &s
	}
	t.Fatal("the walk does not end")
	return nil
}

func TestLibrary_ByTitle(t *testing.T) {
	want := []string{"9 lives", "10 things", "Äpfel", "apple", "apple", "Apple pie", "Chapter 2", "Chapter 10", "éclair", "Zebra", "Ω"}
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled[:7])
	slices.Reverse(shuffled[2:])
	h, ids := titled(t, shuffled...)
	reversed := slices.Clone(want)
	slices.Reverse(reversed)
	for _, n := range []int{1, 2, 3, 10, 11, 100} {
		for _, backward := range []bool{false, true} {
			for _, shared := range []bool{false, true} {
				for _, viewer := range []func() *principal.Viewer{domaintest.Ann, domaintest.Bob, domaintest.Anonymous} {
					got := walkTitles(t, h, viewer, library.LibraryQuery{IncludeShared: shared}, n, backward)
					if !slices.Equal(got, want) {
						t.Errorf("pages of %d, backward %v: %q", n, backward, got)
					}
					got = walkTitles(t, h, viewer, library.LibraryQuery{IncludeShared: shared, Descending: true}, n, backward)
					if !slices.Equal(got, reversed) {
						t.Errorf("descending pages of %d, backward %v: %q", n, backward, got)
					}
				}
			}
		}
		word := "ap"
		got := walkTitles(t, h, domaintest.Ann, library.LibraryQuery{Filter: &library.LibraryFilter{Text: &word}}, n, false)
		if !slices.Equal(got, []string{"Äpfel", "apple", "apple", "Apple pie"}) {
			t.Errorf("filtered pages of %d: %q", n, got)
		}
	}
	// An update moves the item in the other order only, a change of visibility hides it in both.
	for _, id := range ids {
		if _, err := h.Library.UpdateContent(t.Context(), domaintest.Ann(), library.UpdateContent{ID: string(id),
			Description: some("text")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := walkTitles(t, h, domaintest.Ann, library.LibraryQuery{}, 3, false); !slices.Equal(got, want) {
		t.Errorf("after updates: %q", got)
	}
	private := slices.Index(shuffled, "Äpfel")
	h.Update(ids[private], "Äpfel", principal.Private)
	others := slices.Delete(slices.Clone(want), 2, 3)
	if got := walkTitles(t, h, domaintest.Anonymous, library.LibraryQuery{}, 3, false); !slices.Equal(got, others) {
		t.Errorf("after a change of visibility: %q", got)
	}
	if got := walkTitles(t, h, domaintest.Ann, library.LibraryQuery{}, 3, false); !slices.Equal(got, want) {
		t.Errorf("after a change of visibility, to its owner: %q", got)
	}
	h.WantClean()
}

// TestLibrary_ByTitleAfterRenames: a renamed item is at its new place, also if the title was used before, and a cursor
// goes on from its place whatever has become of its item.
func TestLibrary_ByTitleAfterRenames(t *testing.T) {
	h, ids := titled(t, "a", "b", "c", "d")
	read := func(q library.LibraryQuery) *library.LibraryConnection {
		t.Helper()
		c, err := h.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", byTitle(q))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := read(library.LibraryQuery{PageArgs: domaintest.First(2)})
	end := first.PageInfo.End()
	h.Update(ids[1], "z", 0)
	for _, step := range []struct {
		change func()
		want   []string
	}{
		{func() {}, []string{"c", "d", "z"}},
		{func() { h.Update(ids[1], "b", 0) }, []string{"c", "d"}},
		{func() { h.Update(ids[1], "z", 0); h.Update(ids[0], "b", 0) }, []string{"c", "d", "z"}},
		{func() { h.Update(ids[0], "b", principal.Private); h.Update(ids[0], "bb", 0) }, []string{"bb", "c", "d", "z"}},
		{func() { h.Delete(ids[1]) }, []string{"bb", "c", "d"}},
	} {
		step.change()
		if got := titlesOf(read(library.LibraryQuery{PageArgs: domaintest.FirstAfter(10, &end)})); !slices.Equal(got, step.want) {
			t.Errorf("after b: %q, want %q", got, step.want)
		}
		h.WantClean()
	}
}

// TestLibrary_ByTitleShowsNoOldTitle: a library that lags shows a renamed item neither at its old place nor twice, and its
// entry is repaired.
func TestLibrary_ByTitleShowsNoOldTitle(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	member := domaintest.ContentMember("u:acme:ann", library.Manages)
	for at, id := range []library.ContentID{"c:acme:a", "c:acme:b", "c:acme:c"} {
		r.Item(id, clock.Instant(at+1), principal.Public, member)
	}
	want := func(titles ...string) {
		t.Helper()
		if got := titlesOf(r.Read(domaintest.Ann(), "u:acme:ann", byTitle(library.LibraryQuery{}))); !slices.Equal(got, titles) {
			t.Errorf("the library shows %q, not %q", got, titles)
		}
	}
	want("a", "b", "c")
	r.Change("c:acme:a", func(h *library.Header) { h.Title = "bb" })
	want("b", "c")
	if asked := r.Repairs.Take(); len(asked) != 1 {
		t.Errorf("repairs: %v", asked)
	}
	// The new entry is written, and the old one is still there.
	r.ApplyIndex("c:acme:a", "u:acme:ann")
	want("b", "bb", "c")
	q := byTitle(library.LibraryQuery{Descending: true, OtherSide: true, PageArgs: domaintest.First(1)})
	end := r.Read(domaintest.Ann(), "u:acme:ann", q).PageInfo.End()
	r.Change("c:acme:c", func(h *library.Header) { h.Title = "a" })
	q.PageArgs = domaintest.FirstAfter(1, &end)
	if c := r.Read(domaintest.Ann(), "u:acme:ann", q); !slices.Equal(titlesOf(c), []string{"bb"}) || c.PageInfo.HasPreviousPage {
		t.Errorf("after the only item above was renamed: %q, and a page before: %t", titlesOf(c), c.PageInfo.HasPreviousPage)
	}
}

// TestLibrary_CursorsAreOfOneOrder: a cursor of another field, and one of a mutation, is refused.
func TestLibrary_CursorsAreOfOneOrder(t *testing.T) {
	h, _ := titled(t, "a", "b", "c")
	cursors := make(map[library.Order]map[bool]string)
	read := func(o library.Order, descending bool, after *string) (*library.LibraryConnection, error) {
		return h.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", library.LibraryQuery{
			Order: o, Descending: descending, PageArgs: domaintest.FirstAfter(1, after)})
	}
	for _, o := range library.AllOrders {
		cursors[o] = make(map[bool]string)
		for _, descending := range []bool{false, true} {
			c, err := read(o, descending, nil)
			if err != nil {
				t.Fatal(err)
			}
			cursors[o][descending] = c.PageInfo.End()
		}
	}
	for _, o := range library.AllOrders {
		for _, descending := range []bool{false, true} {
			for _, from := range library.AllOrders {
				for _, fromDescending := range []bool{false, true} {
					cursor := cursors[from][fromDescending]
					_, err := read(o, descending, &cursor)
					if from == o && fromDescending == descending {
						if err != nil {
							t.Errorf("its own cursor is refused %s: %v", o, err)
						}
						continue
					}
					domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
				}
			}
		}
	}
	out, err := h.Library.UpdateContent(t.Context(), domaintest.Ann(), library.UpdateContent{ID: "c:acme:na", Description: some("new")})
	if err != nil {
		t.Fatal(err)
	}
	cursor := out.Edge.Cursor()
	if _, err := read(library.ByChange, true, &cursor); err != nil {
		t.Errorf("the cursor of a mutation is refused: %v", err)
	}
	_, err = read(library.ByTitle, true, &cursor)
	domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
}

// renaming is a store that runs a hook after the first reading of items.
type renaming struct {
	library.ContentStore
	after func()
}

func (r *renaming) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	rows, err := r.ContentStore.ReadMany(ctx, ids, members)
	if after := r.after; after != nil {
		r.after = nil
		after()
	}
	return rows, err
}

// TestLibrary_ByTitleShowsARenamedItemOnce: an item that is renamed between two readings of one page, to a title that comes
// later on the page, is found under both titles and shown under the later one.
func TestLibrary_ByTitleShowsARenamedItemOnce(t *testing.T) {
	const id = library.ContentID("c:acme:z")
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	member := domaintest.ContentMember("u:acme:ann", library.Manages)
	r.Item(id, 1, principal.Public, member)
	rename := func(id library.ContentID, title string) {
		r.Change(id, func(h *library.Header) { h.Title = title })
	}
	rename(id, "a")
	r.ApplyIndex(id, "u:acme:ann") // the entry under "z" is still there
	for at, hidden := range []library.ContentID{"c:acme:b", "c:acme:c"} {
		r.Item(hidden, clock.Instant(at+2), principal.Public, member)
		rename(hidden, "~")
	}
	store := r.Store.Store
	store.Contents = &renaming{store.Contents, func() { rename(id, "z") }}
	q := byTitle(library.LibraryQuery{PageArgs: domaintest.First(2)})
	c, err := r.OpenProcess(store).Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", q)
	if err != nil {
		t.Fatal(err)
	}
	if got := titlesOf(c); !slices.Equal(got, []string{"z"}) {
		t.Errorf("the page shows %q", got)
	}
}
