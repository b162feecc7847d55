package commit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/sched"
)

// listsStore returns its lists as they were when the read began, once pass allows that.
type listsStore struct {
	commit.JournalStore
	sent chan struct{} // receives when a read has begun and has seen the lists
	pass chan struct{} // each value lets one read return

	mu            sync.Mutex
	inFlightLists []commit.InFlightList
	err           error
}

func (s *listsStore) InFlight(context.Context) ([]commit.InFlightList, error) {
	s.mu.Lock()
	inFlightLists, err := s.inFlightLists, s.err
	s.mu.Unlock()
	s.sent <- struct{}{}
	<-s.pass
	return inFlightLists, err
}

func (s *listsStore) set(t *testing.T, entries ...commit.Entry) {
	t.Helper()
	block, err := commit.Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlightLists = []commit.InFlightList{{ID: "empty"}, {ID: "other", Stamp: 1, Block: block}}
}

// steppedClock is a Runtime whose monotonic clock the test sets.
type steppedClock struct {
	*sched.Real
	mu      sync.Mutex
	elapsed time.Duration
}

func (c *steppedClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

func newReader(t *testing.T) (*listsStore, *steppedClock, *commit.InFlightReader) {
	t.Helper()
	rt := &steppedClock{Real: sched.NewReal(), elapsed: time.Hour}
	t.Cleanup(rt.Close)
	store := &listsStore{sent: make(chan struct{}, 10), pass: make(chan struct{}, 10)}
	return store, rt, commit.NewInFlightReader(t.Context(), store, rt)
}

// answer is the result of reading the set.
type answer struct {
	set *commit.InFlightSet
	err error
}

func read(ctx context.Context, r *commit.InFlightReader) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		set, err := r.Read(ctx)
		got <- answer{set, err}
	}()
	return got
}

// A read that was sent before a request arrived may miss a change that was decided before the
// request, so requests that arrive during it share the next read.
func TestInFlightReader_RequestNeverJoinsARunningRead(t *testing.T) {
	store, _, r := newReader(t)
	store.set(t)
	first := read(t.Context(), r)
	<-store.sent
	store.set(t, commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: "c:t:a"},
		commit.Entry{ID: commit.EntryID{2}, Kind: commit.Principal, Key: "u:t:b"})
	var later []<-chan answer
	for range 5 {
		later = append(later, read(t.Context(), r))
	}
	store.pass <- struct{}{}
	if a := <-first; a.err != nil || a.set.Has(commit.Content, "c:t:a") || a.set.Size() != 0 {
		t.Errorf("the first request got %+v", a)
	}
	// All requests that arrived before the second read share it; the others share the third.
	for range later {
		store.pass <- struct{}{}
	}
	for _, l := range later {
		a := <-l
		if a.err != nil || !a.set.Has(commit.Content, "c:t:a") || !a.set.Has(commit.Principal, "u:t:b") || a.set.Has(commit.Content, "u:t:b") {
			t.Errorf("a request that came after the change got %+v", a)
		}
	}
	if r.Size() != 2 {
		t.Errorf("the size is %d, want 2", r.Size())
	}
}

func TestInFlightSet_MayHaveChangedWhatLingers(t *testing.T) {
	pending := commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "u:t:pending"}
	ended := commit.Entry{Kind: commit.Principal, Key: "u:t:ended", Decided: true, Ended: true}
	all := ended
	all.Key = ""
	again := ended
	again.Key = pending.Key
	for name, c := range map[string]struct {
		entries []commit.Entry
		changed []string
		pending int
	}{
		"nothing":              {},
		"a pending change":     {entries: []commit.Entry{pending}, changed: []string{"u:t:pending"}, pending: 1},
		"an ended change":      {entries: []commit.Entry{ended}, changed: []string{"u:t:ended"}},
		"both of one":          {entries: []commit.Entry{pending, again, pending}, changed: []string{"u:t:pending"}, pending: 1},
		"ended before pending": {entries: []commit.Entry{again, pending}, changed: []string{"u:t:pending"}, pending: 1},
		"too many":             {entries: []commit.Entry{all}, changed: []string{"u:t:pending", "u:t:ended", "u:t:other"}},
	} {
		t.Run(name, func(t *testing.T) {
			store, _, r := newReader(t)
			store.set(t, c.entries...)
			store.pass <- struct{}{}
			a := <-read(t.Context(), r)
			if a.err != nil || a.set.Size() != c.pending {
				t.Fatalf("%d are pending, want %d: %v", a.set.Size(), c.pending, a.err)
			}
			for _, key := range []string{"u:t:pending", "u:t:ended", "u:t:other"} {
				if got := a.set.MayHaveChanged(commit.Principal, key); got != slices.Contains(c.changed, key) {
					t.Errorf("%s may have changed: %v", key, got)
				}
			}
			if a.set.Has(commit.Principal, "u:t:ended") || a.set.Has(commit.Content, "u:t:pending") {
				t.Error("a change is pending that is not")
			}
		})
	}
}

