package cassandra

import (
	"context"
	"fmt"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/library"
)

// seqError describes a commit whose seq does not follow its base.
type seqError struct{ seq, base int64 }

func (e seqError) Error() string { return fmt.Sprintf("seq %d on base %d", e.seq, e.base) }

// cleanUpRows is the number of member rows that one batch removes with a condition for each.
// purgeRows is the number that it removes on the single condition that the item is deleted.
const (
	cleanUpRows = 100
	purgeRows   = 500
)

// cleanUpTries is how often a cleanup is tried with the rows that have not changed.
const cleanUpTries = 3

const (
	cleanUpPositions = `UPDATE content SET unsettled = unsettled - ? WHERE content_id = ? AND kind = 0 AND key = '~' IF EXISTS`
	cleanUpTitles    = `UPDATE content SET unsettled_titles = unsettled_titles - ? WHERE content_id = ? AND kind = 0 AND key = '~' IF EXISTS`
	dropLeaving      = `DELETE FROM content WHERE content_id = ? AND kind = 1 AND key = ? IF state = 1 AND mseq = ?`
	// Assigning the same state again only checks the condition.
	whileDeleted = `UPDATE content SET state = 3 WHERE content_id = ? AND kind = 0 AND key = '~' IF state = 3`
	reduceHeader = `DELETE item_kind, title, description, link, expires_at, present, creator, created_at, last_modified, version,
 visibility, widest, position, moves_since, moves, unsettled, unsettled_titles, managers, members, logged_in_until,
 public_until, moved_at, url, page, former_title
 FROM content WHERE content_id = ? AND kind = 0 AND key = '~' IF state = 3`
)

// CleanUp implements library.ContentStore with conditional batches of at most cleanUpRows member
// rows, or purgeRows rows of a deleted item. A batch is sent again only if rows have changed since
// they were read.
func (s contents) CleanUp(ctx context.Context, t *library.Cleanup) error {
	if t.Purge || t.Final {
		return s.purge(ctx, t)
	}
	positions, titles, leaving := t.Positions, t.Titles, onlyLeaving(t.Leaving)
	for len(positions) > 0 || len(titles) > 0 || len(leaving) > 0 {
		now := leaving[:min(len(leaving), cleanUpRows)]
		if err := s.cleanUp(ctx, t.ID, positions, titles, now); err != nil {
			return err
		}
		positions, titles, leaving = nil, nil, leaving[len(now):]
	}
	return nil
}

// onlyLeaving returns the rows that may have to be removed.
func onlyLeaving(rows []library.Member) []library.Member {
	kept := make([]library.Member, 0, len(rows))
	for _, m := range rows {
		if m.Leaving && m.Seq != 0 {
			kept = append(kept, m)
		}
	}
	return kept
}

// cleanUp removes positions, titles and rows in one decision. If it is refused because a row has changed, it
// is tried again without such rows.
func (s contents) cleanUp(ctx context.Context, id library.ContentID, positions, titles []clock.Instant, leaving []library.Member) error {
	const doing = "clean up"
	for range cleanUpTries {
		var ch session.Batch
		if len(positions) > 0 {
			ch.Append(cleanUpPositions, instants(positions), string(id))
		}
		if len(titles) > 0 {
			ch.Append(cleanUpTitles, instants(titles), string(id))
		}
		for _, m := range leaving {
			ch.Append(dropLeaving, string(id), string(m.Principal), m.Seq)
		}
		if len(ch.Entries) == 0 {
			return nil
		}
		applied, err := s.session.Decide(ctx, doing, &ch)
		if err != nil || applied {
			return err
		}
		q := library.ContentQuery{Serial: true}
		for _, m := range leaving {
			q.Members = append(q.Members, m.Principal)
		}
		rows := new(library.ContentRows)
		if err := s.readContent(ctx, doing, id, q, rows); err != nil {
			return err
		}
		if rows.Header.Seq == 0 {
			return nil
		}
		leaving = unchanged(leaving, rows.Members)
	}
	return fault.Unavailablef(nil, "clean up: the rows keep changing; try again")
}

// unchanged returns the given rows that are still stored unchanged.
func unchanged(given, current []library.Member) []library.Member {
	var kept []library.Member
	for i, m := range given {
		if current[i].Leaving && current[i].Seq == m.Seq {
			kept = append(kept, m)
		}
	}
	return kept
}

// instants returns instants as keys of the columns unsettled and unsettled_titles.
func instants(is []clock.Instant) []int64 {
	ns := make([]int64, len(is))
	for i, at := range is {
		ns[i] = int64(at)
	}
	return ns
}

// purge removes rows of a deleted item if t.Purge is set. If t.Final is set, it then removes all columns
// of the header but seq, mts, state and writers. It changes nothing if the item is not deleted.
func (s contents) purge(ctx context.Context, t *library.Cleanup) error {
	var rows []rowKey
	if t.Purge {
		for _, m := range t.Leaving {
			rows = append(rows, rowKey{kindMember, string(m.Principal)})
		}
		for _, k := range t.Rows {
			rows = append(rows, rowKey{int8(k.Kind), k.Key})
		}
	}
	for done := false; !done; {
		now := rows[:min(len(rows), purgeRows)]
		rows = rows[len(now):]
		done = len(rows) == 0
		var ch session.Batch
		if done && t.Final {
			ch.Append(reduceHeader, string(t.ID))
		} else {
			ch.Append(whileDeleted, string(t.ID))
		}
		for _, k := range now {
			ch.Append(dropRowStmt, string(t.ID), k.kind, k.key)
		}
		applied, err := s.session.Decide(ctx, "purge", &ch)
		if err != nil || !applied {
			return err
		}
	}
	return nil
}
