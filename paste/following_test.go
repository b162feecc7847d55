package paste_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/paste"
	"carrel/principal"
)

// follow follows the pastes until the end of the test.
func (h pastes) follow(svc *paste.Service, after *string) *paste.Follower {
	h.T.Helper()
	f, err := svc.Follow(h.T.Context(), after)
	if err != nil {
		h.T.Fatalf("following: %v", err)
	}
	h.T.Cleanup(f.Close)
	return f
}

// wantNext compares the titles of the next pastes.
func (h pastes) wantNext(f *paste.Follower, want ...string) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), 10*time.Second)
	defer cancel()
	for _, title := range want {
		f.Await(ctx)
		p, err := f.Next(ctx)
		if err != nil {
			h.T.Fatalf("waiting for %q: %v", title, err)
		}
		if *p.Title != title {
			h.T.Fatalf("the next paste is %q, want %q", *p.Title, title)
		}
	}
}

func TestFollow_DeliversNewPublicPastesOnce(t *testing.T) {
	h := newPastes(t)
	h.create(titled("before"))
	f, g := h.follow(h.Pastes, nil), h.follow(h.Pastes, nil)
	born := titled("private")
	born.IsPrivate = true
	private := h.create(born)
	first := h.create(titled("1"))
	for _, made := range []*paste.Created{private, first, first} {
		if err := h.setPrivate(made, false); err != nil {
			t.Fatal(err)
		}
	}
	hidden := h.create(titled("hidden"))
	if err := h.setPrivate(hidden, true); err != nil {
		t.Fatal(err)
	}
	h.create(titled("2"))
	h.wantNext(f, "1", "2")
	h.wantNext(g, "1", "2")
}

func TestFollow_ResumesAfterACursor(t *testing.T) {
	h := newPastes(t)
	h.create(titled("1"))
	page, err := h.Pastes.Latest(t.Context(), backendtest.First(1))
	if err != nil {
		t.Fatal(err)
	}
	h.create(titled("2"))
	end := clock.Of(h.Runtime.Now())
	gone := titled("expired")
	gone.ExpiresAt = backendtest.Ptr(end.Add(time.Hour))
	h.create(gone)
	h.create(titled("3"))
	f := h.follow(h.at(end.Add(time.Hour)).Pastes, backendtest.Ptr(page.Edges[0].Cursor()))
	h.wantNext(f, "2", "3")

	f = h.follow(h.Pastes, backendtest.Ptr(page.Edges[0].Cursor()))
	h.create(titled("4"))
	h.wantNext(f, "2", "expired", "3", "4")
	_, err = h.Pastes.Follow(t.Context(), backendtest.Ptr("nonsense"))
	backendtest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
}

// A follower that does not receive pastes in time is cut off, and can resume.
func TestFollow_SlowClientIsCutOffAndResumes(t *testing.T) {
	h := newPastes(t)
	f := h.follow(h.Pastes, nil)
	h.create(titled("0"))
	page, err := h.Pastes.Latest(t.Context(), backendtest.First(1))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := 1; n <= 256; n++ {
		want = append(want, fmt.Sprint(n))
		h.create(titled(fmt.Sprint(n)))
	}
	_, err = f.Next(t.Context())
	backendtest.WantReason(t, err, fault.Exhausted, fault.ReasonSlow)
	h.wantNext(h.follow(h.Pastes, backendtest.Ptr(page.Edges[0].Cursor())), want...)
}

// New pastes of another gateway are found in the feed, once each.
func TestFollow_DeliversPastesOfOtherGateways(t *testing.T) {
	g := backendtest.NewGateways(t)
	one, _ := g.Open(0, false)
	other, clock := g.Open(3*time.Second, false)
	mine := pastes{Fixture: one, anonymous: &principal.Viewer{}}
	theirs := pastes{Fixture: other, anonymous: &principal.Viewer{}}
	theirs.create(titled("before"))
	f := mine.follow(one.Pastes, nil)
	clock.Set(g.Start.Add(5 * time.Second))
	theirs.create(titled("1"))
	mine.wantNext(f, "1")
	mine.create(titled("2"))
	mine.wantNext(f, "2")
	born := titled("private")
	born.IsPrivate = true
	private := theirs.create(born)
	if err := theirs.setPrivate(private, false); err != nil {
		t.Fatal(err)
	}
	clock.Set(g.Start.Add(6 * time.Second))
	theirs.create(titled("3"))
	mine.wantNext(f, "3")
}

// A paste whose gateway died before it was listed is delivered when another gateway has listed it.
func TestFollow_DeliversPastesListedLate(t *testing.T) {
	h := newPastes(t)
	services := backendtest.OpenAll(t, backend.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &backendtest.CountingNames{}, Remote: true,
	})
	f := h.follow(services.Pastes, nil)
	made := h.create(titled("a"))
	if _, err := services.Engine.Resume(t.Context(), entryOf(made.Paste.ID, 0)); err != nil {
		t.Fatal(err)
	}
	h.wantNext(f, "a")
}
