package library_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// hotPause is how long a hot item keeps its position in these tests.
const hotPause = time.Minute

// hotProcesses are several processes of one store in which every item is hot after its first
// move. Their background work runs only when a test calls DoDue.
type hotProcesses struct {
	*domaintest.Gateways
	passed    time.Duration // on all clocks, since the start
	processes []*hotProcess
}

type hotProcess struct {
	*domaintest.Fixture
	town  *hotProcesses
	clock *domaintest.GatewayClock
	// ahead is how far its wall clock is ahead of the store's.
	ahead time.Duration
}

func newHotTown(t *testing.T) *hotProcesses {
	town := &hotProcesses{Gateways: domaintest.NewGateways(t)}
	p := town.open(0)
	p.User("u:acme:ann", principal.Public)
	p.User("u:acme:ben", principal.Public)
	return town
}

// open starts a process that knows how far its clock is ahead.
func (town *hotProcesses) open(ahead time.Duration) *hotProcess {
	town.T.Helper()
	clock := &domaintest.GatewayClock{Real: sched.NewReal()}
	town.T.Cleanup(clock.Close)
	h := &domaintest.Fixture{T: town.T, Store: town.Store.Store, Runtime: clock.Real}
	h.Journal = journal.New(town.T.Context(), town.Store.Journal, clock, nil)
	p := &hotProcess{Fixture: h, town: town, clock: clock, ahead: ahead}
	town.processes = append(town.processes, p)
	town.at(town.passed)
	h.Services = domaintest.Open(town.T, domain.Config{
		Store: town.Store.Store, Runtime: clock, Journal: h.Journal, Names: &domaintest.CountingNames{}, Remote: true,
		Ahead:  func() time.Duration { return p.ahead },
		Tuning: library.Tuning{HotMoves: 1, HotPause: hotPause},
	})
	return p
}

// at puts all clocks to a time since the start.
func (town *hotProcesses) at(passed time.Duration) {
	for _, p := range town.processes {
		p.clock.Later.Add(int64(passed - town.passed))
		p.clock.Set(town.Start.Add(passed + p.ahead))
	}
	town.passed = passed
}

// hot creates an item of a name and changes it once, so that it is hot.
func (p *hotProcess) hot(name string) library.ContentID {
	p.T.Helper()
	id := p.Note(name, principal.Public, "u:acme:ben=VIEWER")
	p.rename(id, "first")
	if h := p.Content(id); h.Moves != 1 || h.Position != h.LastModified {
		p.T.Fatalf("it has not moved: %+v", h)
	}
	return id
}

func (p *hotProcess) rename(id library.ContentID, title string) {
	p.T.Helper()
	_, err := p.Library.UpdateContent(p.T.Context(), domaintest.As("u:acme:ann"),
		library.UpdateContent{ID: string(id), Title: input.Some(&title)})
	if err != nil {
		p.T.Fatal(err)
	}
}

// due runs the background work that is due, and checks whether the item has
// reached the position of its last change.
func (p *hotProcess) due(id library.ContentID, moved bool) {
	p.T.Helper()
	if err := p.Journal.DoDue(p.T.Context(), p.Services.Background()); err != nil {
		p.T.Fatal(err)
	}
	p.wantMoved(id, moved)
}

func (p *hotProcess) wantMoved(id library.ContentID, moved bool) {
	p.T.Helper()
	if h := p.Content(id); (h.Position == h.LastModified) != moved {
		p.T.Errorf("at %v it is at position %s and was changed at %s, moved: %v", p.town.passed, h.Position, h.LastModified, !moved)
	}
}

// wantClean checks that nothing is in flight, though no process drained, and that all libraries
// are correct.
func (town *hotProcesses) wantClean() {
	town.T.Helper()
	for _, p := range town.processes {
		if err := p.Journal.Beat(town.T.Context()); err != nil {
			town.T.Fatal(err)
		}
	}
	r, err := town.processes[0].Repair.Audit(town.T.Context())
	if err != nil || !r.Clean() || r.InFlight+r.Deferred != 0 {
		town.T.Errorf("the audit found %+v, %v", r, err)
	}
}

