package cassandra

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// A copy writes tables that use compare-and-set by compare-and-set too, one partition at a time:
// first on the condition that there is no row, and if that is refused, on the current row. Other
// writes would have timestamps that compete with those of decisions. If a write is executed late,
// when the store is already in use, it is refused, because its condition no longer holds.
const (
	restoreContent = assignContentCells + `, writers = ?, unsettled = ?, unsettled_titles = ?
 WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	holdContent   = `UPDATE content SET seq = ? WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	restoreMember = `UPDATE content SET role = ?, state = ?, mseq = ?, since = ?, left_buckets = ? WHERE content_id = ? AND kind = 1 AND key = ?`
	restoreReply  = `UPDATE content USING TTL ? SET input_hash = ?, answer = ?, until = ? WHERE content_id = ? AND kind = 2 AND key = ?`

	restorePrincipal      = assignPrincipalCells + `, writers = ? WHERE principal_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	holdPrincipal         = `UPDATE principal SET seq = ? WHERE principal_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	restoreGroupMember    = `UPDATE principal SET role = ?, state = ?, mseq = ?, since = ? WHERE principal_id = ? AND kind = 1 AND key = ?`
	restorePrincipalReply = `UPDATE principal USING TTL ? SET input_hash = ?, answer = ?, until = ? WHERE principal_id = ? AND kind = 2 AND key = ?`

	replaceSetting = `UPDATE setting SET value = ? WHERE name = ? IF value = ?`
)

const (
	// restoreWidth is the number of partitions that are written at the same time.
	restoreWidth = 64
	// restoreRows is the number of rows of a partition in one write. A header may have 50 KB and
	// other rows have some hundred bytes, so a write stays far below the megabytes that are too
	// large for a node.
	restoreRows = 500
	// restoreTries is how often a row that keeps changing is replaced. One attempt is enough if no
	// other process uses the store.
	restoreTries = 3
)

