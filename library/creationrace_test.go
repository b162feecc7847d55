package library_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"carrel/core/commit"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// holding is a store that holds up one compare-and-set.
type holding struct {
	principal.Store
	library.ContentStore
	armed   atomic.Bool // holds the next one
	reached chan struct{}
	release chan struct{}
}

// on returns s with the changes.
func (h *holding) on(s domain.Store) domain.Store {
	h.Store, h.ContentStore, s.Principals, s.Contents = s.Principals, s.Contents, h, h
	return s
}

func (h *holding) hold() {
	if h.armed.CompareAndSwap(true, false) {
		close(h.reached)
		<-h.release
	}
}

func (h *holding) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	h.hold()
	return h.ContentStore.Commit(ctx, c)
}

func (h *holding) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	h.hold()
	return h.Store.CommitPrincipal(ctx, c)
}

// creations are creations with an idempotency key. Calls with different titles have different
// inputs. If the name is "", one is generated.
var creations = []struct {
	name   string
	create func(h *domaintest.Fixture, key, name, title string) error
}{
	{"content", func(h *domaintest.Fixture, key, name, title string) error {
		in := library.CreateContent{Kind: library.Note, Title: title, Visibility: principal.Private, IdempotencyKey: &key}
		if name != "" {
			in.Name = &name
		}
		_, err := h.Library.CreateContent(h.T.Context(), domaintest.Admin("u:acme:ann"), in)
		return err
	}},
	{"group", func(h *domaintest.Fixture, key, name, title string) error {
		_, err := h.People.CreateGroup(h.T.Context(), domaintest.Admin("u:acme:ann"), principal.CreateGroup{Tenant: "acme",
			Name: "g" + name, DisplayName: title, Visibility: principal.Public, IdempotencyKey: &key})
		return err
	}},
	{"user", func(h *domaintest.Fixture, key, name, title string) error {
		_, err := h.People.CreateUser(h.T.Context(), domaintest.Admin("u:acme:ann"), principal.CreateUser{Tenant: "acme",
			Name: "u" + name, DisplayName: title, Email: "u" + name + "@example.com", Visibility: principal.Public, IdempotencyKey: &key})
		return err
	}},
}

// anotherProcess is a second process on the store of the fixture.
func anotherProcess(h *domaintest.Fixture) *domaintest.Fixture {
	h.T.Helper()
	o := &domaintest.Fixture{T: h.T, Store: h.Store, Runtime: sched.NewReal()}
	h.T.Cleanup(o.Runtime.Close)
	o.Journal = journal.New(h.T.Context(), o.Store.Journal, o.Runtime, nil)
	names := &domaintest.CountingNames{}
	names.N.Store(1000) // of another block
	o.Services = domaintest.Open(h.T, domain.Config{Store: o.Store, Runtime: o.Runtime, Journal: o.Journal, Names: names})
	return o
}

