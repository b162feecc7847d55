package storetest

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
)

// RunNotifier runs the checks of library.Notifier. open returns one that was empty when the
// suite started.
func RunNotifier(t *testing.T, open func(t *testing.T) library.Notifier) {
	for _, c := range notifierChecks() {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

type notifierCheck struct {
	name string
	run  func(t *testing.T, b library.Notifier)
}

func notifierChecks() []notifierCheck {
	return []notifierCheck{
		{"Announce must replace what the process announced before, unless that has a later Stamp", notifierReplaces},
		{"Announcements must return those of all processes that were acknowledged within the last AnnouncementKept", notifierReturnsAll},
	}
}

// wantAnnounced compares the announcements of some processes, in any order.
func wantAnnounced(t *testing.T, b library.Notifier, processes []commit.ListID, want ...library.Announcement) {
	t.Helper()
	all, err := b.Announcements(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []library.Announcement
	for _, a := range all {
		if slices.Contains(processes, a.Process) {
			got = append(got, a)
		}
	}
	order := []gocmp.Option{
		cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(x, y library.Announcement) bool { return x.Process < y.Process }),
		cmpopts.SortSlices(func(x, y library.Touch) bool { return cmp.Less(x.Principal, y.Principal) }),
		cmpopts.SortSlices(func(x, y library.Update) bool { return cmp.Less(x.Content, y.Content) }),
	}
	if diff := gocmp.Diff(want, got, order...); diff != "" {
		t.Errorf("announcements (-want +got):\n%s", diff)
	}
}

// announced returns an announcement with all fields set.
func announced(process commit.ListID, stamp int64) library.Announcement {
	at := clock.Instant(stamp)
	return library.Announcement{
		Process: process, Stamp: stamp, All: at - 5,
		Touched: []library.Touch{{Principal: "u:t:a", At: at - 1}, {Principal: "g:t:b/c", At: at - 2}},
		Updated: []library.Update{{Content: "c:t:x", At: at - 3}},
	}
}

func notifierReplaces(t *testing.T, b library.Notifier) {
	const process = commit.ListID("replaces")
	first, second := announced(process, int64(start)), library.Announcement{Process: process, Stamp: int64(start) + 10,
		Touched: []library.Touch{{Principal: "u:t:z", At: start + 9}}}
	for _, step := range []struct {
		put, want library.Announcement
	}{{first, first}, {second, second}, {first, second}, {second, second}} {
		if err := b.Announce(t.Context(), step.put); err != nil {
			t.Fatal(err)
		}
		wantAnnounced(t, b, []commit.ListID{process}, step.want)
	}
}

func notifierReturnsAll(t *testing.T, b library.Notifier) {
	one, two := announced("notifier-1", int64(start)), announced("notifier-2", int64(start)+1)
	for _, a := range []library.Announcement{one, two} {
		if err := b.Announce(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	wantAnnounced(t, b, []commit.ListID{"notifier-1", "notifier-2"}, one, two)
}
