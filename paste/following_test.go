package paste_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/paste"
	"carrel/principal"
	"carrel/test/simulator"
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

// newTwo returns two gateways on one store. The clock of the second is ahead of the first by a known
// duration.
func newTwo(t *testing.T, ahead time.Duration) (one, two pastes) {
	t.Helper()
	store := simulator.NewClient(simulator.NewStore(nil), nil)
	open := func(ahead time.Duration) pastes {
		rt := sched.NewReal()
		t.Cleanup(rt.Close)
		later := backendtest.Later{Real: rt, By: ahead}
		h := &backendtest.Fixture{T: t, Store: store, Runtime: rt, Journal: journal.New(t.Context(), store, later, nil)}
		h.Pastes = backendtest.OpenAll(t, backend.Config{
			Store: store, Runtime: later, Journal: h.Journal, Names: &backendtest.CountingNames{}, Notifier: store, Remote: true,
			Ahead: func() time.Duration { return ahead },
		}).Pastes
		return pastes{Fixture: h, anonymous: &principal.Viewer{}}
	}
	return open(0), open(ahead)
}

// New pastes of another gateway are delivered within two seconds, once each, also if its clock
// differs. The time is that of the synctest bubble, in which work takes no time.
func TestFollow_DeliversPastesOfOtherGateways(t *testing.T) {
	for _, ahead := range []time.Duration{-8 * time.Second, 0, 8 * time.Second} {
		t.Run(fmt.Sprint("ahead by ", ahead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { deliversOfAnother(t, ahead) })
		})
	}
}

// deliversOfAnother creates pastes through two gateways, and follows them at one.
func deliversOfAnother(t *testing.T, ahead time.Duration) {
	mine, theirs := newTwo(t, ahead)
	theirs.create(titled("before"))
	f := mine.follow(mine.Pastes, nil)
	// A delivery follows a look for new pastes. So a paste that is created soon after a delivery
	// waits longest for the next look.
	const soon = time.Millisecond
	for n, pause := range []time.Duration{soon, 500 * soon, 999 * soon, 31 * time.Second, soon, soon} {
		if err := mine.Runtime.After(t.Context(), pause); err != nil {
			t.Fatal(err)
		}
		born := titled("private")
		born.IsPrivate = true
		private := theirs.create(born)
		if err := theirs.setPrivate(private, false); err != nil {
			t.Fatal(err)
		}
		created := mine.Runtime.Elapsed()
		theirs.create(titled(fmt.Sprint("theirs ", n)))
		mine.wantNext(f, fmt.Sprint("theirs ", n))
		if took := mine.Runtime.Elapsed() - created; took > 2*time.Second {
			t.Errorf("a paste of another gateway, %s after the one before, is delivered after %s", pause, took)
		}
		mine.create(titled(fmt.Sprint("mine ", n)))
		mine.wantNext(f, fmt.Sprint("mine ", n))
	}
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
