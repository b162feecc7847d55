package listing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"carrel/core/commit"
	"carrel/core/copies"
	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// HeaderCache configures how pages are served from copies of headers (docs/write-protocol.md).
type HeaderCache struct {
	// Size is the number of copies that are kept, of which a large one counts as several. With
	// 0 every page reads its headers.
	Size int
	// AlwaysOn uses copies however few entries they serve. Otherwise they are used while they
	// serve 30 % of the entries.
	AlwaysOn bool
	// MaxAge is the age until which a copy is served; 0 means copies.MaxAge. Changes must linger for
	// twice as long.
	MaxAge time.Duration
	// One in SampleEvery entries that were served from copies is compared with its header. 0 means
	// the default of copies.NewSampler.
	SampleEvery int
}

// The defaults of a HeaderCache, and how long a sample may take.
const (
	cacheFloor   = 30
	sampleWithin = 10 * time.Second
	// principalsShare is the number of copies of items' headers for each copy of a principal's
	// header.
	principalsShare = 4
	// usualTexts is the number of bytes of text of a copy that counts as one.
	usualTexts = 400
)

// headerCopies serves the entries of pages from copies of their headers. A copy may serve an
// entry if no change of its item is in flight and it is not older than the state that wrote the
// entry: then nothing that concerns the entry was decided between the copy and the request.
type headerCopies struct {
	inFlight *commit.InFlightReader
	cache    *copies.Cache[copyKey, library.ContentRows]
	inUse    *copies.Switch
	sampler  *copies.Sampler
	watch    library.Watcher
}

// copyKey identifies a copy: a header with the member row of the library's owner.
type copyKey struct {
	content library.ContentID
	owner   principal.ID
}

// newHeaderCopies returns nil if no copies are to be kept. Reading a header from a local store
// costs less than reading the in-flight lists.
func newHeaderCopies(ctx context.Context, c *Config) *headerCopies {
	if !c.Remote || c.HeaderCache.Size <= 0 {
		return nil
	}
	floor := cacheFloor
	if c.HeaderCache.AlwaysOn {
		floor = 0
	}
	return &headerCopies{
		inFlight: commit.NewInFlightReader(ctx, c.InFlightLists, c.Runtime),
		cache:    copies.NewCache[copyKey](c.Runtime, c.HeaderCache.Size, cmp.Or(c.HeaderCache.MaxAge, copies.MaxAge), weightOf),
		inUse:    copies.NewSwitch(floor), sampler: copies.NewSampler(c.Runtime, c.HeaderCache.SampleEvery), watch: c.Watch,
	}
}

// copyPrincipals makes the Service of principals serve headers from copies too, while pages are
// served from copies.
func (s *Service) copyPrincipals(c HeaderCache) {
	s.people.Headers.ServeCopies(principal.Copying{
		InFlight: s.copies.inFlight, Size: (c.Size + principalsShare - 1) / principalsShare, MaxAge: cmp.Or(c.MaxAge, copies.MaxAge),
		Sampler: copies.NewSampler(s.rt, c.SampleEvery), SampleWithin: sampleWithin, Served: s.watch.CopiedPrincipals,
		Wrong: func(ctx context.Context, id principal.ID) { s.servedWrong(ctx, slog.String("principal", string(id))) },
	})
}

// servedWrong ends the use of copies, because one was served that was not current.
func (s *Service) servedWrong(ctx context.Context, what ...any) {
	if !s.copies.inUse.TurnOff() {
		return
	}
	s.watch.CopyWrong()
	s.log.ErrorContext(ctx, "a page showed a header that was not current; headers are read for every page from now on", what...)
}

// usesCopies reports whether pages are served from copies.
func (s *Service) usesCopies() bool { return s.copies != nil && s.copies.inUse.On() }

// weightOf returns the number of copies of usual size that take as much memory as this one.
func weightOf(copied library.ContentRows) int {
	c := &copied.Header.Content
	size := len(c.ID) + len(c.Title) + len(c.CanonicalURL) + len(c.Page)
	for _, text := range []*string{c.Description, c.Link} {
		if text != nil {
			size += len(*text)
		}
	}
	return 1 + size/usualTexts
}

// usesCopies reports whether the headers of this page may be copies. The entry of the owner's
// library confirms the owner's role and no other.
func (r *reading) usesCopies() bool { return r.s.copies != nil && len(r.Members) == 1 }

// openLibrary reads the first slice of a page. If copies are in use, it first reads the in-flight
// lists, and before them the newest entry: a copy shows the position that the item had when the
// lists were read, so with a bound that was read later a walk could return an item twice.
func (r *reading) openLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	if !r.usesCopies() || !r.s.copies.inUse.On() {
		r.inFlightRead.Done(nil)
		return r.openFirst(ctx, q, newest)
	}
	var last []library.Entry
	if newest {
		var err error
		if last, err = r.s.libraries.PageLibrary(ctx, library.Slice{Owner: q.Owner, Bucket: q.Bucket, Limit: 1}); err != nil {
			return nil, err
		}
	}
	if r.inFlightRead == nil {
		r.inFlightRead = r.s.people.Headers.BeginInFlight(r.v)
	}
	// Without an in-flight set, every header is read.
	r.inFlight, _ = r.s.copies.inFlight.Read(ctx)
	r.inFlightRead.Done(r.inFlight)
	o, err := r.s.libraries.OpenLibrary(ctx, q, false)
	if err == nil && len(last) == 1 {
		o.Newest = &library.EntryKey{Position: last[0].Position, Content: last[0].Content}
	}
	return o, err
}

