package journal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
)

// finishLater passes a decided change to the background, as after a failed fan-out.
func finishLater(t *testing.T, j *Journal, e commit.Entry) {
	t.Helper()
	if err := j.Begin(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	j.Decided(e.ID)
	e.Decided = true
	j.FinishLater(e)
}

func numbered(n int) commit.Entry {
	return commit.Entry{ID: commit.EntryID{9, byte(n), byte(n >> 8)}, Kind: commit.Content, Key: fmt.Sprintf("c:acme:%d", n),
		Reach: commit.Reach{Scope: commit.ScopeAll}}
}

// fill puts decided changes of n items on the list that wait for the background.
func fill(j *Journal, n int, principals ...string) {
	for i := range n {
		e := numbered(i)
		e.Decided, e.Principals = true, principals
		j.entries = append(j.entries, &entry{Entry: e, background: true})
	}
}

func TestBegin_UnfinishedDecidedChangesDoNotBlockNewOnes(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	fill(j, maxUndecided)
	if !j.MayDefer() {
		t.Error("waiting decided changes prevent moves from being deferred")
	}
	for n := range maxUndecided - 1 {
		e := commit.Entry{ID: commit.EntryID{1, byte(n), byte(n >> 8)}, Kind: commit.Content, Key: "c:acme:x"}
		j.entries = append(j.entries, &entry{Entry: e})
	}
	if err := j.Begin(t.Context(), change(2)); err != nil {
		t.Fatalf("the last undecided change within the limit: %v", err)
	}
	if err := j.Begin(t.Context(), change(1)); fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "are pending") {
		t.Errorf("with %d undecided changes: %v", maxUndecided, err)
	}
	j.Decided(commit.EntryID{1, 0, 0})
	if err := j.Begin(t.Context(), change(1)); err != nil {
		t.Errorf("after one was decided: %v", err)
	}
	if st := j.Stats(); st.Waiting != maxUndecided || st.Refused != 1 {
		t.Errorf("counted %+v", st)
	}
}

func TestBegin_BeyondEachLimitIsRefused(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	fill(j, maxEntries-1)
	if err := j.Begin(t.Context(), change(1)); err != nil {
		t.Errorf("the last one within the limit: %v", err)
	}
	const want = "earlier changes could not be completed"
	if err := j.Begin(t.Context(), change(2)); fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), want) {
		t.Errorf("beyond the number: %v", err)
	}
	j.entries = nil
	long := "u:acme:" + strings.Repeat("x", 1<<10)
	fill(j, maxBytes>>11, long, long) // each takes a little more than 2 KiB
	if err := j.Begin(t.Context(), change(3)); fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), want) {
		t.Errorf("beyond the size: %v", err)
	}
	j.entries = j.entries[:len(j.entries)*9/10]
	if err := j.Begin(t.Context(), change(4)); err != nil {
		t.Errorf("within the size: %v", err)
	}
}

func TestFinishLater_MergesDecidedChangesOfOnePrincipal(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	entry := func(n byte, former string, ps ...string) commit.Entry {
		return commit.Entry{ID: commit.EntryID{n}, Kind: commit.Principal, Key: "g:acme:staff", Base: int64(n),
			Reach: commit.Reach{Scope: commit.ScopeListed, Former: former, Principals: ps}}
	}
	finishLater(t, j, entry(1, "", "u:acme:b"))
	finishLater(t, j, entry(2, "Crew", "u:acme:a"))
	finishLater(t, j, entry(3, "Crew"))
	finishLater(t, j, entry(4, "Team"))
	other := entry(5, "")
	other.Key = "g:acme:other"
	finishLater(t, j, other)
	if err := j.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := commit.OpenLists(t.Context(), store.Journal)
	if err != nil || len(all) != 1 || len(all[0].Entries) != 3 {
		t.Fatalf("lists %+v, %v; want one of three entries", all, err)
	}
	first := all[0].Entries[0]
	if first.Base != 3 || first.Former != "Crew" || !slices.Equal(first.Principals, []string{"u:acme:a", "u:acme:b"}) {
		t.Errorf("merged: %+v", first)
	}
}

// An entry too large for a row of a store would prevent the whole list from being written.
func TestFinishLater_LimitsMergedEntries(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	const calls, each = 25, 100
	for n := range calls {
		e := commit.Entry{ID: commit.EntryID{byte(n + 1)}, Kind: commit.Content, Key: "c:acme:a", Base: int64(n),
			Reach: commit.Reach{Scope: commit.ScopeListed}}
		for i := range each {
			e.Principals = append(e.Principals, fmt.Sprintf("u:acme:%04d", n*each+i))
		}
		finishLater(t, j, e)
	}
	named := 0
	for _, listed := range j.entries {
		e := listed.Entry
		named += len(e.Principals)
		if len(e.Principals) > 1000 {
			t.Errorf("an entry names %d principals", len(e.Principals))
		}
	}
	if len(j.entries) != 3 || named != calls*each {
		t.Errorf("%d entries name %d principals, want 3 and %d", len(j.entries), named, calls*each)
	}
}

// Deferred changes count until they are done, although they are decided. Otherwise they
// could fill the list.
func TestMayDefer_CountsDeferredMoves(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	fill(j, maxUndecided/2)
	for _, e := range j.entries[1:] {
		e.deferred = true
	}
	if !j.MayDefer() {
		t.Errorf("with %d deferred moves none may be deferred", maxUndecided/2-1)
	}
	j.entries[0].deferred = true
	if j.MayDefer() {
		t.Errorf("with %d deferred moves another may be deferred", maxUndecided/2)
	}
}

// Updates of a hot item whose library cannot be written are passed to the background with
// the move that they deferred. They wait as one entry, which is moved and fanned out once.
func TestFinishLater_MergesUpdatesThatDeferredTheirMove(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	for n := range 20 {
		e := commit.Entry{ID: commit.EntryID{byte(n + 1)}, Kind: commit.Content, Key: "c:acme:hot", Base: int64(n), Due: clock.Instant(100 + n),
			Reach: commit.Reach{Scope: commit.ScopeAll}}
		finishLater(t, j, e)
	}
	plain := commit.Entry{ID: commit.EntryID{99}, Kind: commit.Content, Key: "c:acme:hot", Base: 99,
		Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:acme:a"}}}
	finishLater(t, j, plain)
	if len(j.entries) != 2 {
		t.Fatalf("%d entries remain, want one of the updates and one of the share", len(j.entries))
	}
	merged := j.entries[0].Entry
	if merged.Base != 19 || merged.Due == 0 || merged.Scope != commit.ScopeAll {
		t.Errorf("merged: %+v", merged)
	}
}

// A deferred change that failed while the store was down has a long pause. If another update
// defers the same move, it runs at the due time of that update.
func TestDefer_ShortensThePauseOfAFailedMove(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	d := &domain{failing: 9}
	deferMove := func(n byte) {
		t.Helper()
		e := change(n)
		e.Key, e.Due = "c:acme:hot", clock.Of(rt.Now()).Add(time.Minute)
		if err := j.Begin(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		j.Defer(e)
	}
	deferMove(1)
	for d.failing > 0 && t.Context().Err() == nil {
		rt.pass(backOffAtMost)
		if err := j.DoDue(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	deferMove(2)
	rt.pass(time.Minute)
	if err := j.DoDue(t.Context(), d); err != nil || len(d.moved) != 1 {
		t.Errorf("a minute after the update the item has moved %d times, %v", len(d.moved), err)
	}
}
