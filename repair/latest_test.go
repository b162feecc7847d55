package repair_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// steeredReads is a store that calls before ahead of each ReadMany.
type steeredReads struct {
	library.ContentStore
	before func()
}

func (s *steeredReads) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.before()
	return s.ContentStore.ReadMany(ctx, ids, members)
}

// A page that needs a second read leaves out an item of the first one that has expired meanwhile.
func TestLatestContent_LeavesOutWhatExpiresDuringThePage(t *testing.T) {
	h := domaintest.Town(t)
	for i := range 4 {
		h.Note(fmt.Sprint(i), principal.Public, "u:acme:ann=MANAGER")
	}
	hidden := h.Note("hidden", principal.Public, "u:acme:ann=MANAGER")
	ends := h.Note("ends", principal.Public, "u:acme:ann=MANAGER")
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	if _, err := h.Library.UpdateContent(t.Context(), domaintest.Ann(), library.UpdateContent{
		ID: string(ends), ExpiresAt: input.Optional[*clock.Instant]{Set: true, Value: &end},
	}); err != nil {
		t.Fatal(err)
	}

	rt := &domaintest.WallClock{Real: h.Runtime}
	rt.Wall.Store(int64(end) - 1)
	reads := 0
	store := h.Store
	store.Contents = &steeredReads{store.Contents, func() {
		switch reads++; reads {
		case 1:
			h.Update(hidden, "hidden", principal.Private)
		case 2:
			rt.Wall.Store(int64(end))
		}
	}}
	svc := domaintest.Open(t, domain.Config{Store: store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	page, err := svc.Library.LatestContent(t.Context(), &principal.Viewer{}, "acme", domaintest.First(2))
	if err != nil || reads != 2 {
		t.Fatalf("the page took %d reads, want 2; %v", reads, err)
	}
	if len(page.Edges) != 1 || page.Edges[0].Node.ID == ends || !page.PageInfo.HasNextPage {
		t.Errorf("the page has %d items and %+v, want only the item that has not expired, and a next page", len(page.Edges), page.PageInfo)
	}
}
