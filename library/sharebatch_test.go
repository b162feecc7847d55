package library_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// hookedCommits is a store that runs a function of a test before it sends the next commit of an
// item.
type hookedCommits struct {
	library.ContentStore
	mu        sync.Mutex
	id        library.ContentID
	meanwhile func()
}

func (s *hookedCommits) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	s.mu.Lock()
	var meanwhile func()
	if c.ID == s.id && s.meanwhile != nil {
		meanwhile, s.meanwhile = s.meanwhile, nil
	}
	s.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
	}
	return s.ContentStore.Commit(ctx, c)
}

// beforeCommit sets a function to run before the next commit of an item is sent.
func (s *hookedCommits) beforeCommit(id library.ContentID, meanwhile func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.meanwhile = id, meanwhile
}

// batchFixture is a fixture in which shares of one item can be made to wait together.
func batchFixture(t *testing.T) (*domaintest.Fixture, *hookedCommits) {
	t.Helper()
	store := &hookedCommits{}
	h := domaintest.New(t, func(s *domain.Store) { store.ContentStore, s.Contents = s.Contents, store })
	h.Services = domaintest.Open(t, domain.Config{Store: h.Store, Runtime: patient{h.Runtime}, Journal: h.Journal,
		Names: &domaintest.CountingNames{}})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:dora", "u:acme:eve"} {
		h.User(id, principal.Public)
	}
	return h, store
}

// waitForShares returns once this many shares of an item wait for their turn.
func waitForShares(h *domaintest.Fixture, id library.ContentID, n int) {
	for h.Library.SharesWaiting(id) < n && h.T.Context().Err() == nil {
		runtime.Gosched()
	}
}

// wantRoles compares the roles of principals in the rows of an item.
func wantRoles(h *domaintest.Fixture, id library.ContentID, want map[principal.ID]library.ContentRole) {
	h.T.Helper()
	for p, role := range want {
		rows, err := h.Store.Contents.Read(h.T.Context(), id, library.ContentQuery{Members: []principal.ID{p}, Serial: true})
		if err != nil {
			h.T.Fatal(err)
		}
		got := library.NoRole
		if rows.Members[0].Active() {
			got = rows.Members[0].Role
		}
		if got != role {
			h.T.Errorf("%s has the role %q on %s, want %q", p, got, id, role)
		}
	}
}

// TestShareBatch_RefusedShareGivesNoRole: a share that is refused grants no role, even if
// others that wait with it are decided in one commit.
func TestShareBatch_RefusedShareGivesNoRole(t *testing.T) {
	h, store := batchFixture(t)
	id := h.Note("a", principal.Public)
	var wg sync.WaitGroup
	store.beforeCommit(id, func() { // ann's share holds the queue
		wg.Go(func() { // a reader may give no other role than VIEWER
			_, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:ben"), library.ShareContent{
				Content: string(id), Principals: []string{"u:acme:ben", "u:acme:cleo"}, Role: library.Manages,
			})
			domaintest.WantFaults(t, err, "FORBIDDEN role")
		})
		wg.Go(func() {
			out, err := h.Share("u:acme:ann", id, "u:acme:dora")
			if err != nil || out.FanOut.Libraries != 1 {
				t.Errorf("the other share: %+v, %v", out, err)
			}
		})
		waitForShares(h, id, 2)
	})
	if _, err := h.Share("u:acme:ann", id, "u:acme:eve"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	wantRoles(h, id, map[principal.ID]library.ContentRole{
		"u:acme:ben": library.NoRole, "u:acme:cleo": library.NoRole, "u:acme:dora": library.Viewing, "u:acme:eve": library.Viewing,
	})
	h.WantClean()
}

