package listing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/principal"
)

// pageReads is a store that records what pages read, in order.
type pageReads struct {
	commit.JournalStore
	principal.Store
	library.ContentStore
	library.LibraryStore
	mu      sync.Mutex
	calls   []string
	headers []library.ContentID
	people  []principal.ID
	fails   bool // what is in flight cannot be read
	lost    int  // how often a library that is opened is not complete
}

func (p *pageReads) note(call string, ids ...library.ContentID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.headers = append(p.calls, call), append(p.headers, ids...)
}

func (p *pageReads) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	p.note("headers", ids...)
	return p.ContentStore.ReadMany(ctx, ids, members)
}

func (p *pageReads) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	p.mu.Lock()
	p.people = append(p.people, ids...)
	p.mu.Unlock()
	return p.Store.ReadPrincipals(ctx, ids)
}

func (p *pageReads) OpenLibrary(ctx context.Context, s library.Slice, newest bool) (*library.Opening, error) {
	p.note("slice")
	o, err := p.LibraryStore.OpenLibrary(ctx, s, newest)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.lost > 0 {
		p.lost, o.Built = p.lost-1, false
	}
	return o, err
}

func (p *pageReads) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	p.note("in flight")
	p.mu.Lock()
	fails := p.fails
	p.mu.Unlock()
	if fails {
		return nil, errors.New("no answer")
	}
	return p.JournalStore.InFlight(ctx)
}

// take returns what was read since the last call.
func (p *pageReads) take() (calls []string, headers []library.ContentID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls, headers = p.calls, p.headers
	p.calls, p.headers = nil, nil
	return calls, headers
}

// takePeople returns the principals whose headers were read since the last call.
func (p *pageReads) takePeople() []principal.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	people := p.people
	p.people = nil
	return people
}

// copyCounts counts what copies do.
type copyCounts struct {
	library.Unwatched
	mu                           sync.Mutex
	hits, refused, misses, wrong int
	people                       [3]int // hits, refused, misses
}

func (c *copyCounts) Copied(hits, refused, misses int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits, c.refused, c.misses = c.hits+hits, c.refused+refused, c.misses+misses
}

func (c *copyCounts) CopiedPrincipals(hits, refused, misses int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range []int{hits, refused, misses} {
		c.people[i] += n
	}
}

func (c *copyCounts) CopyWrong() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong++
}

// copying is a gateway that serves pages from copies, and another one on the same store that
// changes the originals.
type copying struct {
	*domaintest.Fixture // the other one
	svc                 *domain.Services
	reads               *pageReads
	counts              *copyCounts
}

func newCopying(t *testing.T, c headercache.Config) *copying {
	t.Helper()
	h := &copying{Fixture: domaintest.Town(t), counts: &copyCounts{}}
	h.reads = &pageReads{}
	h.svc = domaintest.Open(t, domain.Config{
		Store: h.reads.on(h.Store), Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{}, Remote: true,
		HeaderCache: c, Watch: h.counts,
	})
	return h
}

// page reads a page of ann's library.
func (h *copying) page(v *principal.Viewer, q library.LibraryQuery) *library.LibraryConnection {
	h.T.Helper()
	q.PageArgs = domaintest.First(10)
	conn, err := h.svc.Listing.Library(h.T.Context(), v, "u:acme:ann", q)
	if err != nil {
		h.T.Fatal(err)
	}
	return conn
}

// want reads a page of ann's library, and compares which headers are read for it and the
// titles that it shows.
func (h *copying) want(what string, headers []library.ContentID, titles ...string) {
	h.T.Helper()
	if err := h.Journal.Beat(h.T.Context()); err != nil {
		h.T.Fatal(err) // a change leaves the list with its next write
	}
	h.reads.take()
	conn := h.page(domaintest.Anonymous(), library.LibraryQuery{Descending: true})
	_, read := h.reads.take()
	if slices.Sort(read); !slices.Equal(read, headers) {
		h.T.Errorf("%s: the headers of %v are read, want %v", what, read, headers)
	}
	var shown []string
	for _, e := range conn.Edges {
		shown = append(shown, e.Node.Title)
	}
	if !slices.Equal(shown, titles) {
		h.T.Errorf("%s: the page shows %q, want %q", what, shown, titles)
	}
}

var alwaysOn = headercache.Config{Bytes: 100 << 10, AlwaysOn: true}

