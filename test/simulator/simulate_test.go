package simulator

import (
	"flag"
	"sync"
	"testing"
	"time"

	"carrel/test/simulator/ablations"
)

const (
	// schedules and copySchedules are how many are played in every run: those of the whole protocol,
	// and those about copies.
	schedules     = 150_000
	copySchedules = 50_000
	// sample is how many are enough to see that runs are alike.
	sample = 1_000
	// raceSample is how many are enough to find data races: tasks run one at a time.
	raceSample = 250
	// workers play at the same time: the machines that tests run on have two cores.
	workers = 2
)

var (
	seedFlag   = flag.Uint64("seed", 0, "the schedule that TestReplay plays")
	fromFlag   = flag.Uint64("from", 1, "the first seed of TestSchedules")
	countFlag  = flag.Uint64("count", schedules, "the number of schedules of TestSchedules")
	copiesFlag = flag.Uint64("copies", copySchedules, "the number of schedules of TestCopies")
	everyFlag  = flag.Uint64("every", 1,
		"the distance between the seeds of TestSchedules; 8 from 8 plays leases only, 8 from 4 texts, 8 from 6 pastes, 8 from 2 unique names")

	followingFlag = flag.Uint64("following", someFollow, "the chance, in 1024, that libraries are followed in TestReplay and TestSchedules")
)

// newMachine returns a Machine as the flags ask for, and the ablation that is on.
func newMachine() *Machine {
	m := NewMachine()
	m.Following = *followingFlag
	if a, err := ablations.Find(without); err == nil && a.In == ablations.Followed {
		m.Following = everybodyFollows
	}
	return m
}

// TestReplay plays one schedule and prints every step of it.
func TestReplay(t *testing.T) {
	m := newMachine()
	defer m.Close()
	m.Trace = t.Logf
	for _, v := range m.Play(t.Context(), *seedFlag) {
		t.Error(v.Error())
	}
}

// tally adds up the results of workers.
type tally struct {
	mu     sync.Mutex
	found  []Violation
	steps  int
	states int
	faulty int
}

// add adds the results of a machine.
func (y *tally) add(m *Machine, found []Violation) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.found = append(y.found, found...)
	y.steps += m.Steps
	y.states += m.Commits
	y.faulty += m.Faulty
}

// TestSchedules runs schedules of the whole protocol; none may have a violation.
func TestSchedules(t *testing.T) { play(t, *fromFlag, *everyFlag, *countFlag) }

// TestCopies plays schedules of pages that are served from copies, by a store with three
// replicas.
func TestCopies(t *testing.T) { play(t, copiesFrom, 1, *copiesFlag) }

// play plays count schedules: the one of the seed from, and then of every every-th seed.
func play(t *testing.T, from, every, count uint64) {
	if underRace {
		count = min(count, raceSample)
	} else if testing.Short() {
		count = min(count, sample)
	}
	began := time.Now()
	var all tally
	var group sync.WaitGroup
	for w := range uint64(workers) {
		group.Go(func() {
			m := newMachine()
			defer m.Close()
			var found []Violation
			for n := w; n < count && len(found) < 20; n += workers {
				found = append(found, m.Play(t.Context(), from+n*every)...)
			}
			all.add(m, found)
		})
	}
	group.Wait()
	for _, v := range all.found {
		t.Errorf("%v\n\treplay it with: %s", v.Error(), replay(v.Seed))
	}
	t.Logf("%d schedules from seed %d, %d of them with faults, %d steps, %d states decided, %d violations, %v",
		count, from, all.faulty, all.steps, all.states, len(all.found), time.Since(began).Round(time.Second))
}

func BenchmarkSchedule(b *testing.B) {
	m := NewMachine()
	defer m.Close()
	b.ReportAllocs()
	for seed := uint64(1); b.Loop(); seed++ {
		m.Play(b.Context(), seed)
	}
}
