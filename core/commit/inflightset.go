package commit

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/core/sched"
)

// InFlightSet is the set of partitions with pending or lingering changes, from one read of the
// in-flight lists of all processes.
type InFlightSet struct {
	keys map[inFlightKey]bool // whether a change is pending
	// pending is the number of partitions with pending changes.
	pending int
}

type inFlightKey struct {
	kind Kind
	key  string
}

// Has reports whether a change of a partition may be pending.
func (s *InFlightSet) Has(kind Kind, key string) bool { return s.keys[inFlightKey{kind, key}] }

// MayHaveChanged reports whether a partition of a kind whose entries linger may have a pending
// change, or one that ended so recently that its entry lingers.
func (s *InFlightSet) MayHaveChanged(kind Kind, key string) bool {
	return s.lists(kind, key) || s.lists(kind, "")
}

// lists reports whether some list has an entry of a partition.
func (s *InFlightSet) lists(kind Kind, key string) bool {
	_, found := s.keys[inFlightKey{kind, key}]
	return found
}

// Size returns the number of partitions with pending changes.
func (s *InFlightSet) Size() int { return s.pending }

// add adds an entry.
func (s *InFlightSet) add(e *Entry) {
	key := inFlightKey{e.Kind, e.Key}
	if before := s.keys[key]; !before && !e.Ended {
		s.pending++
	}
	s.keys[key] = s.keys[key] || !e.Ended
}

const (
	// setTimeout is how long one read of the set may take.
	setTimeout = 2 * time.Second
	// A set of more than largeSet pending partitions costs more to read than it saves. After such a
	// set, or one whose interval is longer than LongInterval, no set is read for largePause.
	largeSet   = 5_000
	largePause = 10 * time.Second
	// readCost is the CPU time that a read costs a replica, and listCost what each list in it adds
	// (docs/scale.md). A read goes to two of the three replicas of one partition, and every process
	// sends such reads. The interval limits all of them to readCores cores of each replica.
	readCost  = 100 * time.Microsecond
	listCost  = 5 * time.Microsecond
	readCores = 2
	// Intervals below shortInterval are not kept, because a read takes longer.
	shortInterval = time.Millisecond
)

// LongInterval is the longest interval between reads that requests wait for.
const LongInterval = 100 * time.Millisecond

// ReadInterval returns the time from the start of one read of the set to the start of the next,
// if that many processes have lists; 0: the next may start at once. Sets whose interval is longer
// than LongInterval are not read for each request.
func ReadInterval(lists int) time.Duration {
	cpu := readCost + time.Duration(lists)*listCost
	interval := time.Duration(lists) * cpu * 2 / 3 / readCores
	if interval < shortInterval {
		return 0
	}
	return interval
}

// errLargeSet is the error of reads that are not made because the set was large.
var errLargeSet = errors.New("too many changes or lists are in flight to read them for each request")

// InFlightReader reads the InFlightSet for the requests of a process. At most one read runs at a
// time. A request does not use the result of a read that began before it, which may lack a change
// that was decided before the request arrived. All requests that arrive meanwhile share the next
// read. If many processes have lists, there is a pause before it (ReadInterval).
type InFlightReader struct {
	rt    sched.Runtime
	store JournalStore
	life  context.Context // of reads, which belong to no single request

	mu      sync.Mutex
	reading bool
	next    *setReading   // of the waiting requests; nil if none wait
	paused  time.Duration // requests fail until then, on the monotonic clock
	nextAt  time.Duration // when the next read may begin; requests wait for it
	size    int           // of the last set
}

// setReading is one read of the set. Its result may be read once done is open.
type setReading struct {
	done sched.Latch
	set  *InFlightSet
	err  error
}

// NewInFlightReader returns the reader of a process. Its reads use the values of ctx.
func NewInFlightReader(ctx context.Context, store JournalStore, rt sched.Runtime) *InFlightReader {
	return &InFlightReader{rt: rt, store: store, life: rt.Detach(ctx)}
}

// Read returns the set, from a read that began after the call. If a partition is not in the
// set, every change of it that was decided before the call has been applied to all derived
// rows. An error means that this is unknown.
func (r *InFlightReader) Read(ctx context.Context) (*InFlightSet, error) {
	r.mu.Lock()
	if r.rt.Elapsed() < r.paused {
		r.mu.Unlock()
		return nil, errLargeSet
	}
	if r.next == nil {
		r.next = &setReading{done: r.rt.Latch()}
	}
	mine := r.next
	if !r.reading {
		r.reading = true
		r.rt.Go(r.run)
	}
	r.mu.Unlock()
	if _, err := r.rt.Wait(ctx, mine.done, 0); err != nil {
		return nil, err
	}
	return mine.set, mine.err
}

// Size returns the size of the set that was read last.
func (r *InFlightReader) Size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

// run reads the set, one read after the other, while requests wait. It refuses them during
// largePause, because the next read may be many seconds away.
func (r *InFlightReader) run() {
	for {
		r.mu.Lock()
		if r.next == nil {
			r.reading = false
			r.mu.Unlock()
			return
		}
		if r.rt.Elapsed() < r.paused {
			refused := r.next
			r.next = nil
			r.mu.Unlock()
			refused.err = errLargeSet
			refused.done.Open()
			continue
		}
		pause := r.nextAt - r.rt.Elapsed()
		r.mu.Unlock()
		if pause > 0 {
			_ = r.rt.After(r.life, pause) // life is detached, so it cannot end
		}
		r.mu.Lock()
		// Requests that arrived during the pause share the read.
		mine := r.next
		r.next = nil
		r.mu.Unlock()
		mine.set, mine.err = r.read()
		mine.done.Open()
	}
}

func (r *InFlightReader) read() (*InFlightSet, error) {
	ctx, cancel := r.rt.Deadline(r.life, setTimeout)
	defer cancel()
	began := r.rt.Elapsed()
	inFlightLists, err := r.store.InFlight(ctx)
	if err != nil {
		return nil, err
	}
	set := &InFlightSet{keys: map[inFlightKey]bool{}}
	for _, l := range inFlightLists {
		// Entries of unknown kinds are fine: they cannot affect rows that this version reads.
		entries, err := Decode(l.Block)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			set.add(&entries[i])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = set.Size()
	interval := ReadInterval(len(inFlightLists))
	r.nextAt = began + interval
	if r.size > largeSet || interval > LongInterval {
		r.paused = r.rt.Elapsed() + largePause
	}
	return set, nil
}

// InFlightRead is a read of the set for one request, which begins after the request has arrived.
type InFlightRead struct {
	rt   sched.Runtime
	done sched.Latch
	set  *InFlightSet // set before done opens; nil if the read failed
}

// NewInFlightRead returns a read that has not begun. Its maker must call Done.
func NewInFlightRead(rt sched.Runtime) *InFlightRead { return &InFlightRead{rt: rt, done: rt.Latch()} }

// Done records the result. set is nil if the read failed. Only the first call has an effect. On a nil InFlightRead,
// Done does nothing.
func (r *InFlightRead) Done(set *InFlightSet) {
	if r != nil && !r.done.IsOpen() {
		r.set = set
		r.done.Open()
	}
}

// Wait waits for the result, which is nil if the read failed, or r is nil.
func (r *InFlightRead) Wait(ctx context.Context) *InFlightSet {
	if r == nil {
		return nil
	}
	if done, err := r.rt.Wait(ctx, r.done, 0); err != nil || !done {
		return nil
	}
	return r.set
}