func TestPages_AreServedFromCopies(t *testing.T) {
	h := newCopying(t, alwaysOn)
	a, b, c := h.Note("a", principal.Public, "u:acme:ann=MANAGER"), h.Note("b", principal.Public, "u:acme:ann=MANAGER"),
		h.Note("c", principal.Public, "u:acme:ann=MANAGER")
	title := func(id library.ContentID) string { return h.Content(id).Title }
	all := []library.ContentID{a, b, c}
	h.want("the first page", all, title(c), title(b), title(a))
	h.want("the second page", nil, title(c), title(b), title(a))
	h.Update(a, "changed", principal.Public)
	h.want("after an item was changed", []library.ContentID{a}, "changed", title(c), title(b))
	h.want("and again", nil, "changed", title(c), title(b))
	h.Update(b, title(b), principal.Private)
	h.want("after an item was hidden", nil, "changed", title(c))
	h.Delete(c)
	h.want("after an item was deleted", nil, "changed")
	if h.counts.hits != 3+2+3+2+1 || h.counts.refused != 1 || h.counts.misses != 3 {
		t.Errorf("there were %d hits, %d refused and %d misses", h.counts.hits, h.counts.refused, h.counts.misses)
	}
}

// A change that pages show reaches them at once, even if it does not move the item.
func TestPages_ShowChangesInPlace(t *testing.T) {
	h := newCopying(t, alwaysOn)
	id := h.Note("a", principal.Public, "u:acme:ann=MANAGER")
	title := h.Content(id).Title
	h.want("the first page", []library.ContentID{id}, title)
	expires := clock.Of(h.Runtime.Now().Add(time.Hour))
	out, err := h.Library.UpdateContent(t.Context(), domaintest.Ann(), library.UpdateContent{
		ID: string(id), ExpiresAt: input.Optional[*clock.Instant]{Set: true, Value: &expires},
	})
	if err != nil || out.FanOut.Libraries != 1 || !out.FanOut.Complete {
		t.Fatalf("%+v, %v", out, err)
	}
	h.WantNothingInFlight()
	edge := h.page(domaintest.Anonymous(), library.LibraryQuery{}).Edges[0]
	if edge.Node.ExpiresAt == nil || *edge.Node.ExpiresAt != expires {
		t.Errorf("it expires at %v, want %v", edge.Node.ExpiresAt, expires)
	}
	const url = "https://example.com/a"
	out, err = h.Library.MoveContent(t.Context(), domaintest.Ann(), library.MoveContent{
		ID: string(id), URL: input.Optional[*string]{Set: true, Value: domaintest.Ptr(url)},
	})
	if err != nil || out.FanOut.Libraries != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	h.WantNothingInFlight()
	if edge = h.page(domaintest.Anonymous(), library.LibraryQuery{}).Edges[0]; edge.Node.CanonicalURL != url {
		t.Errorf("its url is %q, want %q", edge.Node.CanonicalURL, url)
	}
	h.reads.take()
	h.page(domaintest.Anonymous(), library.LibraryQuery{})
	if _, read := h.reads.take(); len(read) > 0 {
		t.Errorf("headers are read after nothing has changed: %v", read)
	}
}

func TestPages_ReadHeadersOfWhatIsInFlight(t *testing.T) {
	h := newCopying(t, alwaysOn)
	a, b := h.Note("a", principal.Public, "u:acme:ann=MANAGER"), h.Note("b", principal.Public, "u:acme:ann=MANAGER")
	titles := []string{h.Content(b).Title, h.Content(a).Title}
	h.want("the first page", []library.ContentID{a, b}, titles...)
	block, err := commit.Encode([]commit.Entry{{ID: commit.EntryID{1}, Kind: commit.Content, Key: string(b)}})
	if err != nil {
		t.Fatal(err)
	}
	inFlightList := commit.InFlightList{ID: "of another process", Stamp: 1, Block: block}
	if err := h.Store.Journal.PutInFlightList(t.Context(), inFlightList); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h.want("while a change is in flight", []library.ContentID{b}, titles...)
	}
	if err := h.Store.Journal.DeleteInFlightList(t.Context(), inFlightList.ID, inFlightList.Stamp); err != nil {
		t.Fatal(err)
	}
	h.want("when it is over", nil, titles...)
	h.reads.fails = true
	h.want("while the in-flight lists cannot be read", []library.ContentID{a, b}, titles...)
	h.reads.fails = false
	h.want("when they can be read again", nil, titles...)
	if h.counts.hits != 2+2+2 || h.counts.refused != 2 || h.counts.misses != 2 {
		t.Errorf("there were %d hits, %d refused and %d misses", h.counts.hits, h.counts.refused, h.counts.misses)
	}
}

