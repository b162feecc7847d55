package listing

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// mergeWidth is how many slices of a merged page are read at once from a remote store.
const mergeWidth = 16

// merged reports whether the page merges the viewer's bucket with the libraries of the viewer and of
// its groups. Entries of the owner's library on which the viewer has no role are not read at all, so
// nothing depends on how many there are: neither the page and its end, nor its cost, nor its time.
func (p *page) merged() bool { return len(p.Libraries) > 0 }

// sliceOf reads a slice of one library. The first slice of a page opens the library; newest requests
// its newest entry, too.
func (p *page) sliceOf(ctx context.Context, q library.Slice, first, newest bool) (*library.Opening, error) {
	if first {
		return p.s.libraries.OpenLibrary(ctx, q, newest)
	}
	es, err := p.s.libraries.PageLibrary(ctx, q)
	return &library.Opening{Entries: es}, err
}

// slice is sliceOf for the owner's bucket. For a merged page it also reads the same slices of the
// other libraries, and merges them. Each is as long as the result, so the result is complete.
func (p *page) slice(ctx context.Context, q library.Slice, first, newest bool) (*library.Opening, error) {
	if !p.merged() {
		return p.sliceOf(ctx, q, first, newest)
	}
	owners := append([]principal.ID{p.Owner}, p.Libraries...)
	read := make([]*library.Opening, len(owners))
	p.v.ReadLibraries(len(p.Libraries) - 1)
	width := 1
	if p.s.remote {
		width = mergeWidth
	}
	err := sched.ForEach(ctx, p.s.rt, len(owners), width, func(i int) (err error) {
		q := q
		if q.Owner = owners[i]; i > 0 {
			q.Bucket = principal.Private
		}
		read[i], err = p.sliceOf(ctx, q, first, newest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the libraries of the viewer: %w", err)
	}
	all := &library.Opening{Built: true}
	p.unbuilt = nil
	for i, o := range read {
		if first && !o.Built {
			must, err := p.hasLibrary(ctx, owners[i])
			if err != nil {
				return nil, err
			}
			if must {
				all.Built, p.unbuilt = false, append(p.unbuilt, owners[i])
			}
		}
		all.Entries = append(all.Entries, o.Entries...)
		if o.Newest != nil && (all.Newest == nil || all.Newest.Less(*o.Newest)) {
			all.Newest = o.Newest
		}
	}
	slices.SortFunc(all.Entries, func(a, b library.Entry) int {
		if q.Ascending {
			return a.Compare(b.EntryKey)
		}
		return b.Compare(a.EntryKey)
	})
	all.Entries = slices.CompactFunc(all.Entries, func(a, b library.Entry) bool { return a.EntryKey == b.EntryKey })
	all.Entries = all.Entries[:min(len(all.Entries), q.Limit)]
	return all, nil
}

// hasLibrary reports whether the library of an owner must be complete. A viewer whose user does not exist has none.
func (p *page) hasLibrary(ctx context.Context, owner principal.ID) (bool, error) {
	if owner != p.v.User {
		return true, nil
	}
	u, err := p.s.people.ViewerUser(ctx, p.v)
	return u != nil, err
}
