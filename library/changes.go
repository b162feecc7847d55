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

// Times of changes. A change is written beside the entries it tells of, with
// its writer's clock as the key, and read by processes with other clocks: so
// whoever reads on from a time begins changesOverlap before it. That holds the
// time that one write may take (applyWithin) and clocks that differ, by what
// is not known of that (storeNow).
const (
	ChangesOverlap = time.Minute
	// ResumeWithin is how old the reading may be that a follower resumes from.
	ResumeWithin = time.Hour
	// FullLookEvery is how often every library that is followed is looked at,
	// announced or not.
	FullLookEvery = time.Minute
	// ChangesKept is how long a store keeps changes at least: for the oldest
	// resumption, whose cursor tells the minute it was read in, or that of the
	// full look before, the overlap, and a little for the time that reading them
	// takes.
	ChangesKept = ResumeWithin + cursor.ReadUnit + FullLookEvery + ChangesOverlap + 2*time.Minute
)

// Buckets is a set of buckets.
type Buckets uint8

// Has tells whether b is among them.
func (bs Buckets) Has(b Bucket) bool { return bs&(1<<b) != 0 }

// With are the buckets and b.
func (bs Buckets) With(b Bucket) Buckets { return bs | 1<<b }

// ChangeKey is the place of a change among those of a library: in order of At,
// then of Content, then of MTS.
type ChangeKey struct {
	// At is the clock of the writer as it began to write, different for each
	// write of a process.
	At      clock.Instant
	Content ContentID
	// MTS is that of the state which was enforced.
	MTS clock.Instant
}

// CompareChanges is the order in which the changes of a library stand.
func CompareChanges(a, b ChangeKey) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Content, b.Content), cmp.Compare(a.MTS, b.MTS))
}

// Change tells those who follow a library that an item of it was enforced: it
// was placed, or moved, or taken out. What it is now is read when it is told;
// Left alone cannot be read any more by then. Repetitions of a write leave
// several changes of one state.
type Change struct {
	ChangeKey
	// Left are the buckets in which the item has stood and stands no more.
	Left Buckets
}

// Announcement is what a process tells the others: whose libraries it has
// changed within the last seconds. It is a hint that saves them looking; what
// was changed stands in the changes of those libraries.
type Announcement struct {
	Process commit.ListID
	// Stamp is the write time, rising with each write.
	Stamp int64
	// Touched are principals with the time they were touched last, and All is
	// when more of them were touched than are told, 0 where none were: both by
	// the process's clock, rising.
	Touched []Touch
	All     clock.Instant
	// Updated are items that were updated in place: hot ones, whose moves are
	// deferred, so that no library has a change of them yet.
	Updated []Update
}

// Touch tells that a library has changes.
type Touch struct {
	Principal principal.ID
	At        clock.Instant
}

// Update tells of an update that touches no library.
type Update struct {
	Content ContentID
	At      clock.Instant
}

// Notifier is where processes that share a store announce what they change.
// A store that one process uses at a time has none.
type Notifier interface {
	// Announce must replace what the process announced before, unless that has a
	// later Stamp. It may be forgotten after AnnouncementKept.
	Announce(ctx context.Context, a Announcement) error
	// Announcements must tell those of all processes that were acknowledged
	// within the last AnnouncementKept.
	Announcements(ctx context.Context) ([]Announcement, error)
}

// AnnouncementKept is how long an announcement stands at least: several times
// as long as a reader that is late takes.
const AnnouncementKept = 30 * time.Second

// KeepsChanges is the setting that tells since when a store has the changes of
// its libraries. It is of this one store: a copy of the store has none of them.
const KeepsChanges = "changes-since"

// readChangesSince reads that setting, and stores it if there is none. A store without a
// user or a group has had no change, so it has all of them from its beginning, whatever
// the clocks by which its cursors will be dated. Any other store may have had changes
// before it got a program that writes them: it has them after the minute, by the store's
// clock, in which that happened, because a cursor tells no more than the minute.
func readChangesSince(ctx context.Context, c Config, storeNow clock.Instant) (clock.Instant, error) {
	some, err := c.People.ScanPrincipals(ctx, "", 1)
	if err != nil {
		return 0, fmt.Errorf("looking for users: %w", err)
	}
	var at clock.Instant
	if len(some) > 0 {
		at = clock.Of(storeNow.Time().Truncate(cursor.ReadUnit)).Add(cursor.ReadUnit)
	}
	now := binary.BigEndian.AppendUint64(nil, uint64(at))
	standing, err := commit.PutSettingIfAbsent(ctx, c.Registers, c.Runtime, KeepsChanges, now)
	if err != nil {
		return 0, err
	}
	if len(standing) != len(now) {
		return 0, fmt.Errorf("the setting %q of the store is not an instant", KeepsChanges)
	}
	return clock.Instant(binary.BigEndian.Uint64(standing)), nil
}
