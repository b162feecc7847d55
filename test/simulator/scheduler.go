package simulator

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"
)

// Scheduler runs tasks one at a time. Each task is a coroutine that yields at store calls and
// Runtime waits, and nowhere else; the seed decides which one continues. A Scheduler is reused
// for many runs: Reset keeps its coroutines.
type Scheduler struct {
	rng     *rand.Rand
	pcg     *rand.PCG
	now     time.Duration // true time since the epoch of the simulation
	steps   int
	limit   int // of steps, against livelock
	hash    uint64
	tasks   int // tasks started, for their numbers
	ready   []*task
	waiting []*task
	spare   []*worker
	workers []*worker
	current *task
	latest  *task // the one that made the last step
	failure error
	// Between is called before each step, for events without a task, such as a crash or a late
	// write.
	Between func()
	// Orphaned is called with a write that was on its way when its sender died.
	Orphaned func(*message)
	// jump is the chance, in 1024, that time jumps to the next timer although
	// tasks could run; stick the chance that the running task goes on.
	jump, stick uint64
	// slow is the chance that a task is one whose calls take long.
	slow uint64
}

// epoch is the start of simulated time.
var epoch = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// task is one thread of control of an actor.
type task struct {
	id     int
	actor  *Actor
	op     *Operation // on whose behalf it runs; tasks inherit it
	body   func()
	w      *worker
	done   bool
	slow   bool
	wakeAt time.Duration // of a timed wait; 0: none
	timed  bool          // the wait ended by time
	ended  func() error  // the error of the wait's context
	endsAt time.Duration // the deadline of that context; 0: none
	waited int           // the step at which its last bounded wait for a latch ended
	// sending is the write that the task has sent and that has not arrived.
	sending *message
}

// worker is a coroutine that runs one task after another.
type worker struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	task  *task
}

// endOfTask unwinds a task whose process has died.
type endOfTask struct{}

// NewScheduler returns a scheduler without a run; Reset starts one.
func NewScheduler() *Scheduler {
	pcg := rand.NewPCG(0, 0)
	return &Scheduler{pcg: pcg, rng: rand.New(pcg)}
}

// Reset starts a run with a seed. What remains of the last run is ended.
func (s *Scheduler) Reset(seed uint64) {
	s.endAll(func(*task) bool { return true })
	s.pcg.Seed(seed, 0x9e3779b97f4a7c15)
	s.now, s.steps, s.tasks, s.failure = time.Hour, 0, 0, nil
	s.hash, s.limit = 14695981039346656037, 200_000
	s.jump, s.stick, s.slow = 0, 0, 0
	s.Between, s.Orphaned, s.latest = nil, nil, nil
}

// Close ends all coroutines.
func (s *Scheduler) Close() {
	s.endAll(func(*task) bool { return true })
	for _, w := range s.workers {
		w.stop()
	}
	s.workers, s.spare = nil, nil
}

// chance returns true in n of 1024 cases.
func (s *Scheduler) chance(n uint64) bool { return n > 0 && s.rng.Uint64()&1023 < n }

// pick returns a random number below n.
func (s *Scheduler) pick(n int) int { return int(s.rng.Uint64N(uint64(n))) }

// note adds an event to the hash of the trace.
func (s *Scheduler) note(v uint64) { s.hash = (s.hash ^ v) * 1099511628211 }

// TraceHash identifies a run: equal runs have equal hashes.
func (s *Scheduler) TraceHash() uint64 { return s.hash }

// Steps returns the number of steps of this run.
func (s *Scheduler) Steps() int { return s.steps }

// spawn starts a task of the actor.
func (s *Scheduler) spawn(a *Actor, op *Operation, body func()) *task {
	s.tasks++
	t := &task{id: s.tasks, actor: a, op: op, body: body, slow: s.chance(s.slow)}
	if len(s.spare) == 0 {
		s.grow()
	}
	t.w = s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	t.w.task = t
	s.ready = append(s.ready, t)
	return t
}