// TestHotPause_BeginsWithTheDeferredMove: a hot item that made its deferred move rests for a
// whole pause from then on, although the position it moved to is older.
func TestHotPause_BeginsWithTheDeferredMove(t *testing.T) {
	town := newHotTown(t)
	p := town.processes[0]
	id := p.hot("hot")
	town.at(10 * time.Second)
	p.rename(id, "second")
	town.at(hotPause - time.Microsecond)
	p.due(id, false)
	town.at(hotPause)
	p.due(id, true)
	town.at(hotPause + time.Second)
	p.rename(id, "third")
	town.at(hotPause + 10*time.Second)
	p.due(id, false)
	town.at(2*hotPause - time.Microsecond)
	p.due(id, false)
	town.at(2 * hotPause)
	p.due(id, true)
	town.wantClean()
}

// A second process that holds an older deferred move does not move the item
// within the pause after the first one's move. It keeps the move for later.
func TestHotPause_HoldsForSeveralProcesses(t *testing.T) {
	town := newHotTown(t)
	a, b := town.processes[0], town.open(0)
	id := a.hot("hot")
	town.at(10 * time.Second)
	a.rename(id, "second")
	b.rename(id, "third")
	town.at(hotPause)
	a.due(id, true)
	town.at(hotPause + time.Second)
	a.rename(id, "fourth")
	b.due(id, false)
	town.at(2*hotPause - time.Microsecond)
	b.due(id, false)
	// The move that b put off is still made, without the help of a.
	town.at(2 * hotPause)
	b.due(id, true)
	a.due(id, true)
	town.wantClean()
}

// A process that takes over the deferred move of a dead one makes it when the
// pause is over, and not at once.
func TestHotPause_HoldsForATakeOver(t *testing.T) {
	town := newHotTown(t)
	dead, p := town.processes[0], town.open(0)
	id := dead.hot("hot")
	town.at(10 * time.Second)
	dead.rename(id, "second")
	if err := p.Journal.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	town.at(30 * time.Second)
	if err := p.Journal.Recover(t.Context(), p.Services.Background()); err != nil {
		t.Fatal(err)
	}
	town.processes = town.processes[1:]
	p.wantMoved(id, false)
	inFlightLists, err := town.Store.Journal.InFlightLists(t.Context())
	if err != nil || len(inFlightLists) != 1 || inFlightLists[0].ID != p.Journal.InFlightList() {
		t.Errorf("the lists after the take-over: %+v, %v", inFlightLists, err)
	}
	town.at(hotPause)
	p.due(id, true)
	town.wantClean()
}

// TestHotPause_ResumeEnforcesBeforeTheMove: a process died between its change of a hot item's
// visibility and the fan-out. Resuming the change updates the libraries at once, at the
// position that the item has; only the move waits.
func TestHotPause_ResumeEnforcesBeforeTheMove(t *testing.T) {
	town := newHotTown(t)
	p := town.processes[0]
	id := p.hot("hot")
	h := p.Content(id)
	e := commit.Entry{ID: commit.EntryID{7}, Kind: commit.Content, Key: string(id), Base: h.Seq,
		Due: clock.Of(town.Start.Add(hotPause)), Decided: true,
		Reach: commit.Reach{Scope: commit.ScopeAll, All: true}}
	h.Seq, h.MTS, h.Version, h.Visibility = h.Seq+1, h.MTS+1, h.Version+1, principal.Private
	h.LastModified, h.LoggedInUntil, h.PublicUntil = h.MTS, h.MTS, h.MTS
	title := library.SupersededTitle{At: h.MTS, Title: h.Key(library.ByTitle).Title, Widest: principal.Public}
	if v, err := town.Store.Contents.Commit(t.Context(), &library.ContentCommit{ID: id, Base: e.Base, Header: h,
		SupersedeTitle: &title, Writer: e.ID}); err != nil || !v.Applied {
		t.Fatal(v, err)
	}
	town.at(30 * time.Second)
	if _, err := p.Background().Resume(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	p.wantMoved(id, false)
	if err := p.Journal.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Repair.Audit(t.Context()); err != nil || !r.Clean() || r.Deferred != 1 {
		t.Errorf("before the move the audit found %+v, %v", r, err)
	}
	town.at(hotPause)
	p.due(id, true)
	town.wantClean()
}

// TestHotPause_HoldsForClocksThatDiffer: the pause is the same for processes whose clocks
// differ, if they know by how much.
func TestHotPause_HoldsForClocksThatDiffer(t *testing.T) {
	town := newHotTown(t)
	a, b := town.processes[0], town.open(-5*time.Second)
	id := a.hot("hot")
	town.at(10 * time.Second)
	a.rename(id, "second")
	town.at(hotPause)
	a.due(id, true)
	town.at(hotPause + time.Second)
	b.rename(id, "third")
	town.at(2*hotPause - time.Microsecond)
	b.due(id, false)
	town.at(2 * hotPause)
	b.due(id, true)
	town.at(2*hotPause + time.Second)
	a.rename(id, "fourth")
	town.at(3*hotPause - time.Microsecond)
	a.due(id, false)
	town.at(3 * hotPause)
	a.due(id, true)
	// The same holds after a move that was not deferred.
	other := b.hot("other")
	town.at(3*hotPause + 10*time.Second)
	a.rename(other, "second")
	town.at(4*hotPause - time.Microsecond)
	a.due(other, false)
	town.at(4 * hotPause)
	a.due(other, true)
	town.wantClean()
}

// TestHotPause_IsTheLongestWaitAfterAClockIsSetBack: after a clock is set back, an item that
// moved by the former clock waits at most one pause, whether it was changed before or after the
// correction.
func TestHotPause_IsTheLongestWaitAfterAClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{5 * time.Second, 30 * time.Second, time.Hour} {
		t.Run("changed after "+back.String(), func(t *testing.T) {
			town := newHotTown(t)
			p := town.processes[0]
			id := p.hot("hot")
			town.Start = town.Start.Add(-back)
			town.at(0)
			p.rename(id, "second")
			town.at(hotPause - time.Second)
			p.due(id, false)
			town.at(hotPause)
			p.due(id, true)
			town.wantClean()
		})
	}
	t.Run("changed before", func(t *testing.T) {
		town := newHotTown(t)
		p := town.processes[0]
		id := p.hot("hot")
		town.at(10 * time.Second)
		p.rename(id, "second")
		town.Start = town.Start.Add(-time.Hour)
		town.at(hotPause - time.Second)
		p.due(id, false)
		town.at(hotPause)
		p.due(id, true)
		town.wantClean()
	})
}

