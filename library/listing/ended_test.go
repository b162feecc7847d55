package listing_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// leaving is a store whose client leaves as soon as items were read.
type leaving struct {
	library.ContentStore
	leave func()
}

// on returns s with the changes.
func (l *leaving) on(s domain.Store) domain.Store {
	l.ContentStore, s.Contents = s.Contents, l
	return s
}

func (l *leaving) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	rows, err := l.ContentStore.ReadMany(ctx, ids, members)
	l.leave()
	return rows, err
}

// TestFilter_ComparesNothingAfterTheEnd: the texts of items are not compared when the page's context
// has ended. All of them are read at once, so no later read reports the end.
func TestFilter_ComparesNothingAfterTheEnd(t *testing.T) {
	text := strings.Repeat("garden ", 1428)
	r, _ := long(t, 40, func(_ int, h *library.Header) { h.Description = &text })
	ctx, leave := context.WithCancel(t.Context())
	svc := r.OpenProcess((&leaving{leave: leave}).on(r.Store.Store))
	q := library.LibraryQuery{Filter: &library.LibraryFilter{Text: domaintest.Ptr("end")}}
	if _, err := svc.Listing.Library(ctx, domaintest.Anonymous(), "u:acme:ann", q); !errors.Is(err, context.Canceled) {
		t.Errorf("the page was searched to its end: %v", err)
	}
}
