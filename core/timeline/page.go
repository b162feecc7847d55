package timeline

import (
	"context"
	"slices"
)

// MaxScanned is how many entries a page scans at most. Entries that are not shown count.
const MaxScanned = 2000

// judgedAtOnce is how many entries are checked at least, after those that are wanted.
const judgedAtOnce = 8

// Query is what a page asks for.
type Query struct {
	Size int
	// Place is the entry that the page lies behind; nil: the end of the feed. Nothing needs
	// to be there any more.
	Place *Entry
	// Newer asks for the entries that are next newer than the place, or for the oldest
	// ones, in place of those that are next older, or the newest.
	Newer bool
}

// Judge returns what each of some entries names, nil where it is not to be shown. It
// decides by the rows that the entries are derived from.
type Resolve[T any] func(ctx context.Context, entries []Entry) ([]*T, error)

// Found is something shown on a page, with its place.
type Found[T any] struct {
	Entry Entry
	Item  *T
}

// Page is a page of a feed, the newest first.
type Page[T any] struct {
	Found []Found[T]
	Ends
}

// Ends tells where a page lies in its feed.
type Ends struct {
	// HasNewer and HasOlder report whether the feed shows more on either side. They are
	// exact, unless too many entries there are not shown to look further.
	HasNewer, HasOlder bool
	// Newest and Oldest are the places from which to go on to either side; nil: nothing was
	// scanned, and the page has no place.
	Newest, Oldest *Entry
}

// Read reads a page of a feed.
func Read[T any](ctx context.Context, t *Timelines, feed Feed, q Query, judge Resolve[T]) (*Page[T], error) {
	var on, back scan[T]
	sides := 1
	if q.Place != nil {
		sides = 2 // otherwise the page begins where the feed ends
	}
	err := t.each(ctx, sides, func(side int) (err error) {
		if side == 0 {
			on, err = run(ctx, t, feed, q.Place, q.Newer, q.Size, nil, judge)
			return err
		}
		// Whatever is at the place itself is on the other side of the page.
		back, err = run(ctx, t, feed, q.Place, !q.Newer, 0, []Entry{*q.Place}, judge)
		return err
	})
	if err != nil {
		return nil, err
	}
	p := &Page[T]{Found: on.found, Ends: Ends{HasOlder: on.more, HasNewer: back.more, Newest: q.Place, Oldest: q.Place}}
	if on.scanned {
		p.Newest, p.Oldest = &on.first, &on.last
	}
	if q.Newer {
		slices.Reverse(p.Found)
		p.HasOlder, p.HasNewer = p.HasNewer, p.HasOlder
		p.Newest, p.Oldest = p.Oldest, p.Newest
	}
	return p, nil
}

// scan is the outcome of a walk whose entries are checked.
type scan[T any] struct {
	found []Found[T]
	// more: something follows that is shown, or may be.
	more bool
	// first and last are the places of the first and the last entry of the page: of those
	// shown, or of those scanned where the scan was cut short.
	first, last Entry
	scanned     bool
}

// run walks until it has found so many and one more, the feed ends, or MaxScanned entries
// were checked or more than can be passed over have expired. ahead are entries that come before those of the walk.
func run[T any](ctx context.Context, t *Timelines, feed Feed, from *Entry, newer bool, want int, ahead []Entry, judge Resolve[T]) (scan[T], error) {
	var s scan[T]
	w, err := t.newWalk(ctx, feed, from, newer, want+1)
	if err != nil {
		return s, err
	}
	for left := MaxScanned; ; {
		n := min(max(want+1-len(s.found), judgedAtOnce), left)
		if len(s.found) == 0 && left == MaxScanned {
			n = want + 1 // most pages need no entry beyond these
		}
		entries := ahead
		if ahead = nil; len(entries) == 0 {
			if entries, err = w.take(ctx, n); err != nil {
				return s, err
			}
			if len(entries) == 0 {
				if w.left == 0 {
					s.cut(*w.last)
				}
				return s, nil
			}
		}
		items, err := judge(ctx, entries)
		if err != nil {
			return s, err
		}
		if s.add(entries, items, want) {
			return s, nil
		}
		if left -= len(entries); left <= 0 {
			s.cut(entries[len(entries)-1])
			return s, nil
		}
	}
}

// add takes checked entries. It reports whether the page is full.
func (s *scan[T]) add(entries []Entry, items []*T, want int) (full bool) {
	for i, item := range items {
		switch {
		case item == nil:
			continue
		case len(s.found) == want:
			s.more = true
			return true
		}
		s.found = append(s.found, Found[T]{entries[i], item})
		if s.last = entries[i]; !s.scanned {
			s.first, s.scanned = entries[i], true
		}
	}
	return false
}

// cut ends the page at the last entry that was scanned: a client goes on from there.
func (s *scan[T]) cut(at Entry) {
	s.more = true
	if s.last = at; !s.scanned {
		s.first, s.scanned = s.last, true
	}
}
