package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// urls is a fixture with ann, bob and eve, for tests of items with URLs.
type urls struct {
	*domaintest.Fixture
}

func newURLs(t *testing.T, wrap func(*domain.Store)) urls {
	h := domaintest.New(t, wrap)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	h.User("u:other:eve", principal.Public)
	return urls{h}
}

// create has a user create a public item with a URL.
func (h urls) create(svc *domain.Services, v *principal.Viewer, name, url string, expires *clock.Instant) error {
	_, err := svc.Library.CreateContent(h.T.Context(), v, library.CreateContent{Name: &name, Kind: library.Note, Title: name,
		Visibility: principal.Public, URL: &url, ExpiresAt: expires})
	return err
}

func (h urls) mustCreate(v *principal.Viewer, name, url string) {
	h.T.Helper()
	if err := h.create(h.Services, v, name, url, nil); err != nil {
		h.T.Fatalf("creating %s at %s: %v", name, url, err)
	}
}

// move gives an item another URL; "" removes it.
func (h urls) move(svc *domain.Services, v *principal.Viewer, id, url string) error {
	to := &url
	if url == "" {
		to = nil
	}
	_, err := svc.Library.MoveContent(h.T.Context(), v, library.MoveContent{ID: id, URL: input.Some(to)})
	return err
}

// wantAt compares which item a URL names in a tenant; "" is none.
func (h urls) wantAt(url, tenant, want string) {
	h.T.Helper()
	item, err := h.Library.ContentByURL(h.T.Context(), domaintest.Anonymous(), url, &tenant)
	if err != nil {
		h.T.Fatalf("looking up %s: %v", url, err)
	}
	got := ""
	if item != nil {
		got = string(item.ID)
	}
	if got != want {
		h.T.Errorf("%s names %q in %s, want %q", url, got, tenant, want)
	}
}

const (
	pageA = "https://acme.example/a"
	pageB = "https://acme.example/b"
)

func TestURL_BelongsToOneItemOfATenant(t *testing.T) {
	h := newURLs(t, nil)
	ann, bob, eve := domaintest.As("u:acme:ann"), domaintest.As("u:acme:bob"), domaintest.As("u:other:eve")
	h.mustCreate(ann, "one", "HTTPS://Acme.example:443//a/#top")
	h.wantAt(pageA, "acme", "c:acme:one")
	h.wantAt("https://acme.example/x/../a?lang=en", "acme", "c:acme:one")
	h.wantAt(pageA, "other", "")
	if got := h.Content("c:acme:one").CanonicalURL; got != pageA {
		t.Errorf("the item has the URL %q, want %q", got, pageA)
	}

	domaintest.WantFaults(t, h.create(h.Services, bob, "two", pageA+"/", nil), "TAKEN url")
	domaintest.WantFaults(t, h.create(h.Services, bob, "two", "https://acme.example/%zz", nil), "INVALID url")
	h.mustCreate(bob, "two", pageB)
	domaintest.WantFaults(t, h.create(h.Services, bob, "one", pageB, nil), "TAKEN name", "TAKEN url")
	domaintest.WantFaults(t, h.create(h.Services, bob, "one", pageA, nil), "TAKEN name")
	domaintest.WantFaults(t, h.create(h.Services, bob, "one", "https://acme.example/free", nil), "TAKEN name")
	domaintest.WantFaults(t, h.move(h.Services, bob, "c:acme:two", pageA), "TAKEN url")
	domaintest.WantFaults(t, h.move(h.Services, bob, "c:acme:one", pageB), "FORBIDDEN id")
	h.mustCreate(eve, "one", pageA)
	h.wantAt(pageA, "other", "c:other:one")
	h.wantAt(pageA, "acme", "c:acme:one")
	h.Quiet()
	h.WantClean()
}

func TestMoveContent_OnlyTheNewURLNamesTheItem(t *testing.T) {
	h := newURLs(t, nil)
	ann := domaintest.As("u:acme:ann")
	h.mustCreate(ann, "one", pageA)
	before := h.Content("c:acme:one")
	for _, step := range []struct{ to, free string }{{pageB, pageA}, {pageA, pageB}, {pageA, pageB}, {"", pageA}, {pageB, pageA}} {
		domaintest.WantFaults(t, h.move(h.Services, ann, "c:acme:one", step.to))
		if step.to != "" {
			h.wantAt(step.to, "acme", "c:acme:one")
		}
		h.wantAt(step.free, "acme", "")
		h.Quiet()
		if c, err := h.Store.Claims.ReadClaim(t.Context(), claim.URL("acme", step.free), true); err != nil || c != (claim.Claim{}) {
			t.Errorf("the claim of %s stays: %+v, %v", step.free, c, err)
		}
	}
	after := h.Content("c:acme:one")
	if after.Version != before.Version || after.LastModified != before.LastModified || after.Position != before.Position {
		t.Errorf("a move has changed the version or the position: %+v, before %+v", after, before)
	}
	if err := h.create(h.Services, ann, "two", pageA, nil); err != nil {
		t.Errorf("the URL that was given up is not free: %v", err)
	}
	h.WantClean()
}

