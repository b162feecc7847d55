package library_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/input"
	"carrel/core/journal"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// watching records what a Service reports.
type watching struct {
	library.Unwatched
	mu   sync.Mutex
	lags []time.Duration
	left int

	following, delivered, cutOff int
	walks, merged, failed        int
}

func (w *watching) Follows(n int) { w.count(func() { w.following += n }) }
func (w *watching) Delivered()    { w.count(func() { w.delivered++ }) }
func (w *watching) CutOff()       { w.count(func() { w.cutOff++ }) }

func (w *watching) count(add func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add()
}

func (w *watching) FannedOut(lag time.Duration, complete bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lags = append(w.lags, lag); !complete {
		w.left++
	}
}

func (w *watching) FanOut(ctx context.Context, others []context.Context) (context.Context, func(error)) {
	return ctx, func(err error) {
		w.count(func() {
			w.walks++
			w.merged += len(others)
			if err != nil {
				w.failed++
			}
		})
	}
}

func TestWatcher_ReportsFanOuts(t *testing.T) {
	h := domaintest.Town(t)
	w := &watching{}
	svc := domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Names: &domaintest.CountingNames{}, Watch: w,
		Journal: journal.New(t.Context(), h.Store.Journal, h.Runtime, nil),
	})
	for n := range 3 {
		if _, err := svc.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.CreateContent{Kind: library.Note, Title: "t", Visibility: principal.Public}); err != nil {
			t.Fatalf("creation %d: %v", n, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lags) != 3 || w.left != 0 {
		t.Errorf("%d fan-outs were reported, %d of them handed to the background", len(w.lags), w.left)
	}
	if w.walks != 3 || w.merged != 0 || w.failed != 0 {
		t.Errorf("%d fan-outs were started for one mutation each, %d for others too, %d have failed; want 3, 0, 0", w.walks, w.merged, w.failed)
	}
	for _, lag := range w.lags {
		if lag < 0 || lag > time.Minute {
			t.Errorf("a lag of %s", lag)
		}
	}
}

// slowLibrary delays writes to the library of a principal.
type slowLibrary struct {
	library.ContentStore
	of      principal.ID
	slow    atomic.Bool
	release chan struct{}
}

func (s *slowLibrary) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	if s.slow.Load() && slices.ContainsFunc(e.Rows, func(m library.Member) bool { return m.Principal == s.of }) {
		<-s.release
	}
	return s.ContentStore.ApplyIndex(ctx, e)
}

// TestFanOuts_WaitingAreMerged: changes of an item that come during one of its fan-outs cost one
// walk together, and their actors do not wait for it.
func TestFanOuts_WaitingAreMerged(t *testing.T) {
	slow := &slowLibrary{of: "u:acme:ben", release: make(chan struct{})}
	h := domaintest.New(t, func(s *domain.Store) { slow.ContentStore, s.Contents = s.Contents, slow })
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:ben", principal.Public)
	w := &watching{}
	svc := domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Names: &domaintest.CountingNames{}, Watch: w, Journal: h.Journal,
		Tuning: library.Tuning{AnswerWithin: time.Nanosecond},
	})
	out, err := svc.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
		Kind: library.Note, Title: "0", Visibility: principal.Public, Members: domaintest.MemberChanges("u:acme:ben=VIEWER")})
	if err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	slow.slow.Store(true)
	for _, title := range []string{"1", "2", "3"} {
		out, err := svc.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(out.ID), Title: input.Some(&title)})
		if err != nil || out.FanOut.Complete {
			t.Fatalf("update %s: %+v, %v", title, out, err)
		}
		h.WantTitles(domaintest.As("u:acme:ann"), "u:acme:ann", title)
	}
	close(slow.release)
	h.Quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.walks != 3 || w.merged != 1 || len(w.lags) != 4 {
		t.Errorf("%d walks for %d changes, %d of them with another; want 3 for 4, 1 of them with another", w.walks, len(w.lags), w.merged)
	}
	h.WantClean()
}