// refusing is a journal that records no change.
type refusing struct{ commit.Journal }

var errRefused = errors.New("the change could not be recorded")

func (refusing) Begin(context.Context, commit.Entry) error { return errRefused }

// TestMove_FailsWhereItCannotBePutOff: a move that is deferred again and cannot be recorded
// fails, so that its former entry is kept.
func TestMove_FailsWhereItCannotBePutOff(t *testing.T) {
	town := newHotTown(t)
	p := town.processes[0]
	id := p.hot("hot")
	town.at(10 * time.Second)
	p.rename(id, "second")
	svc := domaintest.Open(t, domain.Config{
		Store: town.Store.Store, Runtime: p.clock, Journal: refusing{p.Journal}, Names: &domaintest.CountingNames{},
		Tuning: library.Tuning{HotMoves: 1, HotPause: hotPause},
	})
	if moved, err := svc.Library.Move(t.Context(), id, false); moved || !errors.Is(err, errRefused) {
		t.Errorf("moved: %t, %v", moved, err)
	}
	town.at(hotPause)
	p.due(id, true)
	town.wantClean()
}

// TestMove_WaitsForUnsettledPositions: a move waits while the former positions of the item are
// not cleaned up, because each index update deletes all of them. Then it is
// made.
func TestMove_WaitsForUnsettledPositions(t *testing.T) {
	town := newHotTown(t)
	p := town.processes[0]
	id := p.Note("unsettled", principal.Public)
	h := p.Content(id)
	var left []clock.Instant
	for range 16 {
		left = append(left, h.Position)
		base, former := h.Seq, library.Superseded{Position: h.Position, Widest: h.Widest}
		h.Seq, h.MTS, h.Position = h.Seq+1, h.MTS+10, h.MTS+10
		h.LastModified = h.MTS + 5
		v, err := town.Store.Contents.Commit(t.Context(), &library.ContentCommit{ID: id, Base: base, Header: h,
			Supersede: &former, Writer: commit.EntryID{byte(h.Seq)}})
		if err != nil || !v.Applied {
			t.Fatal(v, err)
		}
		h.Unsettled = append(h.Unsettled, former)
	}
	if moved, err := p.Library.Move(t.Context(), id, false); moved || err != nil || p.Journal.Stats().Deferred != 1 {
		t.Errorf("moved %v, %v, deferred %d", moved, err, p.Journal.Stats().Deferred)
	}
	if err := town.Store.Contents.CleanUp(t.Context(), &library.Cleanup{ID: id, Positions: left}); err != nil {
		t.Fatal(err)
	}
	town.at(hotPause)
	p.due(id, true)
}
