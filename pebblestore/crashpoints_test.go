//go:build !race

package pebblestore

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// recoveriesEvery is how many crash points there are for each one whose recovery crashes too.
const recoveriesEvery = 40

// TestCrash_AtEveryOperationLosesNothingAcknowledged runs the script once and checks, before each
// operation on the file system, what a crash there would leave. The store must open and contain
// exactly what it contained after some step: at least the last acknowledged synced step and at most
// the last started one. So acknowledged writes survive completely, other writes survive completely
// or not at all, and no write survives without those before it.
func TestCrash_AtEveryOperationLosesNothingAcknowledged(t *testing.T) {
	steps := script()
	states := history(t, steps)
	var started, acked atomic.Int64
	c := newCrasher(vfs.NewCrashableMem())
	looked, again := 0, 0
	c.look = func(point int, op errorfs.Op, percent int, take func() *vfs.MemFS) {
		looked++
		oldest := int(acked.Load())
		left := take()
		newest := int(started.Load())
		where := fmt.Sprintf("point %d (%d of %s, %d %% kept)", point, op.Kind, op.Path, percent)
		if point%recoveriesEvery != 0 {
			checkSurvivors(t, where, left, states, oldest, newest)
			return
		}
		// The recovery crashes too, before each of its operations.
		second := newCrasher(left)
		second.look = func(p int, inner errorfs.Op, percent int, take func() *vfs.MemFS) {
			again++
			checkSurvivors(t, fmt.Sprintf("%s, and %d of the recovery (%d of %s, %d %% kept)", where, p, inner.Kind, inner.Path, percent),
				take(), states, oldest, newest)
		}
		checkSurvivors(t, where, second.wrap(), states, oldest, newest)
	}
	s := openStore(t, crashDir, Options{FS: c.wrap()})
	for n, step := range steps {
		started.Store(int64(n + 1))
		if err := step.run(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.synced {
			acked.Store(int64(n + 1))
		}
		if err := between(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%d points, %d crashes, %d crashes of recoveries; %v", c.points, looked, again, c.kinds)
	if looked != 3*c.points || c.points < 200 || again < 100 {
		t.Errorf("checked %d crashes at %d points, and %d crashes of recoveries", looked, c.points, again)
	}
	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData,
		errorfs.OpRemove, errorfs.OpRename} {
		if c.kinds[kind] == 0 {
			t.Errorf("no crash before an operation of kind %d", kind)
		}
	}
}

// checkSurvivors opens the files that a crash left and finds the step whose state they hold.
func checkSurvivors(t *testing.T, where string, left vfs.FS, states []string, oldest, newest int) {
	t.Helper()
	s, err := Open(crashDir, Options{FS: left})
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	state, err := dump(s)
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if slices.Contains(states[oldest:newest+1], state) {
		return
	}
	if at := slices.Index(states, state); at >= 0 {
		t.Errorf("%s: the store has the state after step %d, which is not between %d and %d", where, at, oldest, newest)
		return
	}
	t.Errorf("%s: the store has a state that no step produced:\n%s", where, state)
}