// countLive counts items and principals that exist.
func countLive(h *domaintest.Fixture) (n int) {
	h.T.Helper()
	r, err := h.Repair.Audit(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	ids, err := h.Store.Principals.ScanPrincipals(h.T.Context(), "", 100)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, id := range ids {
		if h.Header(string(id)).State == commit.Live {
			n++
		}
	}
	return n + r.Contents
}

// TestCreate_OneKeyWithTwoInputsAtTheSameTimeCreatesOnce: a request with the same key and another
// input comes just before the first request is committed. One of them creates, and the other one
// gets IDEMPOTENCY_MISMATCH, whatever they create.
func TestCreate_OneKeyWithTwoInputsAtTheSameTimeCreatesOnce(t *testing.T) {
	for _, first := range creations {
		for _, second := range creations {
			for _, names := range [][2]string{{"", ""}, {"same", "same"}, {"one", "two"}} {
				t.Run(first.name+" "+names[0]+" then "+second.name+" "+names[1], func(t *testing.T) {
					store := &holding{reached: make(chan struct{}), release: make(chan struct{})}
					h := domaintest.New(t, func(s *domain.Store) { *s = store.on(*s) })
					h.User("u:acme:ann", principal.Public)
					before, other := countLive(h), anotherProcess(h)
					store.armed.Store(true)
					ended := make(chan error, 1)
					go func() { ended <- first.create(h, "key", names[0], "first") }()
					<-store.reached
					domaintest.WantFaults(t, second.create(other, "key", names[1], "second"))
					close(store.release)
					domaintest.WantFaults(t, <-ended, "IDEMPOTENCY_MISMATCH")
					if n := countLive(h) - before; n != 1 {
						t.Errorf("%d were created", n)
					}
					// Both may be repeated.
					domaintest.WantFaults(t, second.create(h, "key", names[1], "second"))
					domaintest.WantFaults(t, first.create(h, "key", names[0], "first"), "IDEMPOTENCY_MISMATCH")
					if n := countLive(h) - before; n != 1 {
						t.Errorf("%d were created by repetitions", n)
					}
					h.Quiet()
					other.Quiet()
					h.WantClean()
				})
			}
		}
	}
}

// TestCreate_RefusedInputsLeaveTheirKeyToEachOther: an input whose attempt was refused frees
// its key for another, which may be refused too, and so on.
func TestCreate_RefusedInputsLeaveTheirKeyToEachOther(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	create := func(title string, members ...string) error {
		name, key := "item", "key"
		_, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.CreateContent{Name: &name, Kind: library.Note, Title: title,
				Visibility: principal.Private, Members: domaintest.MemberChanges(members...), IdempotencyKey: &key})
		return err
	}
	for range 2 {
		domaintest.WantFaults(t, create("a", "u:acme:nobody=VIEWER"), "NOT_FOUND members.0.principalId")
		domaintest.WantFaults(t, create("b", "u:acme:nobody=VIEWER"), "NOT_FOUND members.0.principalId")
	}
	h.User("u:acme:nobody", principal.Public)
	domaintest.WantFaults(t, create("a", "u:acme:nobody=VIEWER"))
	domaintest.WantFaults(t, create("b", "u:acme:nobody=VIEWER"), "IDEMPOTENCY_MISMATCH")
	domaintest.WantFaults(t, create("a", "u:acme:nobody=VIEWER"))
	h.Quiet()
	h.WantClean()
}

// unwilling is a store that can be set to refuse commits of live states.
type unwilling struct {
	principal.Store
	library.ContentStore
	refuses bool
}

var errUnwilling = errors.New("the store is down")

func (u *unwilling) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	if u.refuses && c.Header.State == commit.Live {
		return commit.Verdict{}, errUnwilling
	}
	return u.ContentStore.Commit(ctx, c)
}

func (u *unwilling) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	if u.refuses && c.Header.State == commit.Live {
		return commit.Verdict{}, errUnwilling
	}
	return u.Store.CommitPrincipal(ctx, c)
}

// TestCreate_FailedInputsLeaveTheirNameToEachOther: inputs of one key and one name whose
// attempts failed free the name for each other.
func TestCreate_FailedInputsLeaveTheirNameToEachOther(t *testing.T) {
	for _, c := range creations {
		t.Run(c.name, func(t *testing.T) {
			var store *unwilling
			h := domaintest.New(t, func(s *domain.Store) {
				store = &unwilling{Store: s.Principals, ContentStore: s.Contents}
				s.Principals, s.Contents = store, store
			})
			h.User("u:acme:ann", principal.Public)
			before := countLive(h)
			store.refuses = true
			for range 2 {
				for _, title := range []string{"a", "b"} {
					if err := c.create(h, "key", "x", title); !errors.Is(err, errUnwilling) {
						t.Fatalf("%s: %v", title, err)
					}
				}
			}
			store.refuses = false
			domaintest.WantFaults(t, c.create(h, "key", "x", "a"))
			domaintest.WantFaults(t, c.create(h, "key", "x", "b"), "IDEMPOTENCY_MISMATCH")
			domaintest.WantFaults(t, c.create(h, "key", "x", "a"))
			if n := countLive(h) - before; n != 1 {
				t.Errorf("%d were created", n)
			}
			h.Quiet()
			h.WantClean()
		})
	}
}
