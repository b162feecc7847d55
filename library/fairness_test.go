package library_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/input"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// doorkeeper is a store that, once it is shut, lets one write of a library pass for each value sent to next.
type doorkeeper struct {
	library.ContentStore
	shut   atomic.Bool
	passed chan string // who caused the writes, in order
	next   chan struct{}
}

// ApplyIndexBatch implements library.ContentStore: a write for each library, as on a cluster.
func (s *doorkeeper) ApplyIndexBatch() int { return 1 }

func (s *doorkeeper) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	if s.shut.Load() {
		s.passed <- string(e.Causes.By)
		<-s.next
	}
	return s.ContentStore.ApplyIndex(ctx, e)
}

// waiting is a Runtime that counts who waits.
type waiting struct {
	*sched.Real
	n atomic.Int64
}

func (w *waiting) Wait(ctx context.Context, l sched.Latch, within time.Duration) (bool, error) {
	w.n.Add(1)
	defer w.n.Add(-1)
	return w.Real.Wait(ctx, l, within)
}

// TestFanOut_WaitsForNoOtherAccount: the change of an item with one member does not wait until that of an item with
// 60 has reached all of them.
func TestFanOut_WaitsForNoOtherAccount(t *testing.T) {
	h := domaintest.New(t, nil)
	store, door := h.Store, &doorkeeper{ContentStore: h.Store.Contents, passed: make(chan string), next: make(chan struct{})}
	store.Contents = door
	rt := &waiting{Real: h.Runtime}
	h.Services = domaintest.Open(t, domain.Config{
		Store: store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}, Remote: true,
		Tuning: library.Tuning{ProcessWidth: 1},
	})
	const members = 60
	many := []string{"u:acme:ann=MANAGER"}
	for n := range members {
		id := fmt.Sprintf("u:acme:m%02d", n)
		h.User(id, principal.Public)
		many = append(many, id+"=VIEWER")
	}
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	large, small := h.Note("large", principal.Private, many...), h.Note("small", principal.Private, "u:acme:bob=MANAGER")
	h.Quiet()
	door.shut.Store(true)
	rename := func(user string, id library.ContentID) {
		title := "new"
		in := library.UpdateContent{ID: string(id), Title: input.Some(&title)}
		if _, err := h.Library.UpdateContent(t.Context(), domaintest.As(user), in); err != nil {
			t.Error(err)
		}
	}
	h.Runtime.Go(func() { rename("u:acme:ann", large) })
	until := func(n int64) { // n writes wait
		for deadline := time.Now().Add(20 * time.Second); rt.n.Load() < n && time.Now().Before(deadline); {
			_ = h.Runtime.After(t.Context(), time.Millisecond)
		}
	}
	most := members - 10 // of ann's writes some come before the others
	for range 4 {
		<-door.passed
		door.next <- struct{}{}
	}
	<-door.passed
	until(int64(most))
	h.Runtime.Go(func() { rename("u:acme:bob", small) })
	before := 0
	for by := ""; by != "u:acme:bob" && before < most; before++ {
		_ = h.Runtime.After(t.Context(), 20*time.Millisecond) // until bob's write waits, too
		door.next <- struct{}{}
		by = <-door.passed
	}
	if before == most {
		t.Errorf("the change of bob waits for %d writes of ann", before)
	}
	door.shut.Store(false)
	close(door.next)
	h.Runtime.Go(func() {
		for range door.passed { // those that were on the way to the door
		}
	})
	h.Quiet()
	close(door.passed)
}
