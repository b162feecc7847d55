package paste_test

import (
	"fmt"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/paste"
)

// A page that needs a second read leaves out a paste of the first one that has expired meanwhile.
func TestLatest_LeavesOutWhatExpiresDuringThePage(t *testing.T) {
	h := newPastes(t)
	now := clock.Of(h.Runtime.Now())
	end := now.Add(time.Hour)
	for i := range 4 {
		h.create(titled(fmt.Sprint(i)))
	}
	hidden := h.create(titled("hidden"))
	ends := titled("ends")
	ends.ExpiresAt = &end
	h.create(ends)

	rt := &domaintest.WallClock{Real: h.Runtime}
	rt.Wall.Store(int64(end) - 1)
	svc := domaintest.Open(t, domain.Config{Store: h.Store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}}).Pastes
	reads := 0
	h.faults.set(func() {
		h.faults.readPastes = func() {
			switch reads++; reads {
			case 1:
				if err := h.setPrivate(hidden, true); err != nil {
					t.Error(err)
				}
			case 2:
				rt.Wall.Store(int64(end))
			}
		}
	})
	page, err := svc.Latest(t.Context(), domaintest.First(2))
	if err != nil || reads != 2 {
		t.Fatalf("the page took %d reads, want 2; %v", reads, err)
	}
	if got := titlesOf(page); len(got) != 1 || got[0] != "3" || !page.PageInfo.HasNextPage {
		t.Errorf("the page has %v and %+v, want only the paste that has not expired, and a next page", got, page.PageInfo)
	}
}

// A paste that ends before its long body is read is left out of the page.
func TestLoadBodies_LeavesOutWhatHasEnded(t *testing.T) {
	h := newPastes(t)
	in := titled("kept")
	in.Body = long
	h.create(in)
	in = titled("deleted")
	in.Body = long
	deleted := h.create(in)
	h.create(titled("short"))
	page, err := h.Pastes.Latest(t.Context(), domaintest.First(10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Pastes.Delete(t.Context(), paste.Delete{ID: string(deleted.Paste.ID), Secret: deleted.Secret}); err != nil {
		t.Fatal(err)
	}
	if err := h.Pastes.LoadBodies(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"short": "body of short", "kept": long}
	for _, p := range page.Nodes() {
		if !p.Body.Loaded() || p.Body.Text != want[*p.Title] {
			t.Errorf("the body of %q is %.20q, want %.20q", *p.Title, p.Body.Text, want[*p.Title])
		}
		delete(want, *p.Title)
	}
	if len(want) > 0 {
		t.Errorf("the page lacks %v", want)
	}
}