func TestInFlightReader_WaitingRequestsShareTheNextRead(t *testing.T) {
	store, _, r := newReader(t)
	store.set(t)
	first := read(t.Context(), r)
	<-store.sent
	// These requests run one after the other in this goroutine: a request whose context has
	// ended does not wait, but the read that it requested still happens.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if _, err := r.Read(ended); !errors.Is(err, context.Canceled) {
			t.Fatalf("a request that has ended got %v", err)
		}
	}
	store.pass <- struct{}{}
	<-first
	<-store.sent
	store.pass <- struct{}{}
	select {
	case <-store.sent:
		t.Error("three concurrent requests have read the set more than once")
	case a := <-readAgain(t, store, r):
		if a.err != nil {
			t.Error(a.err)
		}
	}
}

// readAgain makes one more read, and returns its answer.
func readAgain(t *testing.T, store *listsStore, r *commit.InFlightReader) <-chan answer {
	t.Helper()
	got := make(chan answer, 1)
	go func() {
		set, err := r.Read(t.Context())
		got <- answer{set, err}
	}()
	<-store.sent
	store.pass <- struct{}{}
	return got
}

func TestInFlightReader_ReturnsErrors(t *testing.T) {
	store, _, r := newReader(t)
	want := errors.New("no answer")
	store.err = want
	store.pass <- struct{}{}
	if _, err := r.Read(t.Context()); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	store.err = nil
	store.inFlightLists = []commit.InFlightList{{ID: "damaged", Block: []byte{9, 9}}}
	store.pass <- struct{}{}
	if set, err := r.Read(t.Context()); err == nil {
		t.Errorf("a list that cannot be decoded returns %+v", set)
	}
}

func TestInFlightReader_PausesAfterALargeSet(t *testing.T) {
	store, rt, r := newReader(t)
	var entries []commit.Entry
	for n := range 5001 {
		entries = append(entries, commit.Entry{ID: commit.EntryID{byte(n), byte(n >> 8)}, Kind: commit.Content, Key: fmt.Sprintf("c:t:%d", n)})
	}
	read := func() error {
		store.pass <- struct{}{}
		_, err := r.Read(t.Context())
		if err == nil {
			<-store.sent
		} else {
			<-store.pass
		}
		return err
	}
	store.set(t, entries[:5000]...)
	if err := errors.Join(read(), read()); err != nil {
		t.Errorf("a set of 5000: %v", err)
	}
	store.set(t, entries...)
	if err := read(); err != nil {
		t.Errorf("the read that finds the set large: %v", err)
	}
	if read() == nil {
		t.Error("a large set is read again at once")
	}
	rt.mu.Lock()
	rt.elapsed += 10 * time.Second
	rt.mu.Unlock()
	if err := read(); err != nil {
		t.Errorf("ten seconds later: %v", err)
	}
}

// setMany sets n empty lists.
func (s *listsStore) setMany(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlightLists = make([]commit.InFlightList, n)
}

// pausingClock is a steppedClock whose pauses end when the test lets them.
type pausingClock struct {
	*steppedClock
	paused chan time.Duration
	goOn   chan struct{}
}

func (c *pausingClock) After(_ context.Context, d time.Duration) error {
	c.paused <- d
	<-c.goOn
	return nil
}

func (c *steppedClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}