// PutRows implements archive.Store. It writes restoreWidth partitions at a time. For a partition of
// an item, a user or a group it makes one decision for each restoreRows rows, so a copy makes at
// least as many decisions as there are headers. Rows that have expired are skipped.
func (s *Store) PutRows(ctx context.Context, rows []archive.Row) error {
	if err := ctx.Err(); err != nil {
		return session.NotSent(err)
	}
	p := &restoring{store: s, now: s.now(), at: make(map[restoreTarget]int)}
	for i := range rows {
		if err := p.add(&rows[i]); err != nil {
			return err
		}
	}
	return session.ForEach(ctx, len(p.parts), restoreWidth, func(ctx context.Context, i int) error {
		for _, w := range p.parts[i] {
			if err := s.withRetries(ctx, func() error { return w.put(ctx, s) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// restore is one write. It may be repeated.
type restore interface {
	put(ctx context.Context, s *Store) error
}

// restoring collects the writes of rows. Those of one partition are made one after the other,
// because concurrent decisions on a partition hinder each other.
type restoring struct {
	store *Store
	now   clock.Instant
	parts [][]restore
	at    map[restoreTarget]int // the index in parts of the writes to a target
}

// restoreTarget is the target of rows that are written together: a partition, or a row in the list
// of days.
type restoreTarget struct{ table, key string }

// target returns the index in parts of the writes to a target, and the last of these writes, or nil
// if there is none yet.
func (p *restoring) target(at restoreTarget) (n int, last restore) {
	n, known := p.at[at]
	if !known {
		n = len(p.parts)
		p.at[at] = n
		p.parts = append(p.parts, nil)
	}
	if of := p.parts[n]; len(of) > 0 {
		last = of[len(of)-1]
	}
	return n, last
}

// single adds the write of a single-row partition.
func (p *restoring) single(w restore) { p.parts = append(p.parts, []restore{w}) }

// partition returns the write that takes one more row of a partition of content or of principals.
// header reports that the row is the partition's header.
func (p *restoring) partition(t *restoreTable, id string, header bool) *restorePartition {
	n, last := p.target(restoreTarget{t.name, id})
	w, _ := last.(*restorePartition)
	if w == nil || header || len(w.others.Entries) == restoreRows {
		w = &restorePartition{table: t, id: id}
		p.parts[n] = append(p.parts[n], w)
	}
	return w
}

// add adds the write of a row.
func (p *restoring) add(r *archive.Row) error {
	switch {
	case r.Setting != nil:
		p.single((*restoreSetting)(r.Setting))
	case r.Block != nil:
		p.single((*restoreBlock)(r.Block))
	case r.Creation != nil:
		if r.Creation.Until > p.now {
			p.single((*restoreCreation)(r.Creation))
		}
	case r.Due != nil:
		p.due(*r.Due)
	case r.Text != nil:
		p.single((*restoreText)(r.Text))
	case r.Draft != nil:
		n, _ := p.target(restoreTarget{"draft", string(r.Draft.User)})
		p.parts[n] = append(p.parts[n], (*restoreDraft)(r.Draft))
	case r.Lease != nil:
		p.single(restoreRow[lease.ID]{r.Lease, leaseTable()})
	case r.Paste != nil:
		p.single(restoreRow[paste.ID]{r.Paste, pasteTable()})
	case r.Body != nil:
		p.single((*restoreBody)(r.Body))
	case r.Content != nil:
		h := r.Content
		p.partition(contentTable(), string(h.ID), true).header =
			append(headerValues(h), writersValue(h.Writers, h.Seq), unsettledValue(h.Unsettled),
				unsettledTitlesValue(h.UnsettledTitles), string(h.ID))
	case r.Member != nil:
		m := r.Member
		p.partition(contentTable(), string(m.Content), false).others.Append(restoreMember,
			int8(m.Role), memberState(m.Leaving), m.Seq, int64(m.Since), int8(m.RemovedFrom), string(m.Content), string(m.Principal))
	case r.ContentRow != nil:
		row := r.ContentRow
		appendRows(&p.partition(contentTable(), string(row.Content), false).others, row.Content, []library.Row{row.Row})
	case r.Principal != nil:
		h := r.Principal
		p.partition(principalTable(), string(h.ID), true).header = append(principalValues(h), writersValue(h.Writers, h.Seq), string(h.ID))
	case r.GroupMember != nil:
		m := r.GroupMember
		p.partition(principalTable(), string(m.Group), false).others.Append(restoreGroupMember,
			int8(m.Role), memberState(m.Leaving), m.Seq, int64(m.Since), string(m.Group), string(m.Principal))
	case r.Request != nil:
		p.reply(r.Request)
	default:
		return &fault.Error{Code: fault.Internal, Msg: "put rows: an empty archive row"}
	}
	return nil
}

// reply adds the write of an answered request with its remaining time to live.
func (p *restoring) reply(r *archive.RequestAt) {
	if r.Until <= p.now {
		return
	}
	t, id, stmt := contentTable(), string(r.Content), restoreReply
	if r.Content == "" {
		t, id, stmt = principalTable(), string(r.Principal), restorePrincipalReply
	}
	p.partition(t, id, false).others.Append(stmt,
		p.store.timeToLive(r.Until), r.InputHash[:], notNull(r.Answer), int64(r.Until), id, requestKey(&r.Key))
}

// due adds the write of a reminder, as PutReminder would write it.
func (p *restoring) due(d commit.Reminder) {
	hour, shard := hourOf(d.At), shardOf(d.Row())
	n, last := p.target(restoreTarget{"due", string(duePartOf(hour, shard))})
	w, _ := last.(*restoreDues)
	if w == nil || len(w.Entries) == restoreRows {
		w = new(restoreDues)
		p.parts[n] = append(p.parts[n], w)
	}
	w.Append(putReminder, hour, shard, int64(d.At), d.Row(), int64(d.MTS), int64(d.MTS))
	if n, noted := p.target(restoreTarget{"due_hour", strconv.FormatInt(hour, 10)}); noted == nil {
		hours := new(restoreDues)
		hours.Append(noteHour, hour)
		p.parts[n] = append(p.parts[n], hours)
	}
}

// restoreDues is a batch of unconditional writes to one partition.
type restoreDues struct{ session.Batch }

func (w *restoreDues) put(ctx context.Context, s *Store) error {
	return s.session.WriteBatch(ctx, "write reminders", &w.Batch)
}

// restoreTable is a table whose partitions have a header and other rows.
type restoreTable struct {
	name, doing string
	// restore replaces the header with a given seq. hold writes the current seq again, which is the
	// condition under which other rows are put.
	restore, hold string
	// seq reads the seq of the current header. It is 0 if there is none.
	seq func(ctx context.Context, s *Store, id string) (int64, error)
}

func contentTable() *restoreTable {
	return &restoreTable{name: "content", doing: "put a content", restore: restoreContent, hold: holdContent,
		seq: func(ctx context.Context, s *Store, id string) (int64, error) {
			rows, err := s.Contents.Read(ctx, library.ContentID(id), library.ContentQuery{})
			if err != nil {
				return 0, err
			}
			return rows.Header.Seq, nil
		}}
}

func principalTable() *restoreTable {
	return &restoreTable{name: "principal", doing: "put a principal", restore: restorePrincipal, hold: holdPrincipal,
		seq: func(ctx context.Context, s *Store, id string) (int64, error) {
			rows, err := s.Principals.ReadPrincipal(ctx, principal.ID(id), principal.Query{})
			if err != nil {
				return 0, err
			}
			return rows.Header.Seq, nil
		}}
}

// restorePartition puts rows of one partition, all or none.
type restorePartition struct {
	table  *restoreTable
	id     string
	header []any // its values; nil if rows are added to an existing header
	others session.Batch
}

func (w *restorePartition) put(ctx context.Context, s *Store) error {
	stmt, values, base := w.table.restore, w.header, int64(0)
	if values == nil {
		seq, err := w.table.seq(ctx, s, w.id)
		if err != nil {
			return err
		}
		stmt, base = w.table.hold, seq
	}
	for range restoreTries {
		if w.header == nil {
			if base == 0 {
				return &fault.Error{Code: fault.Internal, Msg: w.table.doing + ": the header of " + w.id + " must come before its other rows"}
			}
			values = []any{base, w.id}
		}
		var ch session.Batch
		ch.Append(stmt, append(slices.Clone(values), baseOf(base))...)
		ch.Entries = append(ch.Entries, w.others.Entries...)
		applied, current, err := s.session.DecideReturning(ctx, w.table.doing, &ch)
		if err != nil || applied {
			return err
		}
		base, _ = current["seq"].(int64)
	}
	return notAlone(w.table.doing)
}

// notAlone returns the error for a copy during which another process changes rows.
func notAlone(doing string) error {
	return &fault.Error{Code: fault.Conflict, Msg: doing + ": another process writes to this store"}
}

type (
	restoreSetting  archive.SettingRow
	restoreText     note.Text
	restoreDraft    note.DraftRow
	restoreBlock    archive.BlockRow
	restoreCreation commit.Creation
)

func (w *restoreText) put(ctx context.Context, s *Store) error {
	return s.Texts.PutText(ctx, note.Text(*w))
}

func (w *restoreDraft) put(ctx context.Context, s *Store) error {
	d := note.DraftRow(*w)
	var over *note.TextID
	for range restoreTries {
		there, err := s.Texts.PutDraft(ctx, d, over)
		if err != nil || there.Token == d.Token && bytes.Equal(there.Value, d.Value) {
			return err
		}
		if over = &there.Token; there.User == "" {
			over = nil // it was deleted meanwhile
		}
	}
	return notAlone("put a draft")
}

func (w *restoreSetting) put(ctx context.Context, s *Store) error {
	const doing = "put a setting"
	for range restoreTries {
		stored, err := s.Registers.PutSettingIfAbsent(ctx, w.Name, w.Value)
		if err != nil || bytes.Equal(stored, w.Value) {
			return err
		}
		applied, _, err := s.session.DecideOne(ctx, doing, replaceSetting, notNull(w.Value), w.Name, stored)
		if err != nil || applied {
			return err
		}
	}
	return notAlone(doing)
}

func (w *restoreBlock) put(ctx context.Context, s *Store) error {
	const doing = "put a block"
	stmt, args := firstBlock, []any{w.Host, w.Next}
	for range restoreTries {
		applied, current, err := s.session.DecideOne(ctx, doing, stmt, args...)
		if err != nil || applied {
			return err
		}
		next, _ := current["next"].(int64)
		if next == w.Next {
			return nil
		}
		stmt, args = nextBlock, []any{w.Next, w.Host, next}
	}
	return notAlone(doing)
}

func (w *restoreCreation) put(ctx context.Context, s *Store) error {
	c := commit.Creation(*w)
	var replace *commit.Creation
	for range restoreTries {
		stored, err := s.Registers.PutCreationIfAbsent(ctx, c, replace)
		if err != nil || stored == c {
			return err
		}
		if replace = &stored; stored == (commit.Creation{}) {
			replace = nil // it expired meanwhile
		}
	}
	return notAlone("put a creation")
}