func TestMoveContent_WrongRequestsChangeNothing(t *testing.T) {
	h := newURLs(t, nil)
	ann := domaintest.As("u:acme:ann")
	h.mustCreate(ann, "one", pageA)
	one, other := 7, pageB
	for _, c := range []struct {
		name string
		v    *principal.Viewer
		in   library.MoveContent
		want []string
	}{
		{"nothing given", ann, library.MoveContent{ID: "c:acme:one"}, []string{"INVALID url"}},
		{"all faults", ann, library.MoveContent{ID: "one", URL: input.Some(domaintest.Ptr("ftp://x")), IdempotencyKey: domaintest.Ptr("")},
			[]string{"INVALID id", "INVALID url", "INVALID idempotencyKey"}},
		{"unknown item", ann, library.MoveContent{ID: "c:acme:none", URL: input.Some(&other)}, []string{"NOT_FOUND id"}},
		{"another version", ann, library.MoveContent{ID: "c:acme:one", URL: input.Some(&other), ExpectedVersion: &one},
			[]string{"CONFLICT expectedVersion"}},
		{"another version, nothing to change", ann, library.MoveContent{ID: "c:acme:one", URL: input.Some(domaintest.Ptr(pageA)),
			ExpectedVersion: &one}, []string{"CONFLICT expectedVersion"}},
		{"somebody else", domaintest.As("u:acme:bob"), library.MoveContent{ID: "c:acme:one", URL: input.Some[*string](nil)},
			[]string{"FORBIDDEN id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Library.MoveContent(t.Context(), c.v, c.in)
			domaintest.WantFaults(t, err, c.want...)
			h.wantAt(pageA, "acme", "c:acme:one")
			h.wantAt(pageB, "acme", "")
		})
	}
	_, err := h.Library.MoveContent(t.Context(), domaintest.Anonymous(), library.MoveContent{ID: "c:acme:one", URL: input.Some(&other)})
	domaintest.WantReason(t, err, fault.Unauthenticated, "")
}

func TestMoveContent_RepetitionHasTheFirstOutcome(t *testing.T) {
	h := newURLs(t, nil)
	ann, key, to := domaintest.As("u:acme:ann"), "key", pageB
	h.mustCreate(ann, "one", pageA)
	in := library.MoveContent{ID: "c:acme:one", URL: input.Some(&to), IdempotencyKey: &key}
	for range 2 {
		if _, err := h.Library.MoveContent(t.Context(), ann, in); err != nil {
			t.Fatal(err)
		}
	}
	domaintest.WantFaults(t, h.move(h.Services, ann, "c:acme:one", pageA))
	if out, err := h.Library.MoveContent(t.Context(), ann, in); err != nil || out.Content.CanonicalURL != pageA {
		t.Errorf("a repetition moved the item again, or was refused: %+v, %v", out, err)
	}
	in.URL = input.Some[*string](nil)
	_, err := h.Library.MoveContent(t.Context(), ann, in)
	domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
}

func TestURL_OfADeletedItemIsFreeAtOnce(t *testing.T) {
	h := newURLs(t, nil)
	h.mustCreate(domaintest.As("u:acme:ann"), "one", pageA)
	h.Delete("c:acme:one")
	h.wantAt(pageA, "acme", "")
	h.mustCreate(domaintest.As("u:acme:bob"), "two", pageA)
	h.wantAt(pageA, "acme", "c:acme:two")
	h.Quiet()
	h.WantClean()
}

// TestURL_OfAnExpiredItemIsFree: an item that has expired is deleted before another one gets
// its URL, even if its expiry has not been carried out.
func TestURL_OfAnExpiredItemIsFree(t *testing.T) {
	h := newURLs(t, nil)
	soon := clock.Of(time.Now().Add(time.Hour))
	if err := h.create(h.Services, domaintest.As("u:acme:ann"), "one", pageA, &soon); err != nil {
		t.Fatal(err)
	}
	bob := domaintest.As("u:acme:bob")
	domaintest.WantFaults(t, h.create(h.After(59*time.Minute), bob, "two", pageA, nil), "TAKEN url")
	h.mustCreate(bob, "three", pageB)
	domaintest.WantFaults(t, h.create(h.After(59*time.Minute), bob, "three", pageA, nil), "TAKEN name", "TAKEN url")
	domaintest.WantFaults(t, h.create(h.After(61*time.Minute), bob, "three", pageA, nil), "TAKEN name")
	domaintest.WantFaults(t, h.create(h.After(61*time.Minute), bob, "two", pageA, nil))
	if state := h.Content("c:acme:one").State; state != commit.Deleted {
		t.Errorf("the expired item is in the state %d, want deleted", state)
	}
	h.wantAt(pageA, "acme", "c:acme:two")
}