// With more processes each read costs more, and more of them read. The interval begins with the
// start of the read before.
func TestInFlightReader_PausesIfManyProcessesHaveLists(t *testing.T) {
	for _, tc := range []struct {
		lists           int
		took, want      time.Duration
		pauses, refuses bool
	}{
		{lists: 10},
		{lists: 16},
		{lists: 17, took: 100 * time.Microsecond, want: 948_333 * time.Nanosecond, pauses: true},
		{lists: 100, took: 5 * time.Millisecond, want: 15 * time.Millisecond, pauses: true},
		{lists: 100, took: 20 * time.Millisecond},
		{lists: 235, want: 99_875 * time.Microsecond, pauses: true},
		{lists: 236, refuses: true},
		{lists: 1000, refuses: true},
	} {
		t.Run(fmt.Sprintf("%d after %s", tc.lists, tc.took), func(t *testing.T) {
			store, stepped, _ := newReader(t)
			rt := &pausingClock{steppedClock: stepped, paused: make(chan time.Duration, 1), goOn: make(chan struct{})}
			r := commit.NewInFlightReader(t.Context(), store, rt)
			store.setMany(tc.lists)
			first := read(t.Context(), r)
			<-store.sent
			rt.advance(tc.took)
			store.pass <- struct{}{}
			if a := <-first; a.err != nil {
				t.Fatal(a.err)
			}
			if tc.refuses {
				if _, err := r.Read(t.Context()); err == nil {
					t.Error("lists of too many processes are read again without a pause")
				}
				rt.advance(10 * time.Second)
			}
			second := read(t.Context(), r)
			select {
			case <-store.sent:
				if tc.pauses {
					t.Errorf("no pause, want %s", tc.want)
				}
			case pause := <-rt.paused:
				if !tc.pauses || pause != tc.want {
					t.Errorf("the pause is %s, want %s", pause, tc.want)
				}
				if len(store.sent) > 0 {
					t.Error("a read began during a pause")
				}
				rt.goOn <- struct{}{}
				<-store.sent
			}
			store.pass <- struct{}{}
			if a := <-second; a.err != nil {
				t.Error(a.err)
			}
		})
	}
}

// waitingContext reports when something waits for its end.
type waitingContext struct {
	context.Context
	waited chan struct{}
}

func (c *waitingContext) Done() <-chan struct{} {
	select {
	case c.waited <- struct{}{}:
	default:
	}
	return c.Context.Done()
}

// A request that waits for the next read when reads are paused fails at once, so that it can read
// headers instead of waiting for a long interval.
func TestInFlightReader_RefusesWaitingRequestsIfSetsAreNotRead(t *testing.T) {
	store, stepped, _ := newReader(t)
	rt := &pausingClock{steppedClock: stepped, paused: make(chan time.Duration, 1), goOn: make(chan struct{}, 1)}
	r := commit.NewInFlightReader(t.Context(), store, rt)
	store.setMany(1000)
	first := read(t.Context(), r)
	<-store.sent
	waits := &waitingContext{t.Context(), make(chan struct{}, 1)}
	second := read(waits, r)
	<-waits.waited
	store.pass <- struct{}{}
	if a := <-first; a.err != nil {
		t.Fatal(a.err)
	}
	select {
	case a := <-second:
		if a.err == nil {
			t.Error("the set was read again without a pause")
		}
	case pause := <-rt.paused:
		t.Errorf("a request waits %s for the next read", pause)
		rt.goOn <- struct{}{}
		store.pass <- struct{}{}
		<-second
	}
	rt.advance(10 * time.Second)
	store.pass <- struct{}{}
	if _, err := r.Read(t.Context()); err != nil {
		t.Errorf("ten seconds later: %v", err)
	}
}

// Requests that arrive during a pause share the read after it.
func TestInFlightReader_SharesTheReadAfterAPause(t *testing.T) {
	store, stepped, _ := newReader(t)
	rt := &pausingClock{steppedClock: stepped, paused: make(chan time.Duration, 1), goOn: make(chan struct{})}
	r := commit.NewInFlightReader(t.Context(), store, rt)
	store.setMany(100)
	store.pass <- struct{}{}
	if _, err := r.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-store.sent
	second := read(t.Context(), r)
	<-rt.paused
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("a request that has ended got %v", err)
	}
	store.set(t, commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: "c:t:a"})
	rt.goOn <- struct{}{}
	<-store.sent
	store.pass <- struct{}{}
	if a := <-second; a.err != nil || !a.set.Has(commit.Content, "c:t:a") {
		t.Errorf("a request that waited for the pause got %+v", a)
	}
	select {
	case <-store.sent:
		t.Error("two requests during one pause made two reads")
	case <-rt.paused:
		t.Error("a pause without a request")
	default:
	}
}
