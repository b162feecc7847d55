package listing

import (
	"context"

	"carrel/core/commit"
	"carrel/library"
)

// Items reads the items of entries of a library.
type Items interface {
	// ReadItems reads the items of entries of r's library, in their order, with the rows of r.Members. It may serve
	// what was read before, if it is current or set, the changes that were in flight before the entries were read,
	// shows that it is; set may be nil. Nobody may change what ReadItems returns.
	ReadItems(ctx context.Context, r *library.Reading, es []library.Entry, set *commit.InFlightSet) ([]*library.ContentRows, error)
	// InFlightLists returns the reader of the lists that ReadItems needs to serve what was read before; nil: it needs
	// none, or serves nothing.
	InFlightLists() *commit.InFlightReader
}

// openLibrary reads the first slice of a page. If headers are served that were read before, it first reads the
// in-flight lists, and before them the newest entry: a served header shows the position that the item had when the
// lists were read, so with a bound that was read later a walk could return an item twice.
func (p *page) openLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	lists := p.s.items.InFlightLists()
	if lists == nil || len(p.Members) != 1 { // the entry of the owner's library confirms the owner's role and no other
		p.inFlightRead.Done(nil)
		return p.slice(ctx, q, true, newest)
	}
	last := &library.Opening{Built: true}
	if newest {
		var err error
		if last, err = p.s.libraries.OpenLibrary(ctx, library.Slice{Owner: q.Owner, Bucket: q.Bucket, Limit: 1}, false); err != nil {
			return nil, err
		}
	}
	if p.inFlightRead == nil {
		p.inFlightRead = p.v.BeginInFlight(p.s.rt)
	}
	// Without an in-flight set, every header is read.
	p.inFlight, _ = lists.Read(ctx)
	p.inFlightRead.Done(p.inFlight)
	o, err := p.s.libraries.OpenLibrary(ctx, q, false)
	if err != nil {
		return nil, err
	}
	if len(last.Entries) == 1 {
		o.Newest = &last.Entries[0].EntryKey
	}
	o.Built = o.Built && last.Built // a library that was being rebuilt had another newest entry
	return o, nil
}