// losing is a store whose commits of items fail while a flag is set.
type losing struct {
	library.ContentStore
	refuse atomic.Bool
}

var errLost = errors.New("no answer")

func (l *losing) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	if l.refuse.Load() {
		return commit.Verdict{}, errLost
	}
	return l.ContentStore.Commit(ctx, c)
}

// TestURL_AbandonedClaimLapses: if an item has taken the claim of a URL, but was not changed, the
// claim reserves the URL for half a minute. After that another item that wants the URL fences the
// first one and takes the claim.
func TestURL_AbandonedClaimLapses(t *testing.T) {
	store := &losing{}
	h := newURLs(t, func(s *domain.Store) { store.ContentStore, s.Contents = s.Contents, store })
	ann, bob := domaintest.As("u:acme:ann"), domaintest.As("u:acme:bob")
	h.mustCreate(ann, "moved", pageB)
	store.refuse.Store(true)
	for _, err := range []error{
		h.create(h.Services, ann, "one", pageA, nil),
		h.move(h.Services, ann, "c:acme:moved", "https://acme.example/c"),
	} {
		if fault.CodeOf(err) != fault.Internal && fault.CodeOf(err) != fault.Unavailable {
			t.Fatalf("got %v", err)
		}
	}
	store.refuse.Store(false)
	for _, url := range []string{pageA, "https://acme.example/c"} {
		h.wantAt(url, "acme", "")
		domaintest.WantFaults(t, h.create(h.After(claim.TakenWithin-time.Second), bob, "b"+url[len(url)-1:], url, nil), "TAKEN url")
		domaintest.WantFaults(t, h.create(h.After(claim.TakenWithin+time.Second), bob, "b"+url[len(url)-1:], url, nil))
		h.wantAt(url, "acme", "c:acme:b"+url[len(url)-1:])
	}
	h.wantAt(pageB, "acme", "c:acme:moved")
	if state := h.Content("c:acme:one").State; state != commit.Void {
		t.Errorf("the item that was not created is in the state %d, want void", state)
	}
}

// TestURL_OneOfManyGetsIt: of several concurrent requests for one URL one gets it, and all
// others get TAKEN.
func TestURL_OneOfManyGetsIt(t *testing.T) {
	h := newURLs(t, nil)
	const many = 12
	for round := range 5 {
		errs := make([]error, many)
		var all sync.WaitGroup
		for n := range many {
			v := domaintest.As("u:acme:ann")
			name := fmt.Sprintf("r%d-%d", round, n)
			if n%2 == 1 {
				h.mustCreate(v, name, fmt.Sprintf("https://acme.example/of/%s", name))
			}
			all.Go(func() {
				url := fmt.Sprintf("https://acme.example/%d", round)
				if n%2 == 1 {
					errs[n] = h.move(h.Services, v, "c:acme:"+name, url)
				} else {
					errs[n] = h.create(h.Services, v, name, url, nil)
				}
			})
		}
		all.Wait()
		winner := ""
		for n, err := range errs {
			switch {
			case err == nil && winner == "":
				winner = fmt.Sprintf("c:acme:r%d-%d", round, n)
			case err == nil:
				t.Errorf("round %d has two winners", round)
			default:
				domaintest.WantFaults(t, err, "TAKEN url")
			}
		}
		h.wantAt(fmt.Sprintf("https://acme.example/%d", round), "acme", winner)
	}
	h.Quiet()
	h.WantClean()
}

func TestContentByURL_WrongArgumentsAreRefused(t *testing.T) {
	h := newURLs(t, nil)
	ann := domaintest.As("u:acme:ann")
	h.mustCreate(ann, "one", pageA)
	for _, c := range []struct {
		name   string
		v      *principal.Viewer
		url    string
		tenant *string
	}{
		{"malformed", ann, "acme.example/a", nil},
		{"empty", ann, "", nil},
		{"malformed tenant", ann, pageA, domaintest.Ptr("A b")},
		{"anonymous without a tenant", domaintest.Anonymous(), pageA, nil},
	} {
		_, err := h.Library.ContentByURL(t.Context(), c.v, c.url, c.tenant)
		domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadInput)
	}
	item, err := h.Library.ContentByURL(t.Context(), ann, pageA, nil)
	if err != nil || item == nil || cmp.Diff(string(item.ID), "c:acme:one") != "" {
		t.Errorf("in the viewer's own tenant: %+v, %v", item, err)
	}
}
