package cassandra

import (
	"context"
	"time"

	"github.com/gocql/gocql"

	"carrel/library"
)

// What is copied into the tables of compare-and-set is written by
// compare-and-set too, a partition at a time, under conditions that always
// hold. So there is no second kind of write whose timestamps could be compared
// with those of decisions: whatever the clocks say, what stood is replaced,
// what comes later prevails, and what was tried again is applied once or twice
// to the same end. A comparison with != holds for a row that does not exist.
// Where the value itself is compared, a refusal says that it stands already.
const (
	restoreContent = assignContentCells + `, writers = ?, unsettled = ? WHERE content_id = ? AND kind = 0 AND key = '~' IF seq != -1`
	restoreMember  = `UPDATE content SET role = ?, state = ?, mseq = ?, since = ?, left_buckets = ? WHERE content_id = ? AND kind = 1 AND key = ? IF mseq != -1`
	restoreReply   = `UPDATE content USING TTL ? SET input_hash = ?, answer = ?, until = ? WHERE content_id = ? AND kind = 2 AND key = ? IF until != -1`

	restorePrincipal      = assignPrincipalCells + `, writers = ? WHERE principal_id = ? AND kind = 0 AND key = '~' IF seq != -1`
	restoreGroupMember    = `UPDATE principal SET role = ?, state = ?, mseq = ? WHERE principal_id = ? AND kind = 1 AND key = ? IF mseq != -1`
	restorePrincipalReply = `UPDATE principal USING TTL ? SET input_hash = ?, answer = ?, until = ? WHERE principal_id = ? AND kind = 2 AND key = ? IF until != -1`

	restoreCreation = `UPDATE request USING TTL ? SET input_hash = ?, id = ?, until = ? WHERE key = ? IF id != ''`
	restoreSetting  = `UPDATE setting SET value = ? WHERE name = ? IF value != ?`
	restoreBlock    = `UPDATE id_block SET next = ? WHERE host = ? IF next != ?`
)

// Rows beside the first one of a write need no condition of their own.
const (
	restoreMemberBeside      = `UPDATE content SET role = ?, state = ?, mseq = ?, since = ?, left_buckets = ? WHERE content_id = ? AND kind = 1 AND key = ?`
	restoreReplyBeside       = `UPDATE content USING TTL ? SET input_hash = ?, answer = ?, until = ? WHERE content_id = ? AND kind = 2 AND key = ?`
	restoreGroupMemberBeside = `UPDATE principal SET role = ?, state = ?, mseq = ? WHERE principal_id = ? AND kind = 1 AND key = ?`
	restoreGroupReplyBeside  = `UPDATE principal USING TTL ? SET input_hash = ?, answer = ?, until = ? WHERE principal_id = ? AND kind = 2 AND key = ?`
)

const (
	// restoreWidth is how many partitions are written at a time.
	restoreWidth = 64
	// restoreRows is how many rows of a partition are written at once. A header
	// may have 50 KB and other rows some hundred bytes, so that is far below the
	// megabytes that are too large for a node.
	restoreRows = 500
)

