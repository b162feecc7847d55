package paste_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
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

// next returns the next paste that is reported.
func next(ctx context.Context, f *paste.Follower) (*paste.Paste, error) {
	for {
		f.Await(ctx)
		if p, err := f.Next(ctx); p != nil || err != nil {
			return p, err
		}
	}
}

// wantNext compares the titles of the next pastes.
func (h pastes) wantNext(f *paste.Follower, want ...string) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), 10*time.Second)
	defer cancel()
	for _, title := range want {
		p, err := next(ctx, f)
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
	page, err := h.Pastes.Latest(t.Context(), domaintest.First(1))
	if err != nil {
		t.Fatal(err)
	}
	h.create(titled("2"))
	end := clock.Of(h.Runtime.Now())
	gone := titled("expired")
	gone.ExpiresAt = domaintest.Ptr(end.Add(time.Hour))
	h.create(gone)
	h.create(titled("3"))
	f := h.follow(h.at(end.Add(time.Hour)).Pastes, domaintest.Ptr(page.Edges[0].Cursor()))
	h.wantNext(f, "2", "3")

	f = h.follow(h.Pastes, domaintest.Ptr(page.Edges[0].Cursor()))
	h.create(titled("4"))
	h.wantNext(f, "2", "expired", "3", "4")
	_, err = h.Pastes.Follow(t.Context(), domaintest.Ptr("nonsense"))
	domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
}

// A follower that does not receive pastes in time is cut off, and can resume.
func TestFollow_SlowClientIsCutOffAndResumes(t *testing.T) {
	h := newPastes(t)
	f := h.follow(h.Pastes, nil)
	h.create(titled("0"))
	page, err := h.Pastes.Latest(t.Context(), domaintest.First(1))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := 1; n <= 256; n++ {
		want = append(want, fmt.Sprint(n))
		h.create(titled(fmt.Sprint(n)))
	}
	_, err = f.Next(t.Context())
	domaintest.WantReason(t, err, fault.Exhausted, fault.ReasonSlow)
	h.wantNext(h.follow(h.Pastes, domaintest.Ptr(page.Edges[0].Cursor())), want...)
}

// newTwo returns two gateways on one store. The clock of the second is ahead of the first by a known
// duration.
func newTwo(t *testing.T, ahead time.Duration) (one, two pastes) {
	t.Helper()
	store := simulator.NewClient(simulator.NewStore(nil), nil)
	open := func(ahead time.Duration) pastes {
		rt := sched.NewReal()
		t.Cleanup(rt.Close)
		later := domaintest.Later{Real: rt, By: ahead}
		f := &faulty{calls: map[string]int{}}
		h := &domaintest.Fixture{T: t, Store: f.on(store.Store), Runtime: rt, Journal: journal.New(t.Context(), store.Journal, later, nil)}
		h.Services = domaintest.Open(t, domain.Config{
			Store: h.Store, Runtime: later, Journal: h.Journal, Names: &domaintest.CountingNames{}, Notifier: store, Remote: true,
			Ahead: func() time.Duration { return ahead },
		})
		return pastes{Fixture: h, faults: f, anonymous: &principal.Viewer{}}
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
	services := domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{}, Remote: true,
	})
	f := h.follow(services.Pastes, nil)
	made := h.create(titled("a"))
	if _, err := services.Background().Resume(t.Context(), entryOf(made.Paste.ID, 0)); err != nil {
		t.Fatal(err)
	}
	h.wantNext(f, "a")
}

// newest returns the cursor of the newest paste.
func (h pastes) newest() *string {
	h.T.Helper()
	page, err := h.Pastes.Latest(h.T.Context(), domaintest.First(1))
	if err != nil {
		h.T.Fatal(err)
	}
	return domaintest.Ptr(page.Edges[0].Cursor())
}

// pause waits for a time of the synctest bubble.
func (h pastes) pause(d time.Duration) {
	h.T.Helper()
	if err := h.Runtime.After(h.T.Context(), d); err != nil {
		h.T.Fatal(err)
	}
}

// A paste that is listed after the page of a cursor was read, at an earlier position than the cursor's, is
// delivered to a follower that resumes after it. Pastes that were created long before that are not.
func TestFollow_ResumesWithPastesListedLate(t *testing.T) {
	for _, late := range []time.Duration{time.Second, 8 * time.Second, 170 * time.Second} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mine, theirs := newTwo(t, -late)
				mine.create(titled("old"))
				mine.pause(10 * time.Minute)
				mine.create(titled("at the cursor"))
				after := mine.newest()
				theirs.create(titled("late"))
				mine.pause(time.Hour)
				f := mine.follow(mine.Pastes, after)
				mine.create(titled("new"))
				mine.wantNext(f, "late", "new")
			})
		})
	}
}

// The page of a cursor may miss what others have listed shortly before it was read. A follower that resumes after the
// cursor receives that, even if it was listed as late as is possible.
func TestFollow_ResumesWithPastesThatThePageMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const passes = 900 * time.Millisecond
		mine, theirs := newTwo(t, -3*time.Minute+passes/2)
		// The cursor says when the page was read, truncated to cursor.ReadUnit: here to passes/10 before.
		now := mine.Runtime.Now()
		mine.pause(now.Truncate(cursor.ReadUnit).Add(cursor.ReadUnit - passes + passes/10).Sub(now))
		mine.create(titled("at the cursor"))
		mine.newest()
		theirs.create(titled("late"))
		mine.pause(passes)
		after := mine.newest()
		mine.pause(time.Hour)
		mine.wantNext(mine.follow(mine.Pastes, after), "late")
	})
}

