package cassandra

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// A change is stored for as long as a follower may request it. An announcement is stored for twice
// as long as the others need it, because a missing one means that a gateway has changed nothing.
const (
	changeTTL       = int(library.ChangesKept / time.Second)
	announcementTTL = int(2 * library.AnnouncementKept / time.Second)
)

const (
	putChange = `INSERT INTO library_change (principal_id, at, content_id, mts, left_buckets, held_buckets, reason, changed_by)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?`
	selectChanges = `SELECT at, content_id, mts, left_buckets, held_buckets, reason, changed_by FROM library_change
 WHERE principal_id = ? AND (at, content_id, mts) > (?, ?, ?) LIMIT ?`
)

// Changes implements library.LibraryStore: one clustering slice.
func (s libraries) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	if limit <= 0 {
		return nil, nil
	}
	var (
		at, mts            int64
		id, by             string
		left, held, reason int8
	)
	r := session.Query{Operation: "read changes", Stmt: selectChanges, Args: []any{string(owner), int64(after.At),
		string(after.Content), int64(after.MTS), limit}}
	return session.List(ctx, s.session, r, []any{&at, &id, &mts, &left, &held, &reason, &by}, func() (library.Change, error) {
		key := library.ChangeKey{At: clock.Instant(at), Content: library.ContentID(id), MTS: clock.Instant(mts)}
		return library.Change{ChangeKey: key, RemovedFrom: library.Buckets(left), Holds: library.Buckets(held),
			Cause: library.Cause{Reason: library.ChangeReason(reason), By: principal.ID(by)}}, nil
	})
}

// All announcements are in one partition, because each gateway reads all of them.
const (
	putAnnouncement     = `INSERT INTO announcement (part, process, body) VALUES (0, ?, ?) USING TIMESTAMP ? AND TTL ?`
	selectAnnouncements = `SELECT process, body, writetime(body) FROM announcement WHERE part = 0`
)

var _ library.Notifier = (*Store)(nil)

// announcementBody is the content of the row of a process: times by id.
type announcementBody struct {
	All     int64            `json:"all,omitempty"`
	Touched map[string]int64 `json:"touched,omitempty"`
	Updated map[string]int64 `json:"updated,omitempty"`
}

// Announce implements library.Notifier. The stamp is the row's timestamp.
func (s *Store) Announce(ctx context.Context, a library.Announcement) error {
	body := announcementBody{All: int64(a.All), Touched: map[string]int64{}, Updated: map[string]int64{}}
	for _, t := range a.Touched {
		body.Touched[string(t.Principal)] = int64(t.At)
	}
	for _, u := range a.Updated {
		body.Updated[string(u.Content)] = int64(u.At)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return session.WrapError("announce", err)
	}
	return s.session.WriteStamped(ctx, "announce", putAnnouncement, string(a.Process), text, a.Stamp, announcementTTL)
}

// Announcements implements library.Notifier.
func (s *Store) Announcements(ctx context.Context) ([]library.Announcement, error) {
	const doing = "read announcements"
	var (
		as      []library.Announcement
		process string
		text    []byte
		stamp   int64
		bad     error
	)
	q := session.Query{Operation: doing, Stmt: selectAnnouncements}
	err := s.session.Read(ctx, q, []any{&process, &text, &stamp}, func() error {
		var body announcementBody
		if err := json.Unmarshal(text, &body); err != nil {
			bad = fmt.Errorf("of %s: %w", strconv.Quote(process), err)
			return nil
		}
		as = append(as, body.announcement(commit.ListID(process), stamp))
		return nil
	})
	if err == nil && bad != nil {
		err = session.WrapError(doing, bad)
	}
	return as, err
}

func (b *announcementBody) announcement(process commit.ListID, stamp int64) library.Announcement {
	a := library.Announcement{Process: process, Stamp: stamp, All: clock.Instant(b.All)}
	for p, at := range b.Touched {
		a.Touched = append(a.Touched, library.Touch{Principal: principal.ID(p), At: clock.Instant(at)})
	}
	for id, at := range b.Updated {
		a.Updated = append(a.Updated, library.Update{Content: library.ContentID(id), At: clock.Instant(at)})
	}
	return a
}
