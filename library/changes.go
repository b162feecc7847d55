package library

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/principal"
)

// Times of changes. A change is written together with the entries that it describes. It is dated by
// the clock of its writer, and read by processes with other clocks. So a reader that continues from
// a time starts ChangesOverlap before it. The overlap covers the time that one write may take
// (applyTimeout), and the part of the difference between the clocks that is not known (storeNow).
const (
	ChangesOverlap = time.Minute
	// ResumeWithin is the maximum age of a cursor from which a follower resumes.
	ResumeWithin = time.Hour
	// FullLookEvery is the interval at which every library that is followed is read, announced
	// or not.
	FullLookEvery = time.Minute
	// ChangesKept is the minimum time for which a store keeps changes. A cursor from which a
	// follower resumes is at most ResumeWithin old, and contains only the minute of its time. In
	// the cursor of an event, that may be the time of the last full look, up to FullLookEvery
	// before the event. The reader then starts ChangesOverlap earlier. The rest is for the time
	// that reading the changes takes.
	ChangesKept = ResumeWithin + cursor.ReadUnit + FullLookEvery + ChangesOverlap + 2*time.Minute
)

// Buckets is a set of buckets.
type Buckets uint8

// Has reports whether b is in the set.
func (bs Buckets) Has(b Bucket) bool { return bs&(1<<b) != 0 }

// With returns the set with b added.
func (bs Buckets) With(b Bucket) Buckets { return bs | 1<<b }

// ChangeKey orders the changes of a library: by At, then by Content, then by MTS.
type ChangeKey struct {
	// At is the clock of the writer as it began to write. It is different for each write of a
	// process, unless its clock was set back.
	At      clock.Instant
	Content ContentID
	// MTS is the timestamp of the state that was applied.
	MTS clock.Instant
}

// CompareChanges compares two changes of a library in their order.
func CompareChanges(a, b ChangeKey) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Content, b.Content), cmp.Compare(a.MTS, b.MTS))
}

// Change notifies the followers of a library that a state of an item was applied: the item was
// added, moved or removed. The current state of the item is read when the change is delivered. Only
// RemovedFrom then still says where the item was before. A write that is repeated leaves several
// changes of one state.
type Change struct {
	ChangeKey
	// RemovedFrom are the buckets that held the item and do not hold it any more.
	RemovedFrom Buckets
	// Holds are the buckets that hold the item in this state. Readers of any bucket that is in neither
	// set may not notice the change.
	Holds Buckets
	// Cause is that of the state, as far as it is known.
	Cause Cause
}

// Announcement tells other processes which libraries a process has changed within the last seconds.
// It is a hint that saves them reads; the changes themselves are in those libraries.
type Announcement struct {
	Process commit.ListID
	// Stamp is the time of the write. It increases with each write.
	Stamp int64
	// Touched are principals with the time at which each was last touched. All is the last time at
	// which more of them were touched than are listed, 0 if never. Both are by the process's clock,
	// and increase.
	Touched []Touch
	All     clock.Instant
	// Updated are hot items that were updated in place. Their moves are deferred, so that no
	// library has a change of them yet.
	Updated []Update
}

// Touch reports that a library has changes.
type Touch struct {
	Principal principal.ID
	At        clock.Instant
}

// Update reports an update that changes no library.
type Update struct {
	Content ContentID
	At      clock.Instant
}

// Notifier passes announcements of changes between processes that share a store. A store that
// only one process uses at a time has none.
type Notifier interface {
	// Announce must replace what the process announced before, unless that has a
	// later Stamp. It may be forgotten after AnnouncementKept.
	Announce(ctx context.Context, a Announcement) error
	// Announcements must return those of all processes that were acknowledged within the last
	// AnnouncementKept.
	Announcements(ctx context.Context) ([]Announcement, error)
}

// AnnouncementKept is the minimum time for which an announcement is kept. It is several times
// as long as a slow reader takes.
const AnnouncementKept = 30 * time.Second

// ChangesSinceSetting is the setting that contains since when a store has the changes of its
// libraries. It belongs to this one store: a copy of the store has no changes.
const ChangesSinceSetting = "changes-since"

// readChangesSince reads that setting, and stores it if there is none. A store without users and
// groups has had no change. So it has all of its changes, and the setting is 0, which does not
// depend on the clocks of gateways. Any other store without the setting is a copy, which has no
// earlier changes. It has all changes from the next minute on, by the store's clock, because cursors
// contain only the minute.
func readChangesSince(ctx context.Context, c Config, storeNow clock.Instant) (clock.Instant, error) {
	some, err := c.Principals.ScanPrincipals(ctx, "", 1)
	if err != nil {
		return 0, fmt.Errorf("look for users: %w", err)
	}
	var at clock.Instant
	if len(some) > 0 {
		at = clock.Of(storeNow.Time().Truncate(cursor.ReadUnit)).Add(cursor.ReadUnit)
	}
	now := binary.BigEndian.AppendUint64(nil, uint64(at))
	stored, err := commit.PutSettingIfAbsent(ctx, c.Registers, c.Runtime, ChangesSinceSetting, now)
	if err != nil {
		return 0, err
	}
	if len(stored) != len(now) {
		return 0, fmt.Errorf("the setting %q of the store is not an instant", ChangesSinceSetting)
	}
	return clock.Instant(binary.BigEndian.Uint64(stored)), nil
}
