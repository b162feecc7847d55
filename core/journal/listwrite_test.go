package journal

import (
	"context"
	"runtime"
	"testing"

	"carrel/core/commit"
	"carrel/core/fault"
)

// heldWrites is a store whose writes of lists end one at a time.
type heldWrites struct {
	commit.JournalStore
	sent chan []commit.Entry // what a write holds, when it is sent
	pass chan struct{}       // a write may be acknowledged
}

func (h *heldWrites) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	entries, err := commit.Decode(l.Block)
	if err != nil {
		return err
	}
	select {
	case h.sent <- entries:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-h.pass:
	case <-ctx.Done(): // the test has failed
		return ctx.Err()
	}
	return h.JournalStore.PutInFlightList(ctx, l)
}

// A change that begins while the list is being written is not in that copy, so Begin must wait
// for the next write. Random schedules of the simulator rarely find a mistake here.
func TestBegin_DuringAWriteWaitsForTheNextOne(t *testing.T) {
	opened, rt := open(t)
	store := &heldWrites{JournalStore: opened.Journal, sent: make(chan []commit.Entry), pass: make(chan struct{})}
	j := New(t.Context(), store, rt, nil)
	begin := func(ctx context.Context, n byte) <-chan error {
		done := make(chan error, 1)
		go func() {
			done <- j.Begin(ctx, commit.Entry{ID: commit.EntryID{n}, Kind: commit.Content, Key: "c:acme:x",
				Reach: commit.Reach{Scope: commit.ScopeAll}})
		}()
		return done
	}
	// In a single round a goroutine may be so late that it hides the mistake.
	for n := byte(0); n < 40; n += 2 {
		first := begin(t.Context(), n)
		if entries := <-store.sent; len(entries) != 1 {
			t.Fatalf("the first write contains %d entries", len(entries))
		}
		ctx, leave := context.WithCancel(t.Context())
		second := begin(ctx, n+1)
		for j.Stats().Entries < 2 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		store.pass <- struct{}{}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if entries := <-store.sent; len(entries) != 2 || entries[1].ID != (commit.EntryID{n + 1}) {
			t.Errorf("the second write contains %d entries", len(entries))
		}
		// It still waits for the second write, so it ends with its context.
		leave()
		if err := <-second; fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("Begin of the second change returned before a write with its entry was acknowledged: %v", err)
		}
		store.pass <- struct{}{}
		j.End(commit.EntryID{n})
		beat := make(chan error, 1)
		go func() { beat <- j.Beat(t.Context()) }()
		if entries := <-store.sent; len(entries) != 0 {
			t.Fatalf("%d entries remain", len(entries))
		}
		store.pass <- struct{}{}
		if err := <-beat; err != nil {
			t.Fatal(err)
		}
	}
}