// The order of readings is what makes copies right: a walk's bound before what is in flight,
// and that before the slice.
func TestPages_ReadWhatIsInFlightBeforeTheSlice(t *testing.T) {
	h := newCopying(t, alwaysOn)
	h.Note("a", principal.Public, "u:acme:ann=MANAGER")
	h.WantNothingInFlight()
	for _, tc := range []struct {
		name       string
		descending bool
		owned      bool // the owner was read before
		want       []string
	}{
		{"newest first", true, false, []string{"in flight", "slice", "headers"}},
		{"newest first, again", true, false, []string{"in flight", "slice"}},
		{"oldest first", false, false, []string{"slice", "in flight", "slice"}},
		{"newest first, with its owner read", true, true, []string{"in flight", "slice"}},
		{"oldest first, with its owner read", false, true, []string{"slice", "in flight", "slice"}},
	} {
		v, q := domaintest.Anonymous(), library.LibraryQuery{Descending: tc.descending, PageArgs: domaintest.First(10)}
		h.reads.take()
		if tc.owned {
			if _, err := h.svc.People.Principals(t.Context(), v, []principal.ID{"u:acme:ann"}); err != nil {
				t.Fatal(err)
			}
		}
		if conn := h.page(v, q); len(conn.Edges) != 1 {
			t.Errorf("%s: %d edges", tc.name, len(conn.Edges))
		}
		if calls, _ := h.reads.take(); !slices.Equal(calls, tc.want) {
			t.Errorf("%s: the page reads %q, want %q", tc.name, calls, tc.want)
		}
	}
}

// A copy has the member row of one library's owner.
func TestPages_CopiesAreOfOneLibrary(t *testing.T) {
	h := newCopying(t, alwaysOn)
	h.Note("a", principal.Public, "u:acme:ann=MANAGER", "u:acme:ben=VIEWER")
	h.WantNothingInFlight()
	for owner, role := range map[principal.ID]library.ContentRole{"u:acme:ann": library.Manages, "u:acme:ben": library.Viewing} {
		for range 2 {
			conn, err := h.svc.Listing.Library(t.Context(), domaintest.Anonymous(), owner, library.LibraryQuery{})
			if err != nil || len(conn.Edges) != 1 || conn.Edges[0].Role != role {
				t.Errorf("the library of %s has %+v, %v; want the role %v", owner, conn.Edges, err, role)
			}
		}
	}
	if h.counts.hits != 2 {
		t.Errorf("copies have served %d entries, want 2", h.counts.hits)
	}
}

// Long texts make a copy count as several, so that the memory of all copies is bounded.
func TestPages_LongTextsTakeTheSpaceOfSeveralCopies(t *testing.T) {
	h := newCopying(t, headercache.Config{Bytes: 2900, AlwaysOn: true})
	ids := []library.ContentID{h.Note("a", principal.Public, "u:acme:ann=MANAGER"), h.Note("b", principal.Public, "u:acme:ann=MANAGER")}
	long := strings.Repeat("x", 1000)
	if _, err := h.Library.UpdateContent(t.Context(), domaintest.Ann(), library.UpdateContent{
		ID: string(ids[0]), Description: input.Optional[*string]{Set: true, Value: &long},
	}); err != nil {
		t.Fatal(err)
	}
	h.WantNothingInFlight()
	for range 2 {
		h.page(domaintest.Anonymous(), library.LibraryQuery{})
	}
	if st := h.svc.Headers.Stats(); st.Headers != 1 {
		t.Errorf("%d copies are kept, want the long one or the short one", st.Headers)
	}
}

// The owner's entry says nothing about the role of somebody else.
func TestPages_ReadTheHeadersWhereTheViewersRoleCounts(t *testing.T) {
	h := newCopying(t, alwaysOn)
	h.User("u:acme:bob", principal.Public)
	id := h.Note("a", principal.Private, "u:acme:ann=MANAGER")
	if _, err := h.Share("u:acme:ann", id, "u:acme:bob"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h.reads.take()
		if conn := h.page(domaintest.Bob(), library.LibraryQuery{IncludeShared: true}); len(conn.Edges) != 1 {
			t.Fatalf("%d edges", len(conn.Edges))
		}
		if calls, read := h.reads.take(); len(read) != 1 || slices.Contains(calls, "in flight") {
			t.Errorf("the page reads %q, and the headers of %v", calls, read)
		}
	}
}