// PutRows implements library.Archive: one decision for the rows of each
// partition, so that a copy makes as many as there are items, restoreWidth at a
// time. Rows whose time to live is over are left out.
func (s *Store) PutRows(ctx context.Context, rows []library.ArchivedRow) error {
	if err := ctx.Err(); err != nil {
		return notBegun(err)
	}
	p := &restoring{store: s, now: s.now(), at: make(map[restorePart]int)}
	for i := range rows {
		if err := p.add(&rows[i]); err != nil {
			return err
		}
	}
	return concurrently(ctx, len(p.parts), restoreWidth, func(ctx context.Context, i int) error {
		for n := range p.parts[i] {
			w := &p.parts[i][n]
			if err := s.patiently(ctx, func() error { return w.send(ctx, s) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoring collects the writes for rows, those of a partition one after the
// other: decisions of one partition at the same time hinder each other.
type restoring struct {
	store *Store
	now   library.Instant
	parts [][]restore
	at    map[restorePart]int
}

// restorePart is what rows are put into together: a partition, or a row of the
// days that are listed.
type restorePart struct{ table, key string }

// restore is one write.
type restore struct {
	doing string
	changes
	// plain is a write without a condition.
	plain bool
	// given: the condition is that the value is another one.
	given bool
}

// send makes the write; it may be repeated.
func (w *restore) send(ctx context.Context, s *Store) error {
	if w.plain {
		return s.writeAll(ctx, w.doing, &w.changes)
	}
	applied, err := s.decide(ctx, w.doing, &w.changes)
	if err == nil && !applied && !w.given {
		return &library.Error{Code: library.Internal, Msg: w.doing + ": a condition that always holds was refused"}
	}
	return err
}

// write adds a row to the writes of its partition, with first where it is the
// first row of a write and with beside otherwise.
func (p *restoring) write(part restorePart, like restore, first, beside string, args ...any) {
	at, known := p.at[part]
	if !known {
		at = len(p.parts)
		p.at[part] = at
		p.parts = append(p.parts, nil)
	}
	n := len(p.parts[at]) - 1
	if n < 0 || len(p.parts[at][n].entries) == restoreRows {
		like.doing = "put rows of " + part.table
		p.parts[at] = append(p.parts[at], like)
		n, beside = n+1, first
	}
	p.parts[at][n].add(beside, args...)
}

// forgotten tells whether a row need not be kept any more.
func (p *restoring) forgotten(until library.Instant) bool { return until <= p.now }

// add adds the write of a row.
func (p *restoring) add(r *library.ArchivedRow) error {
	switch {
	case r.Setting != nil:
		name, value := r.Setting.Name, notNull(r.Setting.Value)
		p.write(restorePart{"setting", name}, restore{given: true}, restoreSetting, restoreSetting, value, name, value)
	case r.Block != nil:
		host, next := r.Block.Host, r.Block.Next
		p.write(restorePart{"id_block", host}, restore{given: true}, restoreBlock, restoreBlock, next, host, next)
	case r.Creation != nil:
		if c := r.Creation; !p.forgotten(c.Until) {
			p.write(restorePart{"request", string(c.Key[:])}, restore{}, restoreCreation, restoreCreation,
				p.store.timeToLive(c.Until), c.InputHash[:], c.ID, int64(c.Until), c.Key[:])
		}
	case r.Due != nil:
		p.due(*r.Due)
	case r.Content != nil:
		h := r.Content
		p.content(h.ID, restoreContent, restoreContent,
			append(headerValues(h), writersValue(h.Writers, h.Seq), unsettledValue(h.Unsettled), string(h.ID))...)
	case r.Member != nil:
		m := r.Member
		p.content(m.Content, restoreMember, restoreMemberBeside, int8(m.Role), memberState(m.Leaving), m.Seq,
			int64(m.Since), int8(m.Left), string(m.Content), string(m.Principal))
	case r.Principal != nil:
		h := r.Principal
		p.principal(h.ID, restorePrincipal, restorePrincipal, append(principalValues(h), writersValue(h.Writers, h.Seq), string(h.ID))...)
	case r.GroupMember != nil:
		m := r.GroupMember
		p.principal(m.Group, restoreGroupMember, restoreGroupMemberBeside, int8(m.Role), memberState(m.Leaving), m.Seq, string(m.Group), string(m.Principal))
	case r.Request != nil:
		p.reply(r.Request)
	default:
		return &library.Error{Code: library.Internal, Msg: "put rows: a row of no kind"}
	}
	return nil
}

func (p *restoring) content(id library.ContentID, first, beside string, args ...any) {
	p.write(restorePart{"content", string(id)}, restore{}, first, beside, args...)
}

func (p *restoring) principal(id library.PrincipalID, first, beside string, args ...any) {
	p.write(restorePart{"principal", string(id)}, restore{}, first, beside, args...)
}

func (p *restoring) reply(r *library.RequestAt) {
	if p.forgotten(r.Until) {
		return
	}
	args := []any{p.store.timeToLive(r.Until), r.InputHash[:], notNull(r.Answer), int64(r.Until)}
	if r.Content != "" {
		p.content(r.Content, restoreReply, restoreReplyBeside, append(args, string(r.Content), requestKey(&r.Key))...)
		return
	}
	p.principal(r.Principal, restorePrincipalReply, restoreGroupReplyBeside, append(args, string(r.Principal), requestKey(&r.Key))...)
}

// due puts a hint as PutDue does: it is judged by the item, so nothing rests on
// the order of its writes.
func (p *restoring) due(d library.Due) {
	day, shard := dayOf(d.At), shardOf(d.Content)
	key := string(duePartOf(day, shard))
	p.write(restorePart{"due", key}, restore{plain: true}, putDue, putDue, day, shard, int64(d.At), string(d.Content))
	noted := restorePart{"due_day", day.Format(time.DateOnly)}
	if _, known := p.at[noted]; !known {
		p.write(noted, restore{plain: true}, noteDay, noteDay, day)
	}
}

// writersValue is a ring of writers as the column has it.
func writersValue(ws []library.Writer, seq int64) map[int8]gocql.UUID {
	ring := make(map[int8]gocql.UUID, len(ws))
	for _, w := range ws {
		if w.Seq > seq-library.MaxWriters && w.Seq <= seq {
			ring[slotOf(w.Seq)] = gocql.UUID(w.Entry)
		}
	}
	return ring
}

// unsettledValue are unsettled positions as the column has them.
func unsettledValue(us []library.Superseded) map[int64]int8 {
	all := make(map[int64]int8, len(us))
	for _, u := range us {
		all[int64(u.Position)] = int8(u.Widest)
	}
	return all
}
