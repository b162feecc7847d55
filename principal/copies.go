package principal

import (
	"context"
	"sync"
	"time"

	"carrel/core/commit"
	"carrel/core/copies"
	"carrel/core/sched"
)

// Copying configures how headers of users and groups are served from copies
// (docs/write-protocol.md).
type Copying struct {
	// InFlight reads the in-flight lists, for samples.
	InFlight *commit.InFlightReader
	// Size is the number of copies that are kept, and MaxAge the age until which they are served.
	Size   int
	MaxAge time.Duration
	// Sampler chooses which headers that were served from copies are compared with the stored ones,
	// which may take SampleWithin each.
	Sampler      *copies.Sampler
	SampleWithin time.Duration
	// Served is called with three numbers of headers: served from copies, with copies that were
	// refused, and without copies.
	Served func(hits, refused, misses int)
	// Wrong is called if a copy was served that was not current.
	Wrong func(ctx context.Context, id ID)
}

// headerCopies are copies of headers. No other row shows whether a copy is current. A copy may be
// served if it is not too old and no in-flight list names the principal: a change of what pages
// show of the principal stays on a list until all copies of the former state are too old.
type headerCopies struct {
	Copying
	cache *copies.Cache[ID, Header]
}

// ServeCopies makes the Service keep copies of headers, and serve them to requests for which the
// in-flight lists were read. It must be called before the first request.
func (h Headers) ServeCopies(c Copying) {
	h.s.copies = &headerCopies{Copying: c, cache: copies.NewCache[ID](h.s.rt, c.Size, c.MaxAge, func(Header) int { return 1 })}
}

// headersOf returns the headers of principals, without their writers, in the order of ids; zero
// ones for unknown ids.
func (s *Service) headersOf(ctx context.Context, v *Viewer, ids []ID) ([]Header, error) {
	if s.copies == nil {
		return s.store.ReadPrincipals(ctx, ids)
	}
	headers := make([]Header, len(ids))
	missing := s.fromCopies(ctx, v, ids, headers)
	if len(missing) == 0 {
		return headers, nil
	}
	wanted := make([]ID, len(missing))
	for n, i := range missing {
		wanted[n] = ids[i]
	}
	began := sched.Present(s.rt)
	read, err := s.store.ReadPrincipals(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for n, i := range missing {
		headers[i] = read[n]
		if read[n].State.Used() {
			s.copies.cache.Put(wanted[n], read[n], read[n].MTS, began)
		}
	}
	return headers, nil
}

// fromCopies fills in the headers that copies may serve to the viewer, and returns the indexes of
// all others. It does not wait for the in-flight lists if there is no copy.
func (s *Service) fromCopies(ctx context.Context, v *Viewer, ids []ID, headers []Header) (missing []int) {
	c, reading := s.copies, v.inFlight.get()
	var set *commit.InFlightSet
	if reading != nil && c.hasAny(s.rt, ids) {
		set = reading.wait(ctx, s.rt)
	}
	hits, refused, now := 0, 0, sched.Present(s.rt)
	for i, id := range ids {
		if set == nil {
			missing = append(missing, i)
			continue
		}
		copied, ok, old := c.cache.Get(id, 0, now)
		switch {
		case ok && !set.MayHaveChanged(commit.Principal, string(id)):
			hits++
			headers[i] = copied
			if c.Sampler.Choose() {
				s.sampleHeader(ctx, id, copied)
			}
		default:
			if ok || old {
				refused++
			}
			missing = append(missing, i)
		}
	}
	if reading != nil {
		c.Served(hits, refused, len(ids)-hits-refused)
	}
	return missing
}

// hasAny reports whether there is a copy of one of ids that is not too old.
func (c *headerCopies) hasAny(rt sched.Runtime, ids []ID) bool {
	now := sched.Present(rt)
	for _, id := range ids {
		if _, ok, _ := c.cache.Get(id, 0, now); ok {
			return true
		}
	}
	return false
}

// sampleHeader compares a copy that was served with the stored header, in the background.
func (s *Service) sampleHeader(ctx context.Context, id ID, copied Header) {
	life, served := s.rt.Detach(ctx), sched.Present(s.rt)
	s.rt.Go(func() {
		ctx, cancel := s.rt.Deadline(life, s.copies.SampleWithin)
		defer cancel()
		if wrong, err := s.headerIsWrong(ctx, id, &copied, served); err == nil && wrong {
			s.copies.Wrong(ctx, id)
		}
	})
}

// headerIsWrong reports whether the copy should not have been served: the stored header shows
// something else, and no list names its principal. It reads the lists last, so that they name a
// change that was made after the copy was served. It reports nothing if that took so long that the
// entry of such a change may have left its list, for example because the machine was suspended.
func (s *Service) headerIsWrong(ctx context.Context, id ID, copied *Header, served sched.Moment) (bool, error) {
	stored, err := s.store.ReadPrincipals(ctx, []ID{id})
	if err != nil || stored[0].MTS <= copied.MTS || copied.looksLike(&stored[0]) {
		return false, err
	}
	set, err := s.copies.InFlight.Read(ctx)
	if err != nil || set.MayHaveChanged(commit.Principal, string(id)) {
		return false, err
	}
	return sched.Present(s.rt).Since(served) < s.copies.MaxAge, nil
}

// Copies returns the number of copies of headers that are kept.
func (h Headers) Copies() int {
	if h.s.copies == nil {
		return 0
	}
	return h.s.copies.cache.Len()
}

// InFlightReading is one read of the in-flight lists for a request. It begins after the request has
// arrived.
type InFlightReading struct {
	done sched.Latch
	set  *commit.InFlightSet // set before done opens; nil if the read failed
}

// Done records the result of the read. set is nil if the read failed. Only the first call has an
// effect. On a nil InFlightReading, Done does nothing.
func (r *InFlightReading) Done(set *commit.InFlightSet) {
	if r != nil && !r.done.IsOpen() {
		r.set = set
		r.done.Open()
	}
}

// wait waits for the result, which is nil if the read failed.
func (r *InFlightReading) wait(ctx context.Context, rt sched.Runtime) *commit.InFlightSet {
	if done, err := rt.Wait(ctx, r.done, 0); err != nil || !done {
		return nil
	}
	return r.set
}

// currentReading holds the InFlightReading of a request.
type currentReading struct {
	mu      sync.Mutex
	reading *InFlightReading
}

func (c *currentReading) get() *InFlightReading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading
}

// forget drops the InFlightReading. What the request shows after a mutation must contain that
// mutation.
func (c *currentReading) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = nil
}

// BeginInFlight begins a read of the in-flight lists, for which the caller must call Done. It
// returns nil if the request has one already. Reads of headers by this request wait for it from now
// on, and may then return copies.
func (h Headers) BeginInFlight(v *Viewer) *InFlightReading {
	c := &v.inFlight
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading != nil {
		return nil
	}
	c.reading = &InFlightReading{done: h.s.rt.Latch()}
	return c.reading
}
