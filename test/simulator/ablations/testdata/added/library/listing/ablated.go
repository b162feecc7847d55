package listing

import (
	"context"

	"carrel/core/commit"
	"carrel/library"
)

// ablatedAhead reads a slice before what is in flight.
func (p *page) ablatedAhead(ctx context.Context, q library.Slice) (*library.Opening, error) {
	if commit.Ablated("slice-before-set") {
		return p.s.libraries.OpenLibrary(ctx, q, false)
	}
	return nil, nil
}

// ablatedOpen reads a slice unless that was done.
func (p *page) ablatedOpen(ctx context.Context, q library.Slice, o *library.Opening) (*library.Opening, error) {
	if o != nil {
		return o, nil
	}
	return p.s.libraries.OpenLibrary(ctx, q, false)
}