// items returns the items of entries, in their order, with the rows of r.Members.
func (r *reading) items(ctx context.Context, es []library.Entry) ([]library.ContentRows, error) {
	if len(es) == 0 {
		return nil, nil
	}
	ids := make([]library.ContentID, 0, len(es))
	if !r.usesCopies() {
		for i := range es {
			ids = append(ids, es[i].Content)
		}
		return r.readItems(ctx, ids)
	}
	rows := make([]library.ContentRows, len(es))
	missing := r.fromCopies(ctx, es, rows)
	if len(missing) == 0 {
		return rows, nil
	}
	for _, i := range missing {
		ids = append(ids, es[i].Content)
	}
	began := sched.Present(r.s.rt)
	read, err := r.readItems(ctx, ids)
	if err != nil {
		return nil, err
	}
	for n, i := range missing {
		rows[i] = read[n]
		if h := &read[n].Header; h.State == commit.Live {
			r.s.copies.cache.Put(copyKey{h.ID, r.owner}, read[n], h.MTS, began)
		}
	}
	return rows, nil
}

// readItems reads items, with the rows of r.Members.
func (r *reading) readItems(ctx context.Context, ids []library.ContentID) ([]library.ContentRows, error) {
	rows, err := r.s.contents.ReadMany(ctx, ids, r.Members)
	if err != nil {
		return nil, fmt.Errorf("read the items of a library: %w", err)
	}
	return rows, nil
}

// fromCopies fills in the copies that may serve their entries, and returns the indexes of all
// other entries.
func (r *reading) fromCopies(ctx context.Context, es []library.Entry, rows []library.ContentRows) (missing []int) {
	c, now := r.s.copies, sched.Present(r.s.rt)
	hits, refused := 0, 0
	for i, e := range es {
		copied, ok, old := c.cache.Get(copyKey{e.Content, r.owner}, e.MTS, now)
		switch {
		case ok && r.inFlight == nil:
			hits++ // even while copies are not in use
			missing = append(missing, i)
		case ok && !r.inFlight.Has(commit.Content, string(e.Content)):
			hits++
			rows[i] = copied
			if c.sampler.Choose() {
				r.sample(ctx, e, copied)
			}
		default:
			if ok || old {
				refused++
			}
			missing = append(missing, i)
		}
	}
	r.countHits(len(es), hits)
	if r.inFlight != nil {
		c.watch.Copied(hits, refused, len(es)-hits-refused)
	}
	return missing
}

// countHits counts entries for the decision whether copies are in use. The in-flight lists are read
// once for a page, however many entries it scans. So the entries that a filtered page reads at once
// count as no more than those of a usual page. Otherwise one search in a library that nobody has
// read would end the use of copies for all.
func (r *reading) countHits(entries, hits int) {
	if r.filter != nil {
		entries = min(entries, cursor.DefaultPageSize)
		hits = min(hits, entries)
	}
	r.s.copies.inUse.Count(entries, hits, r.s.rt.Elapsed())
}

// sample compares a copy that was served with its header, in the background. If it was wrong,
// copies are not used any more.
func (r *reading) sample(ctx context.Context, e library.Entry, copied library.ContentRows) {
	s, life := r.s, r.s.rt.Detach(ctx)
	owner, source := r.owner, r.Source
	s.rt.Go(func() {
		ctx, cancel := s.rt.Deadline(life, sampleWithin)
		defer cancel()
		wrong, err := s.copyIsWrong(ctx, owner, source, e, &copied)
		if err == nil && wrong {
			s.servedWrong(ctx, slog.String("content", string(e.Content)), slog.String("library", string(owner)))
		}
	})
}

// copyIsWrong reports whether a copy was served that must not have been: the header differs
// from it, no change is in flight, and none has reached the library since. The reads have this
// order, so that a later one sees a change that is made in between.
func (s *Service) copyIsWrong(ctx context.Context, owner principal.ID, source library.Bucket, e library.Entry, copied *library.ContentRows) (bool, error) {
	rows, err := s.contents.ReadMany(ctx, []library.ContentID{e.Content}, []principal.ID{owner})
	if err != nil || rows[0].Header.MTS <= copied.Header.MTS || showsSame(&rows[0], copied) {
		return false, err
	}
	set, err := s.copies.inFlight.Read(ctx)
	if err != nil || set.Has(commit.Content, string(e.Content)) {
		return false, err
	}
	// No id is between an id and the same id with a zero byte appended.
	after := &library.EntryKey{Position: e.Position, Content: e.Content + "\x00"}
	es, err := s.libraries.PageLibrary(ctx, library.Slice{Owner: owner, Bucket: source, From: after, Limit: 1})
	if err != nil || len(es) == 0 {
		return false, err
	}
	return es[0].Position == e.Position && es[0].Content == e.Content && es[0].MTS <= copied.Header.MTS, nil
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

// CopyStats describes the header cache, for operators.
type CopyStats struct {
	Copies int // copies that are kept of headers of items
	// Principals is the number of copies that are kept of headers of principals.
	Principals int
	InFlight   int  // items and principals in the set that was read last
	InUse      bool // whether pages are served from copies
}

// CopyStats returns the current counts; ok is false if no copies are kept.
func (s *Service) CopyStats() (st CopyStats, ok bool) {
	if s.copies == nil {
		return st, false
	}
	return CopyStats{Copies: s.copies.cache.Len(), Principals: s.people.Headers.Copies(), InFlight: s.copies.inFlight.Size(), InUse: s.copies.inUse.On()}, true
}