// While the feed cannot be read, no follower begins: the old pastes would be delivered as new ones.
func TestFollow_BeginsAfterTheFirstRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := newTwo(t, 0)
		for n := range 3 {
			theirs.create(titled(fmt.Sprint("old ", n)))
		}
		var reads atomic.Int64 // of partitions, several at a time
		mine.faults.set(func() {
			mine.faults.listEntries = func() error {
				if reads.Add(1) > 3 {
					return nil
				}
				return errors.New("the node was lost")
			}
		})
		f := mine.follow(mine.Pastes, nil)
		theirs.create(titled("new"))
		mine.wantNext(f, "new")
	})
}

// A paste of another gateway is delivered even if the feed cannot be read for long after its creation.
func TestFollow_DeliversAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := newTwo(t, 0)
		f := mine.follow(mine.Pastes, nil)
		mine.pause(time.Minute)
		mine.faults.set(func() { mine.faults.listEntries = func() error { return errors.New("the node was lost") } })
		theirs.create(titled("during the outage"))
		mine.pause(10 * time.Minute)
		mine.faults.set(func() { mine.faults.listEntries = nil })
		mine.wantNext(f, "during the outage")
	})
}

// received returns the titles that a follower delivers within a time of the synctest bubble.
func (h pastes) received(f *paste.Follower, within time.Duration) (titles []string) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), within)
	defer cancel()
	for {
		p, err := next(ctx, f)
		if err != nil {
			return titles
		}
		titles = append(titles, *p.Title)
	}
}

// A follower after the Cursor of another receives everything that this one did not return: missed pastes, pastes that
// have arrived, and pastes that are listed late. It does not begin again: what was returned and is not recent
// is not returned again.
func TestCursor_ContinuesWithoutLoss(t *testing.T) {
	for returned := 1; returned <= 6; returned++ {
		t.Run(fmt.Sprint("after ", returned), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mine, theirs := newTwo(t, -170*time.Second)
				mine.create(titled("before"))
				after := mine.newest()
				all := []string{"1", "2", "3", "4", "5", "6"}
				for _, title := range all[:3] {
					mine.pause(10 * time.Minute)
					mine.create(titled(title))
				}
				f := mine.follow(mine.Pastes, after)
				for _, title := range all[3:] { // they arrive
					mine.pause(10 * time.Minute)
					theirs.create(titled(title))
				}
				mine.pause(10 * time.Minute)
				mine.wantNext(f, all[:returned]...)
				resume := f.Cursor()
				theirs.create(titled("late"))
				mine.pause(time.Minute)
				if got := mine.received(mine.follow(mine.Pastes, &resume), time.Minute); !slices.Equal(got, append(all[returned:], "late")) {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}

// A follower reads what it has missed in parts, and holds no more than one of them.
func TestFollow_ReadsMissedPastesInParts(t *testing.T) {
	h := newPastes(t)
	h.create(titled("first"))
	after := h.newest()
	var want []string
	for n := range 600 {
		want = append(want, fmt.Sprint(n))
		h.create(titled(fmt.Sprint(n)))
	}
	h.faults.set(func() { clear(h.faults.calls) })
	f := h.follow(h.Pastes, after)
	if n := h.faults.calls["ListEntries"]; n != 0 {
		t.Errorf("%d reads before the first paste is requested", n)
	}
	h.wantNext(f, want[:100]...)
	part := h.faults.calls["ListEntries"]
	h.create(titled("new"))
	h.wantNext(f, append(want[100:], "new")...)
	if n := h.faults.calls["ListEntries"]; part > n/2 {
		t.Errorf("%d of %d reads for the first hundred of 600 pastes", part, n)
	}
}

// A follower that has missed more than 10,000 pastes must read the list again.
func TestFollow_TooManyMissedPastesEndIt(t *testing.T) {
	for missed, want := range map[int]fault.Reason{9_999: "", 10_500: fault.ReasonResync} {
		h := newPastes(t)
		first := h.create(titled("first")).Paste.CreatedAt
		after := h.newest()
		feeds := feed.New(feed.Config{Store: h.faults.feedStore, Runtime: h.Runtime})
		for n := range missed {
			e := feed.Entry{Created: first.Add(time.Duration(n+1) * time.Microsecond), ID: fmt.Sprintf("p:%032x", n)}
			if err := feeds.Put(t.Context(), "pastes", e, e.Created); err != nil {
				t.Fatal(err)
			}
		}
		f := h.follow(h.Pastes, after)
		var err error
		entries := 0
		for ; entries < missed && err == nil; entries++ {
			_, err = f.Next(t.Context())
		}
		if got := fault.ReasonOf(err); got != want || entries < 9_999 || entries > 10_300 {
			t.Errorf("of %d pastes, entry %d has the error %v", missed, entries, err)
		}
	}
}

// A paste that is listed late, while its follower still delivers missed pastes, is behind the Cursor too.
func TestCursor_CoversArrivalsBeforeMissedPastes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := newTwo(t, -170*time.Second)
		mine.create(titled("before"))
		after := mine.newest()
		mine.pause(10 * time.Minute)
		mine.create(titled("first"))
		mine.pause(time.Second) // pastes of one instant are in the order of their ids
		mine.create(titled("second"))
		f := mine.follow(mine.Pastes, after)
		mine.wantNext(f, "first")
		theirs.create(titled("late"))
		mine.pause(10 * time.Minute)
		resume := f.Cursor()
		if got := mine.received(mine.follow(mine.Pastes, &resume), time.Minute); !slices.Contains(got, "late") ||
			!slices.Contains(got, "second") {
			t.Errorf("got %v", got)
		}
	})
}
