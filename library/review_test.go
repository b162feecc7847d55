package library_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// meddled is a store whose calls a test changes; nil leaves a call as it is.
type meddled struct {
	principal.Store
	library.ContentStore
	mu             sync.Mutex
	commit         func(*library.ContentCommit) (commit.Verdict, error)
	read           func(library.ContentQuery, *library.ContentRows)
	readPrincipals func() error
	applyIndex     func(*library.IndexUpdate)
}

func (m *meddled) on(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *meddled) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	m.mu.Lock()
	commit := m.commit
	m.mu.Unlock()
	if commit != nil {
		return commit(c)
	}
	return m.ContentStore.Commit(ctx, c)
}

func (m *meddled) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	rows, err := m.ContentStore.Read(ctx, id, q)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read != nil && err == nil {
		m.read(q, rows)
	}
	return rows, err
}

func (m *meddled) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	m.mu.Lock()
	read := m.readPrincipals
	m.mu.Unlock()
	if read != nil {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return m.Store.ReadPrincipals(ctx, ids)
}

func (m *meddled) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	m.mu.Lock()
	applyIndex := m.applyIndex
	m.mu.Unlock()
	if applyIndex != nil {
		applyIndex(e)
	}
	return m.ContentStore.ApplyIndex(ctx, e)
}

// meddledFixture is a fixture on a store that a test changes.
func meddledFixture(t *testing.T) (*domaintest.Fixture, *meddled) {
	m := &meddled{}
	h := domaintest.New(t, func(s *domain.Store) {
		m.Store, m.ContentStore, s.Principals, s.Contents = s.Principals, s.Contents, m, m
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:zoe"} {
		h.User(id, principal.Public)
	}
	return h, m
}

// TestMutation_DeadlineIsAnUnknownOutcome: a compare-and-set whose answer did not come in time may
// have been applied; no caller may get the answer that it was not.
func TestMutation_DeadlineIsAnUnknownOutcome(t *testing.T) {
	h, m := meddledFixture(t)
	id := h.Note("a", principal.Public)
	m.on(func() {
		m.commit = func(*library.ContentCommit) (commit.Verdict, error) {
			return commit.Verdict{}, fault.Uncertain(fmt.Errorf("commit: %w", context.DeadlineExceeded))
		}
	})
	_, err := h.Share("u:acme:ann", id, "u:acme:ben")
	domaintest.WantFaults(t, err, "OUTCOME_UNKNOWN")
	if !fault.MayHaveCommitted(err) {
		t.Errorf("the error does not say that the change may have been made: %v", err)
	}
	m.on(func() { m.commit = nil })
	h.WantClean()
}

// TestFinish_EntryStaysUntilItsStateIsRead: if only the writers show that a compare-and-set was
// applied, a quorum read may not return its state yet. An index update from such a reading must not
// end the entry.
func TestFinish_EntryStaysUntilItsStateIsRead(t *testing.T) {
	h, m := meddledFixture(t)
	id := h.Note("a", principal.Public)
	h.Quiet()
	base := h.Content(id).Seq
	m.on(func() {
		m.commit = func(c *library.ContentCommit) (commit.Verdict, error) {
			v, err := m.ContentStore.Commit(context.WithoutCancel(t.Context()), c)
			if err == nil && v.Applied {
				return commit.Verdict{}, fault.Uncertain(domaintest.ErrDown)
			}
			return v, err
		}
		m.read = func(q library.ContentQuery, rows *library.ContentRows) {
			if !q.Serial && rows.Header.Seq > base {
				rows.Header.Seq = base
				for i := range rows.Members {
					if rows.Members[i].Seq > base {
						rows.Members[i] = library.Member{Principal: rows.Members[i].Principal}
					}
				}
			}
		}
	})
	out, err := h.Share("u:acme:ann", id, "u:acme:ben")
	if err != nil || out.FanOut.Complete {
		t.Errorf("the share: %+v, %v; want one that is RUNNING", out, err)
	}
	if n := h.Journal.Stats().Entries; n != 1 {
		t.Errorf("%d entries on the list, want the share's", n)
	}
	m.on(func() { m.commit, m.read = nil, nil })
	h.WantClean()
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "a")
}

// TestMembers_HiddenMembersAreNotDisclosed: viewers who do not manage an item or a group get the
// same answer about an unseen principal, whether it is a member or not.
func TestMembers_HiddenMembersAreNotDisclosed(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public)
	h.MustSet(domaintest.Admin("u:acme:dora"), "g:acme:team", "u:acme:hid=MEMBER")
	if _, err := h.Share("u:acme:hid", id, "u:acme:hid"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"u:acme:hid", "u:acme:nobody"} {
		_, err := h.Library.SetContentMembers(t.Context(), domaintest.As("u:acme:ben"),
			library.SetContentMembers{Content: string(id), Members: domaintest.MemberChanges(p + "=VIEWER")})
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
		_, err = h.Set(domaintest.As("u:acme:ben"), "g:acme:team", p+"=MEMBER")
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
	}
	// A manager may change the role of a hidden member, because nobody else could remove it.
	if _, err := h.Library.SetContentMembers(t.Context(), domaintest.As("u:acme:ann"),
		library.SetContentMembers{Content: string(id), Members: domaintest.MemberChanges("u:acme:hid=EDITOR")}); err != nil {
		t.Error(err)
	}
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:acme:hid=MANAGER")
}