// grow adds one coroutine.
func (s *Scheduler) grow() {
	w := &worker{}
	w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
		w.yield = yield
		for {
			s.runTask(w.task)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	s.workers = append(s.workers, w)
	s.spare = append(s.spare, w)
}

// runTask runs a task to its end. A panic other than the end of a process is a
// defect of the product, and ends the run.
func (s *Scheduler) runTask(t *task) {
	defer func() {
		t.done = true
		switch r := recover(); r.(type) {
		case nil, endOfTask:
		default:
			if s.failure == nil {
				s.failure = fmt.Errorf("task %d of %s panicked: %v\n%s", t.id, t.actor.name, r, debug.Stack())
			}
		}
	}()
	if t.actor.dead {
		return
	}
	t.body()
}

// Run makes steps until done returns true, or nothing can run and there is no timer.
func (s *Scheduler) Run(done func() bool) error {
	for s.failure == nil && !done() {
		if s.steps++; s.steps > s.limit {
			return fmt.Errorf("no end after %d steps: %d tasks ready, %d waiting", s.limit, len(s.ready), len(s.waiting))
		}
		s.now += time.Duration(1+s.rng.Uint64()&31) * time.Microsecond
		if s.Between != nil {
			s.Between()
		}
		if len(s.ready) == 0 || s.chance(s.jump) {
			if !s.passTime() && len(s.ready) == 0 {
				break
			}
			if len(s.ready) == 0 {
				continue
			}
		}
		s.step()
	}
	return s.failure
}

// step lets one ready task run to its next switch.
func (s *Scheduler) step() {
	last := len(s.ready) - 1
	i := last
	// A task that gave way is the last of the ready ones. Letting it go on runs one
	// task for several steps in a row, which uniform choice rarely does.
	if s.ready[last] != s.latest || !s.chance(s.stick) {
		i = s.pick(len(s.ready))
	}
	t := s.ready[i]
	s.ready[i] = s.ready[last]
	s.ready[last] = nil
	s.ready = s.ready[:last]
	s.note(uint64(t.id))
	s.latest = t
	s.resume(t)
}

// resume switches to the task and back.
func (s *Scheduler) resume(t *task) {
	before := s.current
	s.current = t
	t.w.next()
	s.current = before
	if t.done {
		t.w.task = nil
		s.spare = append(s.spare, t.w)
	}
}

// pause yields until the task is resumed.
func (s *Scheduler) pause(t *task) {
	if !t.w.yield(struct{}{}) || t.actor.dead {
		panic(endOfTask{})
	}
}

// giveWay lets others run; the task stays ready.
func (s *Scheduler) giveWay(t *task) {
	s.ready = append(s.ready, t)
	s.pause(t)
}

// wait blocks the task until wake, or until d has passed (d <= 0: no end).
func (s *Scheduler) wait(t *task, d time.Duration) {
	t.timed, t.wakeAt = false, 0
	if d > 0 {
		t.wakeAt = s.now + d
	}
	s.waiting = append(s.waiting, t)
	s.pause(t)
}

// wake makes a waiting task ready.
func (s *Scheduler) wake(t *task) {
	if remove(&s.waiting, t) {
		s.ready = append(s.ready, t)
	}
}

// remove removes a task from a list, and reports whether it was there.
func remove(list *[]*task, t *task) bool {
	i := slices.Index(*list, t)
	if i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	}
	return i >= 0
}

// wakeEnded wakes tasks whose contexts have ended. It must be called after a context was
// cancelled.
func (s *Scheduler) wakeEnded() {
	for i := 0; i < len(s.waiting); {
		if t := s.waiting[i]; t.ended != nil && t.ended() != nil {
			s.wake(t)
		} else {
			i++
		}
	}
}

// until returns when the task's wait times out, or 0.
func (t *task) until() time.Duration {
	if t.wakeAt == 0 || t.endsAt != 0 && t.endsAt < t.wakeAt {
		return t.endsAt
	}
	return t.wakeAt
}

// passTime moves time to the next timer and wakes its waiters. It returns false if there is
// none.
func (s *Scheduler) passTime() bool {
	var next *task
	var at time.Duration
	for _, t := range s.waiting {
		if until := t.until(); until != 0 && (next == nil || until < at) {
			next, at = t, until
		}
	}
	if next == nil {
		return false
	}
	s.now = max(s.now, at)
	next.timed = next.wakeAt == at
	s.note(uint64(next.id) << 32)
	s.wake(next)
	return true
}

// endAll ends the tasks for which selected returns true. They unwind as those of a process that has
// died.
func (s *Scheduler) endAll(selected func(*task) bool) {
	for {
		var victim *task
		for _, list := range []*[]*task{&s.ready, &s.waiting} {
			if i := slices.IndexFunc(*list, selected); i >= 0 && victim == nil {
				victim = (*list)[i]
				*list = slices.Delete(*list, i, i+1)
			}
		}
		if victim == nil {
			return
		}
		victim.actor.dead = true
		if victim.sending != nil && s.Orphaned != nil {
			s.Orphaned(victim.sending)
		}
		s.resume(victim)
	}
}
