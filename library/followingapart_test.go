package library_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
	"carrel/test/simulator"
)

// dial is a runtime with a clock that stands where it is put, and without long
// pauses.
type dial struct {
	*sched.Real
	at atomic.Int64
	// later is how far its monotonic clock was put on.
	later atomic.Int64
	kept  atomic.Pointer[kept]
}

// kept is somebody who does not notice that a wait of its has ended before it is
// let go.
type kept struct {
	ctx         context.Context // by which it is known
	waits, free chan struct{}   // waits is closed when it begins to wait
}

// keep keeps whoever waits with ctx.
func (d *dial) keep(ctx context.Context) *kept {
	k := &kept{ctx, make(chan struct{}), make(chan struct{})}
	d.kept.Store(k)
	return k
}

func (d *dial) Wait(ctx context.Context, l sched.Latch, within time.Duration) (bool, error) {
	k := d.kept.Load()
	if k == nil || k.ctx != ctx {
		return d.Real.Wait(ctx, l, within)
	}
	d.kept.Store(nil)
	close(k.waits)
	opened, err := d.Real.Wait(ctx, l, within)
	<-k.free
	return opened, err
}

func (d *dial) Elapsed() time.Duration {
	return d.Real.Elapsed() + time.Duration(d.later.Load())
}

func (d *dial) Now() time.Time { return clock.Instant(d.at.Load()).Time() }

func (d *dial) put(at time.Time) { d.at.Store(int64(clock.Of(at))) }

func (d *dial) After(ctx context.Context, pause time.Duration) error {
	return d.Real.After(ctx, min(pause, 5*time.Millisecond))
}

// gateways are processes of one store that several may use.
type gateways struct {
	t     *testing.T
	store *simulator.Client
	start time.Time // of a minute
	// bulletin is that of the gateways opened from now on, and way how they reach
	// the store.
	bulletin library.Bulletin
	way      backend.Store
}

func newGateways(t *testing.T) *gateways {
	store := simulator.NewClient(simulator.NewStore(nil), nil)
	return &gateways{t, store, time.Now().Truncate(time.Minute), store, store}
}

// open opens a gateway with a clock that is ahead, and knows it. A mute one dies
// before it announces anything.
func (g *gateways) open(ahead time.Duration, mute bool) (*house, *dial) {
	g.t.Helper()
	clock := &dial{Real: sched.NewReal()}
	g.t.Cleanup(clock.Close)
	clock.put(g.start.Add(ahead))
	h := &house{t: g.t, store: g.way, runtime: clock.Real}
	h.journal = journal.New(g.t.Context(), g.way, clock, nil, commit.WholeProtocol)
	c := backend.Config{Store: g.way, Runtime: clock, Journal: h.journal, Names: &counting{}, Remote: true,
		Ahead: func() time.Duration { return ahead }}
	if !mute {
		c.Bulletin = g.bulletin
	}
	h.svc = backendtest.Open(g.t, c)
	return h, clock
}

// TestAnEventsCursorStandsForWhatWasTold: what another gateway has changed
// without announcing it is found by the next full look, when a good minute of
// its own changes has been told already. Whoever resumes after one of those must
// be told of it.
func TestAnEventsCursorStandsForWhatWasTold(t *testing.T) {
	g := newGateways(t)
	here, clock := g.open(0, false)
	other, its := g.open(0, true)
	here.user("u:acme:ann", principal.Public)
	f := here.follows(as("u:acme:ann"), "u:acme:ann", "")
	its.put(g.start.Add(time.Minute - time.Second))
	other.note("late", principal.Private)
	clock.put(g.start.Add(2*time.Minute + time.Millisecond))
	here.note("told", principal.Private)
	f.wants("+told")
	f.Close()
	here.follows(as("u:acme:ann"), "u:acme:ann", f.cursor).wants("+late", "+told")
}

// heldUp is a bulletin that keeps whoever announces first until it is let go.
type heldUp struct {
	library.Bulletin
	once          sync.Once
	reached, free chan struct{}
}

func (h *heldUp) Announce(ctx context.Context, a library.Announcement) error {
	h.once.Do(func() {
		close(h.reached)
		<-h.free
	})
	return h.Bulletin.Announce(ctx, a)
}

// TestWhatWasNeverAnnouncedIsNotTooOld: a process that is held up between a
// change and its announcement, for longer than announcements stand, announces it
// all the same.
func TestWhatWasNeverAnnouncedIsNotTooOld(t *testing.T) {
	g := newGateways(t)
	here, _ := g.open(0, false)
	held := &heldUp{Bulletin: g.store, reached: make(chan struct{}), free: make(chan struct{})}
	g.bulletin = held
	other, its := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	here.user("u:acme:ben", principal.Public)
	f := here.follows(as("u:acme:ben"), "u:acme:ben", "")
	other.note("first", principal.Private) // in the library of ann alone
	<-held.reached
	other.note("late", principal.Private, "u:acme:ben=VIEWER")
	its.put(g.start.Add(time.Minute))
	close(held.free)
	f.wants("+late")
}

