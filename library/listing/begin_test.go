package listing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// openings is a store that reports which libraries are opened.
type openings struct {
	principal.Store
	library.LibraryStore
	// begun receives each owner whose library is opened, and read each whose slice was read.
	begun, read chan principal.ID
	// fails, if it is not nil, is called before each reading, which is omitted if it fails.
	fails func(ctx context.Context) error
	// lost: libraries are reported as incomplete.
	lost bool
	// confirms is called when memberships are confirmed.
	confirms func()

	mu sync.Mutex
	n  int
	// rebuilt are the libraries that were marked as complete.
	rebuilt int
}

// on returns s with the changes.
func (o *openings) on(s domain.Store) domain.Store {
	o.Store, o.LibraryStore, s.Principals, s.Libraries = s.Principals, s.Libraries, o, o
	return s
}

func newOpenings() *openings {
	return &openings{begun: make(chan principal.ID, 100), read: make(chan principal.ID, 100)}
}

func (o *openings) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	o.mu.Lock()
	o.n++
	fails, lost := o.fails, o.lost
	o.mu.Unlock()
	o.begun <- q.Owner
	if fails != nil {
		if err := fails(ctx); err != nil {
			return nil, err
		}
	}
	opening, err := o.LibraryStore.OpenLibrary(ctx, q, newest)
	if err == nil && lost {
		opening.Built = false
	}
	o.read <- q.Owner
	return opening, err
}

func (o *openings) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	o.mu.Lock()
	o.rebuilt++
	o.mu.Unlock()
	return o.LibraryStore.SetBuilt(ctx, owner, asOf)
}

func (o *openings) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	o.mu.Lock()
	confirms := o.confirms
	o.mu.Unlock()
	if confirms != nil {
		confirms()
	}
	return o.Store.Confirm(ctx, claims)
}

// set changes the behaviour from now on.
func (o *openings) set(how func(o *openings)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	how(o)
}

// fail sets a function that openings call first, and whose errors they return.
func (o *openings) fail(how func(ctx context.Context) error) {
	o.set(func(o *openings) { o.fails = how })
}

// take returns how many libraries were opened since the last call.
func (o *openings) take() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.n
	o.n = 0
	for len(o.begun)+len(o.read) > 0 {
		select {
		case <-o.begun:
		case <-o.read:
		}
	}
	return n
}

// waitFor waits until the channel receives an owner, which must be the one given.
func waitFor(t *testing.T, c <-chan principal.ID, owner string) {
	t.Helper()
	select {
	case got := <-c:
		if string(got) != owner {
			t.Fatalf("the library of %s was opened, not that of %s", got, owner)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the library of %s was not opened", owner)
	}
}

// pagesOf is a fixture whose store reports its pages: ann's library has items of all
// visibilities, and ben is in the group all, which has them too.
func pagesOf(t *testing.T) (*domaintest.Fixture, *openings) {
	store := newOpenings()
	h := domaintest.New(t, func(s *domain.Store) { *s = store.on(*s) })
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:other:far"} {
		h.User(id, principal.Public)
	}
	h.Group("g:acme:all", "u:acme:ann", principal.Public)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:all", "u:acme:ben=MEMBER")
	for n := range 9 {
		h.Note(fmt.Sprintf("n%d", n), principal.Visibility(1+n%3), "g:acme:all=VIEWER")
	}
	h.Quiet()
	return h, store
}

