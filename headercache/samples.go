package headercache

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// The defaults of a sampler, and how long a comparison may take.
const (
	sampleEvery   = 100
	samplePause   = 50 * time.Millisecond
	sampleTimeout = 10 * time.Second
)

// sampler chooses which headers that were served are compared with the stored ones.
type sampler struct {
	rt     sched.Runtime
	every  int64
	pause  time.Duration
	served atomic.Int64
	next   atomic.Int64 // when the next header may be chosen, on the monotonic clock
}

// newSampler returns a sampler that chooses every n-th header, where n is every. If every is 0, it
// chooses each hundredth, but at most 20 a second, because each comparison reads a row.
func newSampler(rt sched.Runtime, every int) *sampler {
	if every == 0 {
		return &sampler{rt: rt, every: sampleEvery, pause: samplePause}
	}
	return &sampler{rt: rt, every: int64(every)}
}

// choose counts a header that was served, and reports whether to compare it.
func (s *sampler) choose() bool {
	if s.served.Add(1)%s.every != 0 {
		return false
	}
	now, next := int64(s.rt.Elapsed()), s.next.Load()
	return now >= next && s.next.CompareAndSwap(next, now+int64(s.pause))
}

// compare calls isWrong in the background. If the header that was served was wrong, none is served any more.
func (c *Checked) compare(ctx context.Context, what slog.Attr, isWrong func(ctx context.Context) (bool, error)) {
	life := c.rt.Detach(ctx)
	c.rt.Go(func() {
		ctx, cancel := c.rt.Deadline(life, sampleTimeout)
		defer cancel()
		if wrong, err := isWrong(ctx); err != nil || !wrong || !c.pays.turnOff() {
			return
		}
		c.watch.CopyWrong()
		c.log.ErrorContext(ctx, "a page showed a header that was not current; headers are read for every page from now on", what)
	})
}

// ItemIsWrong reports whether an item was served for an entry that it must not have been served for: the stored item
// differs from it, no change is in flight, and none has reached the library since. The reads have this order, so that
// a later one sees a change that is made in between.
func (c *Checked) ItemIsWrong(ctx context.Context, owner principal.ID, source library.Bucket, e library.Entry,
	served *library.ContentRows) (bool, error) {
	rows, err := c.ReadMany(ctx, []library.ContentID{e.Content}, []principal.ID{owner})
	if err != nil || rows[0].Header.MTS <= served.Header.MTS || showsSame(&rows[0], served) {
		return false, err
	}
	set, err := c.lists.Read(ctx)
	if err != nil || set.Has(commit.Content, string(e.Content)) {
		return false, err
	}
	es, err := c.libraries.EntriesAt(ctx, owner, source, []library.EntryKey{e.EntryKey})
	return err == nil && es[0].Content == e.Content && es[0].MTS <= served.Header.MTS, err
}

// showsSame reports whether a page shows the same for two readings of an item. What only editors
// see of its text may differ.
func showsSame(r, other *library.ContentRows) bool {
	a, b := r.Header.Content, other.Header.Content
	return r.Header.State == other.Header.State && r.Header.Position == other.Header.Position &&
		a.Version == b.Version && a.Visibility == b.Visibility && a.CanonicalURL == b.CanonicalURL &&
		(a.ExpiresAt == b.ExpiresAt || a.ExpiresAt != nil && b.ExpiresAt != nil && *a.ExpiresAt == *b.ExpiresAt) &&
		r.Members[0].Active() == other.Members[0].Active() && r.Members[0].Role == other.Members[0].Role
}

// HeaderIsWrong reports whether a header of a user or a group should not have been served: the stored header shows
// something else, and no list names its principal. It reads the lists last, so that they name a change that was made
// after the header was served. It reports nothing if that took so long that the entry of such a change may have left
// its list, for example because the machine was suspended.
func (c *Checked) HeaderIsWrong(ctx context.Context, served *principal.Header, at sched.Moment) (bool, error) {
	stored, err := c.Store.ReadPrincipals(ctx, []principal.ID{served.ID})
	if err != nil || stored[0].MTS <= served.MTS || served.LooksLike(&stored[0]) {
		return false, err
	}
	set, err := c.lists.Read(ctx)
	if err != nil || set.MayHaveChanged(commit.Principal, string(served.ID)) {
		return false, err
	}
	return sched.Present(c.rt).Since(at) < c.maxAge, nil
}