// TestANewStoreHasAllItsChanges: a store that was made by a gateway whose clock is
// ahead is followed through others from the first cursor on.
func TestANewStoreHasAllItsChanges(t *testing.T) {
	g := newGateways(t)
	g.open(2*time.Minute, false)
	here, _ := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	f := here.follows(as("u:acme:ann"), "u:acme:ann", "")
	here.note("first", principal.Private)
	f.wants("+first")
	f.Close()
	here.note("missed", principal.Private)
	here.follows(as("u:acme:ann"), "u:acme:ann", f.cursor).wants("+first", "+missed")
}

// TestClocksApart: what is changed, read and followed through gateways whose
// clocks are minutes apart is told all the same, as long as they know it.
func TestClocksApart(t *testing.T) {
	g := newGateways(t)
	right, _ := g.open(0, false)
	ahead, _ := g.open(5*time.Minute, false)
	behind, _ := g.open(-5*time.Minute, false)
	right.user("u:acme:ann", principal.Public)
	there, here := ahead.follows(as("u:acme:ann"), "u:acme:ann", ""), right.follows(as("u:acme:ann"), "u:acme:ann", "")
	right.note("a", principal.Private)
	there.wants("+a")
	here.wants("+a")
	conn, err := ahead.svc.Library(t.Context(), as("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	behind.note("b", principal.Private)
	there.wants("+b")
	here.wants("+b")
	right.note("c", principal.Private)
	right.follows(as("u:acme:ann"), "u:acme:ann", conn.Edges[0].Cursor()).wants("+a", "+b", "+c")
}

// TestACursorOfATimeToCome: after a clock has gone back, what is changed since
// stands before the time of older cursors.
func TestACursorOfATimeToCome(t *testing.T) {
	h := town(t)
	owner := "u:acme:ben"
	h.note("a", principal.Public, owner+"=VIEWER")
	conn, err := h.in(10*time.Minute).Library(t.Context(), as(owner), principal.ID(owner), library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.svc.Follow(t.Context(), as(owner), owner, ptr(conn.Edges[0].Cursor()))
	if err == nil {
		f.Close()
	}
	wantTold(t, err, "RESYNC")
}

// trap is a store where something happens just before an item is read.
type trap struct {
	backend.Store
	mu     sync.Mutex
	before func()
}

func (s *trap) set(before func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *trap) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.mu.Lock()
	before := s.before
	s.before = nil
	s.mu.Unlock()
	if before != nil {
		before()
	}
	return s.Store.ReadMany(ctx, ids, members)
}

// TestWhoHasLostItsRightsIsNotShownWhatCameAfter, not even where it loses them
// while it is told.
func TestWhoHasLostItsRightsIsNotShownWhatCameAfter(t *testing.T) {
	var store *trap
	h := newHouse(t, func(s backend.Store) backend.Store { store = &trap{Store: s}; return store })
	for _, id := range []string{"u:acme:ann", "u:acme:ben"} {
		h.user(id, principal.Public)
	}
	h.group("g:acme:team", "u:acme:ann", principal.Public)
	h.mustSet(as("u:acme:ann"), "g:acme:team", "u:acme:ben=MEMBER")
	f := h.follows(as("u:acme:ben"), "g:acme:team", "")
	a := h.note("a", principal.Private, "g:acme:team=VIEWER")
	f.wants("+a")
	h.update(a, "a2", 0)
	store.set(func() {
		h.mustSet(as("u:acme:ann"), "g:acme:team", "u:acme:ben=")
		h.update(a, "secret", 0)
	})
	f.wants("![RESYNC]")
}

// TestWhatAPageHasShownIsTakenBack: a client may look at a page while it
// follows. What that shows and has left since is told, also where the client was
// told once before that it had left.
func TestWhatAPageHasShownIsTakenBack(t *testing.T) {
	h := town(t)
	owner := "u:acme:ben"
	f := h.follows(as(owner), owner, "")
	a := h.note("a", principal.Private, owner+"=VIEWER")
	f.wants("+a")
	h.take(a, owner)
	f.wants("-a")
	if _, err := h.share("u:acme:ann", a, owner); err != nil {
		t.Fatal(err)
	}
	h.wantTitles(as(owner), owner, "a")
	h.take(a, owner)
	f.wants("-a")
	h.update(a, "a2", principal.Public)
	f.wantsNothing(h, owner)
}

// TestWhatAPageMayHaveLeftOutIsToldAgain: an event shows an item as it is, which
// may be ahead of the library. Until the library has followed, a page leaves the
// item out unless it reaches the newest end.
func TestWhatAPageMayHaveLeftOutIsToldAgain(t *testing.T) {
	var store *stuck
	h := newHouse(t, func(s backend.Store) backend.Store { store = &stuck{Store: s}; return store })
	for _, id := range []string{"u:acme:ann", "u:acme:ben"} {
		h.user(id, principal.Public)
	}
	owner := "u:acme:ben"
	f := h.follows(as(owner), owner, "")
	a := h.note("a", principal.Private, owner+"=VIEWER")
	store.hold(owner)
	h.update(a, "a2", 0)
	f.wants("+a2")
	h.wantTitles(as(owner), owner, "a2")
	store.hold("")
	h.quiet()
	f.wants("+a2")
	h.wantTitles(as(owner), owner, "a2")
	f.wantsNothing(h, owner)
}