// TestShareContent_FailedReadAfterwardsIsNoRefusal: the edges of the principals it was shared with
// are extras. An error of reading them must not make a decided share look refused.
func TestShareContent_FailedReadAfterwardsIsNoRefusal(t *testing.T) {
	h, m := meddledFixture(t)
	id := h.Note("a", principal.Public)
	m.on(func() {
		m.commit = func(c *library.ContentCommit) (commit.Verdict, error) {
			m.on(func() { m.readPrincipals = func() error { return domaintest.ErrDown } })
			return m.ContentStore.Commit(context.WithoutCancel(t.Context()), c)
		}
	})
	out, err := h.Share("u:acme:ann", id, "u:acme:ben")
	if err != nil || out.FanOut.Libraries != 1 || out.Edges != nil {
		t.Errorf("the share: %+v, %v", out, err)
	}
}

// TestShareContent_RepetitionHidesUnseenPrincipals: a repetition shows objects in their present
// state, and none that the viewer may no longer see.
func TestShareContent_RepetitionHidesUnseenPrincipals(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public)
	in := library.ShareContent{Content: string(id), Principals: []string{"u:acme:ben", "u:acme:cleo"}, Role: library.Viewing,
		IdempotencyKey: domaintest.Ptr("k")}
	for n, want := range []int{2, 1} {
		out, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:ann"), in)
		if err != nil || len(out.Edges) != want {
			t.Errorf("share %d has %d edges, want %d; %v", n, len(out.Edges), want, err)
		}
		if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:ben"),
			principal.UpdateUser{ID: "u:acme:ben", Visibility: input.Some(domaintest.Ptr(principal.Private))}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShareContent_BatchedShareIsInItsActorsLibrary: a share that was committed together with
// another one is answered once its own actor's library has the item, however long others take.
func TestShareContent_BatchedShareIsInItsActorsLibrary(t *testing.T) {
	h, m := meddledFixture(t)
	id := h.Note("a", principal.Public, "u:acme:cleo=VIEWER")
	h.Quiet()
	stuck, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	reached := sync.OnceFunc(func() { close(stuck) })
	m.on(func() {
		m.applyIndex = func(e *library.IndexUpdate) {
			for _, row := range e.Rows {
				if row.Principal == "u:acme:cleo" {
					reached()
					<-goOn
				}
			}
		}
	})
	if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
		library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("b"))}); err != nil {
		t.Fatal(err)
	}
	<-stuck // the walk over the members has reached cleo's library
	sent, mayCommit := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(sent); <-mayCommit })
	m.on(func() {
		m.commit = func(c *library.ContentCommit) (commit.Verdict, error) {
			first()
			return m.ContentStore.Commit(context.WithoutCancel(t.Context()), c)
		}
	})
	var wg sync.WaitGroup
	// ann's share holds the queue while the two others wait behind it.
	wg.Go(func() { _, _ = h.Share("u:acme:ann", id, "u:acme:ann", "u:acme:zoe") })
	<-sent
	h.User("u:acme:one", principal.Public)
	h.User("u:acme:two", principal.Public)
	for _, p := range []string{"u:acme:one", "u:acme:two"} {
		wg.Go(func() {
			if _, err := h.Share(p, id, p); err != nil {
				t.Errorf("sharing with %s: %v", p, err)
			}
			h.WantTitles(domaintest.As(p), p, "b")
		})
	}
	for h.Library.SharesWaiting(id) < 2 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	close(mayCommit)
	wg.Wait()
	release()
	h.WantClean()
}

// TestCreateContent_RepetitionAfterExpiryHasTheFirstOutcome: the expiresAt of a request may pass
// before the request is repeated. The repetition has the first outcome nevertheless.
func TestCreateContent_RepetitionAfterExpiryHasTheFirstOutcome(t *testing.T) {
	h := domaintest.Town(t)
	at := clock.Of(h.Runtime.Now()).Add(time.Hour)
	create := library.CreateContent{
		Name: domaintest.Ptr("a"), Kind: library.Note, Title: "a", Visibility: principal.Public, ExpiresAt: &at,
		IdempotencyKey: domaintest.Ptr("create"),
	}
	update := library.UpdateContent{ID: "c:acme:a", Title: input.Some(domaintest.Ptr("b")), ExpiresAt: input.Some(&at),
		IdempotencyKey: domaintest.Ptr("update")}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{{0, nil}, {2 * time.Hour, []string{"INVALID expiresAt"}}} {
		svc := h.After(c.after)
		if out, err := svc.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), create); err != nil || out.ID != "c:acme:a" {
			t.Errorf("creating after %s: %+v, %v", c.after, out, err)
		}
		if _, err := svc.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"), update); err != nil {
			t.Errorf("updating after %s: %v", c.after, err)
		}
		other := create
		other.Name, other.IdempotencyKey = domaintest.Ptr("other"), domaintest.Ptr("other"+c.after.String())
		_, err := svc.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), other)
		domaintest.WantFaults(t, err, c.want...)
	}
}
