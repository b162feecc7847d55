package cassandra

import (
	"context"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// principalRow is a row of the table principal, of any kind.
type principalRow struct {
	kind                      int8
	key                       string
	seq, mts, createdAt, mseq int64
	since                     int64
	state, visibility, role   int8
	managers, members         int
	displayName, email        string
	writers                   map[int8]gocql.UUID
	requestCells
}

// shownPrincipalColumns are the columns of principalRow.shownCells, in their
// order, and principalColumns those of principalRow.cells.
const (
	shownPrincipalColumns = `seq, mts, created_at, state, visibility, managers, members, display_name, email`
	principalColumns      = shownPrincipalColumns + `, kind, key, mseq, since, role, writers, input_hash, answer, until`
)

func (r *principalRow) shownCells() []any {
	return []any{
		&r.seq, &r.mts, &r.createdAt, &r.state, &r.visibility, &r.managers, &r.members, &r.displayName, &r.email,
	}
}

func (r *principalRow) cells() []any {
	return append(r.shownCells(), &r.kind, &r.key, &r.mseq, &r.since, &r.role, &r.writers, &r.hash, &r.answer, &r.until)
}

// header returns the header of a user or a group from the row.
func (r *principalRow) header(id principal.ID) principal.Header {
	return principal.Header{
		ID: id, DisplayName: r.displayName, Visibility: principal.Visibility(r.visibility), Email: r.email,
		CreatedAt: clock.Instant(r.createdAt), State: commit.State(r.state), Seq: r.seq, MTS: clock.Instant(r.mts),
		Writers: writersOf(r.writers, r.seq), Managers: r.managers, Members: r.members,
	}
}

// member returns the row as that of a member.
func (r *principalRow) member() principal.GroupMemberRow {
	return principal.GroupMemberRow{
		Principal: principal.ID(r.key), Role: principal.GroupRole(r.role), Leaving: r.state == memberLeaving, Seq: r.mseq,
		Since: clock.Instant(r.since),
	}
}

const selectPrincipalRows = `SELECT ` + principalColumns + ` FROM principal WHERE principal_id = ? AND (kind, key) IN ?`

// ReadPrincipal implements principal.Store.
func (s principals) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	rows := new(principal.Rows)
	if err := s.readPrincipal(ctx, "read a principal", id, q, rows); err != nil {
		return nil, err
	}
	return rows, nil
}

func (s principals) readPrincipal(ctx context.Context, doing string, id principal.ID, q principal.Query, rows *principal.Rows) error {
	r := session.Query{Operation: doing, Stmt: selectPrincipalRows, PartitionKey: string(id), Serial: q.Serial,
		Args: []any{string(id), partitionKeys(q.Members, q.Request)}}
	if len(q.Members) > 0 {
		rows.Members = make([]principal.GroupMemberRow, len(q.Members))
		for i, p := range q.Members {
			rows.Members[i].Principal = p
		}
	}
	return s.eachPrincipalRow(ctx, r, func(row *principalRow) (err error) {
		switch row.kind {
		case kindHeader:
			rows.Header = row.header(id)
		case kindMember:
			m := row.member()
			for i := range rows.Members {
				if rows.Members[i].Principal == m.Principal {
					rows.Members[i] = m
				}
			}
		case kindRequest:
			rows.Request, err = row.requestCells.row(*q.Request)
		}
		return err
	})
}

// eachPrincipalRow runs a SELECT of principalColumns. The row that it passes to see is reused.
func (s principals) eachPrincipalRow(ctx context.Context, r session.Query, see func(*principalRow) error) error {
	row := new(principalRow)
	return s.session.Read(ctx, r, row.cells(), func() error { return see(row) })
}

const selectShownPrincipal = `SELECT ` + shownPrincipalColumns + ` FROM principal WHERE principal_id = ? AND kind = 0 AND key = '~'`

// ReadPrincipals implements principal.Store.
func (s principals) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	headers := make([]principal.Header, len(ids))
	at := make(map[principal.ID][]int, len(ids))
	var distinct []principal.ID
	for i, id := range ids {
		if at[id] == nil {
			distinct = append(distinct, id)
		}
		at[id] = append(at[id], i)
	}
	read := func(ctx context.Context, n int) (*principal.Header, error) {
		return s.readShownPrincipal(ctx, distinct[n])
	}
	err := session.ReadEach(ctx, s.session, len(distinct), read, func(n int, h *principal.Header) {
		for _, i := range at[distinct[n]] {
			headers[i] = *h
		}
	})
	if err != nil {
		return nil, err
	}
	return headers, nil
}

func (s principals) readShownPrincipal(ctx context.Context, id principal.ID) (*principal.Header, error) {
	r := session.Query{Operation: "read principals", Stmt: selectShownPrincipal, PartitionKey: string(id), Args: []any{string(id)}}
	iter, err := s.session.ReadOnce(ctx, &r)
	if err != nil {
		return nil, err
	}
	h := new(principal.Header)
	row := new(principalRow)
	for cells := row.shownCells(); iter.Scan(cells...); {
		*h = row.header(id)
	}
	return h, session.WrapError(r.Operation, iter.Close())
}

const (
	assignPrincipalCells = `UPDATE principal SET seq = ?, mts = ?, state = ?, display_name = ?, visibility = ?, email = ?, created_at = ?,
 managers = ?, members = ?`
	updatePrincipal   = assignPrincipalCells + `, writers[?] = ? WHERE principal_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	putGroupMember    = `INSERT INTO principal (principal_id, kind, key, role, state, mseq, since) VALUES (?, 1, ?, ?, ?, ?, ?)`
	putPrincipalReply = `INSERT INTO principal (principal_id, kind, key, input_hash, answer, until) VALUES (?, 2, ?, ?, ?, ?) USING TTL ?`
)

// CommitPrincipal implements principal.Store.
func (s principals) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	h := &c.Header
	if h.Seq != c.Base+1 {
		return commit.Verdict{}, wrongSeq(h.Seq, c.Base)
	}
	var ch session.Batch
	ch.Append(updatePrincipal, append(principalValues(h), slotOf(h.Seq), gocql.UUID(c.Writer), string(c.ID), baseOf(c.Base))...)
	for _, m := range c.Members {
		ch.Append(putGroupMember, string(c.ID), string(m.Principal), int8(m.Role), memberState(m.Leaving), h.Seq, int64(m.Since))
	}
	if r := c.Request; r != nil {
		ch.Append(putPrincipalReply, string(c.ID), requestKey(&r.Key), r.InputHash[:], notNull(r.Answer), int64(r.Until), s.timeToLive(r.Until))
	}
	const doing = "commit a principal"
	applied, err := s.session.Decide(ctx, doing, &ch)
	if err != nil || applied {
		return commit.Verdict{Applied: applied}, err
	}
	var rows principal.Rows
	if err := s.readPrincipal(ctx, doing, c.ID, principal.Query{Serial: true}, &rows); err != nil {
		return commit.Verdict{}, fault.Uncertain(err)
	}
	return commit.Verdict{Seq: rows.Header.Seq, Writers: rows.Header.Writers}, nil
}

// principalValues returns the values of assignPrincipalCells.
func principalValues(h *principal.Header) []any {
	return []any{h.Seq, int64(h.MTS), int8(h.State), h.DisplayName, int8(h.Visibility), h.Email, int64(h.CreatedAt), h.Managers, h.Members}
}