func TestPages_WithoutACacheReadHeaders(t *testing.T) {
	for name, c := range map[string]headercache.Config{"of no size": {AlwaysOn: true}, "that is not warm yet": {Bytes: 100 << 10}} {
		h := newCopying(t, c)
		id := h.Note("a", principal.Public, "u:acme:ann=MANAGER")
		for range 2 {
			h.reads.take()
			h.page(domaintest.Anonymous(), library.LibraryQuery{Descending: true})
			if calls, read := h.reads.take(); !slices.Equal(calls, []string{"slice", "headers"}) || len(read) != 1 {
				t.Errorf("with a cache %s the page reads %q, and the headers of %v, want that of %s", name, calls, read, id)
			}
		}
		st := h.svc.Headers.Stats()
		if c.Bytes > 0 && (st.Headers != 2 || st.InUse) || c.Bytes == 0 && st.Headers != 0 {
			t.Errorf("a cache %s reports %+v", name, st)
		}
	}
}

// TestSamples_WrongCopySwitchesCopiesOff: a header that was changed outside the protocol is found
// by a sample, and copies are not used any more.
func TestSamples_WrongCopySwitchesCopiesOff(t *testing.T) {
	h := newCopying(t, headercache.Config{Bytes: 100 << 10, AlwaysOn: true, SampleEvery: 50})
	id := h.Note("a", principal.Public, "u:acme:ann=MANAGER")
	title := h.Content(id).Title
	h.want("the first page", []library.ContentID{id}, title)
	after := h.Content(id)
	base := after.Seq
	after.Seq, after.MTS, after.Title, after.Version = base+1, after.MTS+1, "damaged", after.Version+1
	if v, err := h.Store.Contents.Commit(t.Context(), &library.ContentCommit{ID: id, Base: base, Header: after}); err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	h.want("a page that is not sampled", nil, title)
	deadline := time.Now().Add(20 * time.Second)
	for h.svc.Headers.Stats().InUse && time.Now().Before(deadline) && t.Context().Err() == nil {
		h.page(domaintest.Anonymous(), library.LibraryQuery{Descending: true})
		_ = h.Runtime.After(t.Context(), time.Millisecond)
	}
	h.reads.take()
	h.want("after a sample has found it", []library.ContentID{id}, "damaged")
	h.counts.mu.Lock()
	defer h.counts.mu.Unlock()
	if h.counts.wrong != 1 {
		t.Errorf("it is reported %d times, want once", h.counts.wrong)
	}
}

// A copy that has become old since it was served is not wrong, neither while the change
// is in flight nor once it has reached the library.
func TestSamples_AcceptChangesThatCameAfterThePage(t *testing.T) {
	h := newCopying(t, headercache.Config{Bytes: 100 << 10, AlwaysOn: true, SampleEvery: 1})
	id := h.Note("a", principal.Public, "u:acme:ann=MANAGER")
	h.WantNothingInFlight()
	copied, err := h.Store.Contents.ReadMany(t.Context(), []library.ContentID{id}, []principal.ID{"u:acme:ann"})
	if err != nil {
		t.Fatal(err)
	}
	entry := library.Entry{EntryKey: copied[0].Header.Key(library.ByChange), MTS: copied[0].Header.MTS, Role: library.Manages}
	wrong := func(what string, want bool) {
		t.Helper()
		if got, err := h.svc.Headers.(*headercache.Checked).ItemIsWrong(t.Context(), "u:acme:ann", principal.Public, entry,
			&copied[0]); err != nil || got != want {
			t.Errorf("%s: wrong is %v, %v, want %v", what, got, err, want)
		}
	}
	wrong("nothing has changed", false)
	after := h.Content(id)
	base := after.Seq
	after.Seq, after.MTS = base+1, after.MTS+1
	put := func() {
		t.Helper()
		if v, err := h.Store.Contents.Commit(t.Context(), &library.ContentCommit{ID: id, Base: after.Seq - 1, Header: after}); err != nil ||
			!v.Applied {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	put()
	wrong("a fence changes nothing that is shown", false)
	after.Seq, after.MTS, after.Visibility = after.Seq+1, after.MTS+1, principal.LoggedIn
	put()
	wrong("a change that no list has, and no library", true)
	block, _ := commit.Encode([]commit.Entry{{ID: commit.EntryID{1}, Kind: commit.Content, Key: string(id)}})
	inFlightList := commit.InFlightList{ID: "of another process", Stamp: 1, Block: block}
	if err := errors.Join(h.Store.Journal.PutInFlightList(t.Context(), inFlightList)); err != nil {
		t.Fatal(err)
	}
	wrong("while it is in flight", false)
	if err := h.Store.Journal.DeleteInFlightList(t.Context(), inFlightList.ID, inFlightList.Stamp); err != nil {
		t.Fatal(err)
	}
	if err := h.svc.Library.Upkeep.DeriveContent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wrong("when it has reached the library", false)
}