// TestShareBatch_KeyedShareIsCommittedAlone: a share with an idempotency key leads no batch,
// because a commit has one request row. If it were refused, the other shares of its batch would be
// answered as done without being done.
func TestShareBatch_KeyedShareIsCommittedAlone(t *testing.T) {
	h, store := batchFixture(t)
	id := h.Note("a", principal.Public)
	rt := sched.NewReal()
	t.Cleanup(rt.Close)
	unhooked := h.Store
	unhooked.Contents = store.ContentStore
	elsewhere := domaintest.Open(t, domain.Config{Store: unhooked, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	var wg sync.WaitGroup
	// ann's share waits while ben's is being decided. ben's loses against another process, which
	// makes the item invisible to him.
	store.beforeCommit(id, func() {
		wg.Go(func() {
			out, err := h.Share("u:acme:ann", id, "u:acme:dora")
			if err != nil || out.FanOut.Libraries != 1 {
				t.Errorf("the share that waited: %+v, %v", out, err)
			}
			wantRoles(h, id, map[principal.ID]library.ContentRole{"u:acme:dora": library.Viewing})
		})
		waitForShares(h, id, 1)
		_, err := elsewhere.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(id), Visibility: input.Some(domaintest.Ptr(principal.Private))})
		if err != nil {
			t.Errorf("making the item PRIVATE: %v", err)
		}
	})
	_, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:ben"), library.ShareContent{
		Content: string(id), Principals: []string{"u:acme:ben"}, Role: library.Viewing, IdempotencyKey: domaintest.Ptr("key"),
	})
	domaintest.WantFaults(t, err, "NOT_FOUND contentId")
	wg.Wait()
	wantRoles(h, id, map[principal.ID]library.ContentRole{"u:acme:ben": library.NoRole, "u:acme:dora": library.Viewing})
	h.WantClean()
}

// outOfTurn is a runtime in which the time of one caller runs out while it waits for its turn.
type outOfTurn struct {
	patient
	next    atomic.Bool // the next caller of Lock is the one
	timesUp chan struct{}
}

func (r *outOfTurn) Lock(ctx context.Context, key string, queue int) (func(), error) {
	if r.next.CompareAndSwap(true, false) {
		<-r.timesUp
		return nil, context.DeadlineExceeded
	}
	return r.patient.Lock(ctx, key, queue)
}

// TestShareBatch_ShareHasTheOutcomeOfItsBatch: a share that another one commits has the outcome of
// that commit, even if its own time runs out while it waits.
func TestShareBatch_ShareHasTheOutcomeOfItsBatch(t *testing.T) {
	h, store := batchFixture(t)
	rt := &outOfTurn{patient: patient{h.Runtime}, timesUp: make(chan struct{})}
	h.Services = domaintest.Open(t, domain.Config{Store: h.Store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	other := sched.NewReal()
	t.Cleanup(other.Close)
	unhooked := h.Store
	unhooked.Contents = store.ContentStore
	elsewhere := domaintest.Open(t, domain.Config{Store: unhooked, Runtime: other, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	id := h.Note("a", principal.Public)
	var wg sync.WaitGroup
	store.beforeCommit(id, func() {
		rt.next.Store(true)
		wg.Go(func() {
			out, err := h.Share("u:acme:ann", id, "u:acme:dora")
			if err != nil || out.FanOut.Libraries != 1 {
				t.Errorf("the share that another one commits: %+v, %v", out, err)
			}
		})
		waitForShares(h, id, 1)
		// ben's share loses, and commits the other one too when it tries again.
		if _, err := elsewhere.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("b"))}); err != nil {
			t.Errorf("updating the item: %v", err)
		}
		store.beforeCommit(id, func() { close(rt.timesUp) })
	})
	if _, err := h.Share("u:acme:ben", id, "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	wantRoles(h, id, map[principal.ID]library.ContentRole{"u:acme:ben": library.Viewing, "u:acme:dora": library.Viewing})
	h.WantClean()
}

// lossy is a store that loses the answers of commits.
type lossy struct{ library.ContentStore }

func (lossy) Commit(context.Context, *library.ContentCommit) (commit.Verdict, error) {
	return commit.Verdict{}, fault.Uncertain(fault.Unavailablef(nil, "the answer was lost"))
}

// TestShareBatch_RefusedShareIsNotOfUnknownOutcome: a share that is refused is answered so,
// even if the outcome of others in its batch is unknown.
func TestShareBatch_RefusedShareIsNotOfUnknownOutcome(t *testing.T) {
	h, store := batchFixture(t)
	id := h.Note("a", principal.Public)
	var wg sync.WaitGroup
	store.beforeCommit(id, func() { // ann's share holds the queue
		wg.Go(func() {
			_, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:ben"), library.ShareContent{
				Content: string(id), Principals: []string{"u:acme:cleo"}, Role: library.Manages,
			})
			domaintest.WantFaults(t, err, "FORBIDDEN role")
		})
		wg.Go(func() {
			_, err := h.Share("u:acme:ann", id, "u:acme:dora")
			if fault.ReasonOf(err) != fault.ReasonOutcomeUnknown {
				t.Errorf("the other share: %v", err)
			}
		})
		waitForShares(h, id, 2)
		store.ContentStore = lossy{store.ContentStore}
	})
	_, _ = h.Share("u:acme:ann", id, "u:acme:eve")
	wg.Wait()
}
