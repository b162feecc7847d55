package follow

import (
	"testing"

	"carrel/core/clock"
	"carrel/core/lru"
	"carrel/library"
	"carrel/principal"
)

// TestFeedPass_DropsOnlyFullyDeliveredChanges: a feed passes on what followers do not know yet: a
// newer state, and a bucket that the item has left and that no change has named before, in whatever
// order the changes of several processes come.
func TestFeedPass_DropsOnlyFullyDeliveredChanges(t *testing.T) {
	const at = clock.Instant(1000)
	public, loggedIn := library.Buckets(0).With(principal.Public), library.Buckets(0).With(principal.LoggedIn)
	change := func(mts clock.Instant, left library.Buckets) library.Change {
		return library.Change{ChangeKey: library.ChangeKey{At: at, Content: "c:t:a", MTS: mts}, RemovedFrom: left, Holds: public &^ left}
	}
	for _, tc := range []struct {
		name     string
		known    bool // the first change was there when the feed was opened
		changes  []library.Change
		want     library.Buckets
		wantMost clock.Instant // the newest state that the follower gets; 0: it gets nothing more
	}{
		{"the same change again", false, []library.Change{change(7, public), change(7, public)}, 0, 0},
		{"an older one that names nothing new", false, []library.Change{change(7, public|loggedIn), change(5, public)}, 0, 0},
		{"the same state, which names one more bucket", false, []library.Change{change(7, 0), change(7, public)}, public, 7},
		{"an older state, which names one more bucket", false, []library.Change{change(7, loggedIn), change(5, public)}, public, 5},
		{"buckets named by two changes, and then by one", false, []library.Change{change(7, loggedIn), change(5, public),
			change(7, public|loggedIn)}, 0, 0},
		{"a newer state", false, []library.Change{change(7, public), change(8, 0)}, 0, 8},
		{"what was there before, again", true, []library.Change{change(7, public), change(7, public)}, 0, 0},
		{"what was there before, with one more bucket", true, []library.Change{change(7, public), change(7, public|loggedIn)},
			public | loggedIn, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &Follower{s: &Service{Publisher: &Publisher{watch: library.Unwatched{}}}, bucket: principal.Public,
				limit: queueMost, waiting: map[library.ContentID]pending{}}
			fd := &libraryFeed{followers: []*Follower{f}, seen: lru.NewRecent[library.ContentID, passed](seenMost)}
			last := len(tc.changes) - 1
			for i, c := range tc.changes {
				clear(f.waiting) // what came before was delivered
				f.queue = nil
				if i == 0 && tc.known && last > 0 {
					fd.ignore(c)
				} else {
					fd.pass(c)
				}
			}
			got, passedOn := f.waiting["c:t:a"]
			if !passedOn {
				if tc.wantMost != 0 {
					t.Fatalf("%+v was not passed on", tc.changes[last])
				}
				return
			}
			if tc.wantMost == 0 || got.MTS != tc.wantMost || got.RemovedFrom != tc.want {
				t.Errorf("passed on: state %d, left %b; want state %d, left %b", got.MTS, got.RemovedFrom, tc.wantMost, tc.want)
			}
		})
	}
}
