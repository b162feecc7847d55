package listing

import (
	"cmp"
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

// pageLibrary reads a slice of the owner's bucket, and of the other libraries of a merged page.
func (p *page) pageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	if !p.merged() {
		return p.s.libraries.PageLibrary(ctx, q)
	}
	o, err := p.openMerged(ctx, q, func(ctx context.Context, q library.Slice) (*library.Opening, error) {
		es, err := p.s.libraries.PageLibrary(ctx, q)
		return &library.Opening{Entries: es}, err
	})
	if err != nil {
		return nil, err
	}
	return o.Entries, nil
}

// openFirst is OpenLibrary for the owner's bucket, and for the other libraries of a merged page.
func (p *page) openFirst(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	open := func(ctx context.Context, q library.Slice) (*library.Opening, error) {
		return p.s.libraries.OpenLibrary(ctx, q, newest)
	}
	if !p.merged() {
		return open(ctx, q)
	}
	return p.openMerged(ctx, q, open)
}

// openMerged reads the slice q of the owner's bucket and the same slices of the other libraries, and
// merges them. Each is as long as the result, so the result is complete.
func (p *page) openMerged(ctx context.Context, q library.Slice,
	open func(context.Context, library.Slice) (*library.Opening, error)) (*library.Opening, error) {
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
		read[i], err = open(ctx, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the libraries of the viewer: %w", err)
	}
	all := &library.Opening{Built: read[0].Built}
	for _, o := range read {
		all.Entries = append(all.Entries, o.Entries...)
		if o.Newest != nil && (all.Newest == nil || all.Newest.Less(*o.Newest)) {
			all.Newest = o.Newest
		}
	}
	slices.SortFunc(all.Entries, func(a, b library.Entry) int {
		order := cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Content, b.Content))
		if !q.Newer {
			order = -order
		}
		return order
	})
	all.Entries = slices.CompactFunc(all.Entries, func(a, b library.Entry) bool {
		return a.Position == b.Position && a.Content == b.Content
	})
	all.Entries = all.Entries[:min(len(all.Entries), q.Limit)]
	return all, nil
}
