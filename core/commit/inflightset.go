package commit

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/core/sched"
)

// InFlightSet is one reading of the in-flight lists of all processes: which partitions have
// changes under way.
type InFlightSet struct{ keys map[inFlightKey]struct{} }

type inFlightKey struct {
	kind Kind
	key  string
}

// Has reports whether a change of a partition may be under way.
func (s *InFlightSet) Has(kind Kind, key string) bool {
	_, found := s.keys[inFlightKey{kind, key}]
	return found
}

// Size is the number of partitions in the set.
func (s *InFlightSet) Size() int { return len(s.keys) }

const (
	// setWithin is how long one reading of the set may take.
	setWithin = 2 * time.Second
	// A set of more than largeSet partitions costs more to read than it saves. It is not
	// read again for largePause.
	largeSet   = 5_000
	largePause = 10 * time.Second
)

// errLargeSet is the error of readings that are not made because the set was large.
var errLargeSet = errors.New("too much is in flight to be read for each request")

// InFlightReader reads the set of what is in flight for the requests of a process. At most
// one reading is under way. A request never joins that one, because it may show a change as
// not begun that was decided before the request came: all that come meanwhile share the next.
type InFlightReader struct {
	rt    sched.Runtime
	store JournalStore
	life  context.Context // a reading belongs to no one request

	mu      sync.Mutex
	reading bool
	next    *setReading   // of the requests that wait; nil: none do
	paused  time.Duration // no reading begins before, on the monotonic clock
	size    int           // of the set that was read last
}

// setReading is a reading of the set, and its result once done is open.
type setReading struct {
	done sched.Latch
	set  *InFlightSet
	err  error
}

// NewInFlightReader returns the reader of a process. ctx lends its values to readings.
func NewInFlightReader(ctx context.Context, store JournalStore, rt sched.Runtime) *InFlightReader {
	return &InFlightReader{rt: rt, store: store, life: rt.Detach(ctx)}
}

// Read returns the set, by a reading that was sent after the call. Where it is not in the set,
// every change of a partition that was decided before the call has reached everything
// that is derived of it. An error says that this cannot be told.
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

// Size is the size of the set that was read last.
func (r *InFlightReader) Size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

// run makes one reading after the other while requests wait.
func (r *InFlightReader) run() {
	for {
		r.mu.Lock()
		mine := r.next
		r.next = nil
		if mine == nil {
			r.reading = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		mine.set, mine.err = r.read()
		mine.done.Open()
	}
}

func (r *InFlightReader) read() (*InFlightSet, error) {
	ctx, cancel := r.rt.Deadline(r.life, setWithin)
	defer cancel()
	inFlightLists, err := r.store.InFlight(ctx)
	if err != nil {
		return nil, err
	}
	set := &InFlightSet{keys: map[inFlightKey]struct{}{}}
	for _, l := range inFlightLists {
		// Also kinds of a later version: a change of theirs concerns nothing that is read here.
		entries, err := Decode(l.Blocks)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			set.keys[inFlightKey{entries[i].Kind, entries[i].Key}] = struct{}{}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = set.Size()
	if r.size > largeSet {
		r.paused = r.rt.Elapsed() + largePause
	}
	return set, nil
}
