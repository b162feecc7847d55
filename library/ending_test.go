package library_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// jammed is a store in which, from some time on, only ann's library can be written. All other
// writes block until they are released.
type jammed struct {
	library.ContentStore
	down  atomic.Bool
	tries atomic.Int64
	most  int64
	// full is closed when the maximum number of concurrent tries is reached.
	full, free chan struct{}
}

func (s *jammed) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	if !s.down.Load() || e.Rows[0].Principal == "u:acme:ann" {
		return s.ContentStore.ApplyIndex(ctx, e)
	}
	if s.tries.Add(1) == s.most {
		close(s.full)
	}
	<-s.free
	return domaintest.ErrDown
}

// TestDrain_InterruptedFanOutIsFinishedByTheNextProcess: after the time that changes in flight have
// to finish, no library is written any more. The next process does the rest.
func TestDrain_InterruptedFanOutIsFinishedByTheNextProcess(t *testing.T) {
	g := domaintest.NewGateways(t)
	const width, members = 64, 70
	store := &jammed{ContentStore: g.Through.Contents, most: width, full: make(chan struct{}), free: make(chan struct{})}
	g.Through.Contents = store
	here, clock := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	var all []string
	for n := range members {
		id := fmt.Sprintf("u:acme:m%02d", n)
		here.User(id, principal.Public)
		all = append(all, id+"=VIEWER")
	}
	id := here.Note("a", principal.Private, all...)
	store.down.Store(true)
	here.Update(id, "a2", 0)
	<-store.full
	here.Engine.End()
	clock.Later.Store(int64(time.Minute))
	close(store.free)
	clock.Close()
	if n := store.tries.Load(); n != width {
		t.Errorf("%d tries to write a library, want the %d that were under way", n, width)
	}
	if entries := here.Journal.Stats().Entries; entries != 1 {
		t.Errorf("%d changes remain for the next process, want 1", entries)
	}
}