// TestBegin_PageIsTheSame: a page that is opened in the background shows the same as one whose owner
// was read before, and is opened once.
func TestBegin_PageIsTheSame(t *testing.T) {
	h, store := pagesOf(t)
	viewers := map[string]func() *principal.Viewer{
		"nobody":           func() *principal.Viewer { return &principal.Viewer{} },
		"ann":              func() *principal.Viewer { return domaintest.As("u:acme:ann") },
		"ben":              func() *principal.Viewer { return domaintest.As("u:acme:ben") },
		"somebody else":    func() *principal.Viewer { return domaintest.As("u:other:far") },
		"an administrator": func() *principal.Viewer { return domaintest.Admin("u:acme:boss") },
	}
	for name, viewer := range viewers {
		for _, owner := range []principal.ID{"u:acme:ann", "u:acme:ben", "g:acme:all"} {
			for _, q := range []library.LibraryQuery{
				{PageArgs: domaintest.First(2)}, {PageArgs: domaintest.First(0)}, {PageArgs: domaintest.Last(2)},
				{PageArgs: domaintest.First(2), Descending: true},
				{PageArgs: domaintest.First(3), IncludeShared: true}, {PageArgs: domaintest.Last(3), Descending: true, WithPermissions: true},
			} {
				for page := range 3 {
					store.take()
					v := viewer()
					if _, err := h.People.Principals(t.Context(), v, []principal.ID{owner}); err != nil {
						t.Fatal(err)
					}
					want, err := h.Listing.Library(t.Context(), v, owner, q)
					if err != nil {
						t.Fatal(err)
					}
					opened := store.take()
					if opened != 1 && !q.IncludeShared {
						t.Fatalf("a page opens %d libraries", opened)
					}
					read := h.Listing.Begin(t.Context(), viewer(), owner, q)
					if !q.IncludeShared {
						waitFor(t, store.begun, string(owner))
					}
					got, err := read(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("page %d of %s by %s, %+v", page, owner, name, q)
					if n := store.take(); n != opened {
						t.Errorf("%s opens %d libraries", what, n)
					}
					if diff := cmp.Diff(shown(want), shown(got)); diff != "" {
						t.Errorf("%s (-opened when it is read +begun):\n%s", what, diff)
					}
					if q.Last != nil {
						q.Before = want.PageInfo.StartCursor()
					} else {
						q.After = want.PageInfo.EndCursor()
					}
				}
			}
		}
	}
}

// shown returns what a page shows.
func shown(c *library.LibraryConnection) []any {
	all := []any{c.Bucket.String(), c.PageInfo.HasNextPage, c.PageInfo.HasPreviousPage}
	for _, e := range c.Edges {
		all = append(all, e.Node.ID, e.Role.String(), e.Permissions)
	}
	return all
}

// TestBegin_ReadsOwnerAndSliceTogether: the owner and the slice are read at the same time, by a caller
// that reads the owner itself, and by one that does not.
func TestBegin_ReadsOwnerAndSliceTogether(t *testing.T) {
	h, store := pagesOf(t)
	for _, apart := range []bool{true, false} {
		store.take()
		v := domaintest.As("u:acme:ann")
		held := make(chan struct{})
		store.fail(func(ctx context.Context) error {
			select {
			case <-held:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		read := h.Listing.Begin(t.Context(), v, "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.First(2)})
		waitFor(t, store.begun, "u:acme:ann")
		if apart {
			if _, err := h.People.Principals(t.Context(), v, []principal.ID{"u:acme:ann"}); err != nil {
				t.Fatal(err)
			}
		}
		close(held)
		if _, err := read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := store.take(); n != 1 {
			t.Errorf("it was opened %d times", n)
		}
	}
}

// TestBegin_LaterChangesAreDelivered: what was withdrawn since the page was begun is not
// shown, and what has come is delivered to followers from the page.
func TestBegin_LaterChangesAreDelivered(t *testing.T) {
	g := domaintest.NewGateways(t)
	store := newOpenings()
	g.Through = store.on(g.Through)
	here, clock := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	here.User("u:acme:ben", principal.Public)
	gone := here.Note("gone", principal.Private, "u:acme:ben=VIEWER")
	here.Note("kept", principal.Private, "u:acme:ben=VIEWER")
	here.Quiet()
	clock.Set(g.Start.Add(time.Minute))
	store.take()
	v := domaintest.As("u:acme:ben")
	q := library.LibraryQuery{PageArgs: domaintest.First(20)}
	read := here.Listing.Begin(t.Context(), v, v.User, q)
	waitFor(t, store.read, "u:acme:ben")
	clock.Set(g.Start.Add(2 * time.Minute))
	here.TakeOut(gone, "u:acme:ben")
	here.Note("late", principal.Private, "u:acme:ben=VIEWER")
	here.Quiet()
	clock.Set(g.Start.Add(20 * time.Minute)) // far more than resuming looks back
	page, err := read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := domaintest.NamesOf(page); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("the page shows %v", got)
	}
	if n := store.take(); n != 1 {
		t.Errorf("it was opened %d times", n)
	}
	f := here.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", *page.PageInfo.EndCursor())
	here.Note("end", principal.Private, "u:acme:ben=VIEWER")
	var events []string
	for len(events) < 5 && !slices.Contains(events, "+end") {
		events = append(events, f.NextEvent())
	}
	if !slices.Contains(events, "+late") || !slices.Contains(events, "-gone") {
		t.Errorf("the events were %v", events)
	}
}

// TestBegin_FormerMembersReadAgain: whoever is removed from a group after its page was opened gets the
// page of a viewer who is not in the group, in the background or not.
func TestBegin_FormerMembersReadAgain(t *testing.T) {
	for _, owned := range []bool{false, true} {
		h, store := pagesOf(t)
		v, group := domaintest.As("u:acme:ben"), principal.ID("g:acme:all")
		if owned {
			if _, err := h.People.Principals(t.Context(), v, []principal.ID{group}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.People.GroupsOf(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		store.take()
		read := h.Listing.Begin(t.Context(), v, group, library.LibraryQuery{})
		if !owned {
			waitFor(t, store.read, string(group))
		}
		h.MustSet(domaintest.As("u:acme:ann"), string(group), "u:acme:ben=")
		page, err := read(t.Context())
		if err != nil || page.Bucket != principal.LoggedIn || len(page.Edges) != 6 {
			t.Errorf("the page answers %+v, %v", page, err)
		}
		if n := store.take(); n != 2 {
			t.Errorf("it was opened %d times", n)
		}
	}
}

// TestBegin_ErrorIsReturnedToItsReader: whoever reads the page gets the error of its opening.
func TestBegin_ErrorIsReturnedToItsReader(t *testing.T) {
	h, store := pagesOf(t)
	q := library.LibraryQuery{PageArgs: domaintest.First(2)}
	begin := func(ctx context.Context, fails func(context.Context) error) (read func(context.Context) (*library.LibraryConnection, error)) {
		store.take()
		store.fail(fails)
		defer waitFor(t, store.begun, "u:acme:ann")
		return h.Listing.Begin(ctx, domaintest.As("u:acme:ann"), "u:acme:ann", q)
	}
	t.Run("an error", func(t *testing.T) {
		read := begin(t.Context(), func(context.Context) error { return fault.Unavailablef(nil, "the store is away") })
		store.fail(nil)
		if _, err := read(t.Context()); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("the page answers %v", err)
		}
		if n := store.take(); n > 1 {
			t.Errorf("it was opened %d times", n)
		}
	})
	t.Run("a panic", func(t *testing.T) {
		read := begin(t.Context(), func(context.Context) error { panic("of the driver") })
		store.fail(nil)
		defer func() {
			if cause := fmt.Sprint(recover()); !strings.Contains(cause, "of the driver") || !strings.Contains(cause, "openings") {
				t.Errorf("the reader of the page gets %q", cause)
			}
		}()
		page, err := read(t.Context())
		t.Errorf("the page answers %v, %v", page, err)
	})
	t.Run("a panic over the viewer's groups", func(t *testing.T) {
		v := domaintest.As("u:acme:ben")
		met := make(chan struct{})
		store.set(func(o *openings) { o.confirms = func() { defer close(met); panic("of the driver") } })
		read := h.Listing.Begin(t.Context(), v, "g:acme:all", q)
		<-met
		store.set(func(o *openings) { o.confirms = nil })
		defer func() {
			if cause := fmt.Sprint(recover()); !strings.Contains(cause, "of the driver") {
				t.Errorf("the reader of the page gets %q", cause)
			}
		}()
		page, err := read(t.Context())
		t.Errorf("the page answers %v, %v", page, err)
	})
	t.Run("a library that is being completed", func(t *testing.T) {
		store.set(func(o *openings) { o.lost, o.rebuilt = true, 0 })
		read := begin(t.Context(), nil)
		waitFor(t, store.read, "u:acme:ann")
		store.set(func(o *openings) { o.lost = false })
		if page, err := read(t.Context()); err != nil || len(page.Edges) != 2 {
			t.Errorf("the page answers %v, %v", page, err)
		}
		if store.rebuilt != 0 {
			t.Error("it was rebuilt")
		}
	})
	t.Run("the end of its request", func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		met := make(chan error, 1)
		read := begin(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			met <- ctx.Err()
			return ctx.Err()
		})
		end()
		if err := <-met; err != context.Canceled {
			t.Errorf("the reading ended by %v", err)
		}
		if _, err := read(ctx); err == nil {
			t.Error("the page was answered all the same")
		}
	})
}

// TestBegin_OnlyPagesThatWillBeRead: pages that need no slice are not opened in the background.
func TestBegin_OnlyPagesThatWillBeRead(t *testing.T) {
	h, store := pagesOf(t)
	store.take()
	none := "no cursor"
	for _, q := range []library.LibraryQuery{
		{NoEntries: true}, {IncludeShared: true}, {PageArgs: domaintest.First(-1)}, {PageArgs: domaintest.FirstAfter(1, &none)},
		{PageArgs: cursor.PageArgs{First: domaintest.First(1).First, Last: domaintest.Last(1).Last}},
	} {
		h.Listing.Begin(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", q)
	}
	h.Engine.End()
	h.Listing.Begin(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
	h.Runtime.Close() // waits for the background
	if n := store.take(); n != 0 {
		t.Errorf("%d libraries were opened", n)
	}
}

// TestBegin_OnlyOnARemoteStore: with a store in this process a task costs more than the slice.
func TestBegin_OnlyOnARemoteStore(t *testing.T) {
	h, store := pagesOf(t)
	local := domaintest.Open(t, domain.Config{Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	for name, c := range map[string]struct {
		svc  *domain.Services
		want bool
	}{"remote": {h.Services, true}, "in this process": {local, false}} {
		t.Run(name, func(t *testing.T) {
			store.take()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.svc.Listing.Begin(ctx, domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
			if c.want {
				waitFor(t, store.read, "u:acme:ann")
			}
			if store.take() > 0 != c.want {
				t.Errorf("Begin does not read as it should")
			}
		})
	}
}
