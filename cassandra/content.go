package cassandra

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// contentRow is a row of the table content, of any kind.
type contentRow struct {
	kind                                                    int8
	key                                                     string
	seq, mts, lastModified, position, movesSince, createdAt int64
	state, itemKind, visibility, widest, present, role      int8
	version, moves, managers, members                       int
	title, description, link, creator, url, formerTitle     string
	page, data                                              []byte
	expiresAt, mseq, loggedInUntil, publicUntil, since      int64
	removedFrom                                             int8
	movedAt                                                 int64
	unsettled                                               map[int64]int8
	unsettledTitles                                         map[int64][]byte
	writers                                                 map[int8]gocql.UUID
	requestCells
}

// shownColumns are the columns of contentRow.shownCells, in their order: the part of a header and
// of member rows that pages need. They are few, because a page reads each cell forty times.
// contentColumns are the columns of contentRow.cells: also those that only changes need, among them
// two maps of up to 32 cells each, and those of requests.
const (
	shownColumns = `kind, key, seq, mts, last_modified, position, created_at, state, item_kind, visibility, present, role, version,
 title, description, link, creator, expires_at, mseq, url, page, former_title`
	contentColumns = shownColumns +
		`, widest, moves_since, moves, managers, members, logged_in_until, public_until, moved_at, since, left_buckets,
 unsettled, unsettled_titles, writers, input_hash, answer, until, data`
)

func (r *contentRow) shownCells() []any {
	return []any{
		&r.kind, &r.key, &r.seq, &r.mts, &r.lastModified, &r.position, &r.createdAt, &r.state, &r.itemKind, &r.visibility,
		&r.present, &r.role, &r.version,
		&r.title, &r.description, &r.link, &r.creator, &r.expiresAt, &r.mseq, &r.url, &r.page,
		&r.formerTitle,
	}
}

func (r *contentRow) cells() []any {
	return append(r.shownCells(), &r.widest, &r.movesSince, &r.moves, &r.managers, &r.members, &r.loggedInUntil,
		&r.publicUntil, &r.movedAt, &r.since, &r.removedFrom,
		&r.unsettled, &r.unsettledTitles, &r.writers, &r.hash, &r.answer, &r.until, &r.data)
}

// The optional parts of an item, as bits of the column present. An absent part is stored as its
// zero value, because a null would write a tombstone.
const (
	hasDescription int8 = 1 << iota
	hasLink
	hasExpiry
)

// header returns the header of an item from the row.
func (r *contentRow) header(id library.ContentID) (library.Header, error) {
	titles, err := unsettledTitlesOf(r.unsettledTitles)
	h := library.Header{
		Content: library.Content{
			ID: id, Kind: library.ContentKind(r.itemKind), Title: r.title, Visibility: principal.Visibility(r.visibility),
			Creator: principal.ID(r.creator), CreatedAt: clock.Instant(r.createdAt),
			LastModified: clock.Instant(r.lastModified), Version: r.version, CanonicalURL: r.url,
		},
		State: commit.State(r.state), Seq: r.seq, MTS: clock.Instant(r.mts),
		Position: clock.Instant(r.position), FormerTitle: r.formerTitle, Widest: principal.Visibility(r.widest),
		Unsettled: unsettledOf(r.unsettled), UnsettledTitles: titles, Writers: writersOf(r.writers, r.seq),
		MovesSince: clock.Instant(r.movesSince), Moves: r.moves, MovedAt: clock.Instant(r.movedAt), Managers: r.managers, Members: r.members,
		LoggedInUntil: clock.Instant(r.loggedInUntil), PublicUntil: clock.Instant(r.publicUntil),
	}
	if len(r.page) > 0 {
		h.Page = bytes.Clone(r.page)
	}
	if r.present&hasDescription != 0 {
		description := r.description
		h.Description = &description
	}
	if r.present&hasLink != 0 {
		link := r.link
		h.Link = &link
	}
	if r.present&hasExpiry != 0 {
		expiry := clock.Instant(r.expiresAt)
		h.ExpiresAt = &expiry
	}
	return h, err
}

// member returns the row as that of a member.
func (r *contentRow) member() library.Member {
	return library.Member{Principal: principal.ID(r.key), Role: library.ContentRole(r.role), Leaving: r.state == memberLeaving, Seq: r.mseq,
		Since: clock.Instant(r.since), RemovedFrom: library.Buckets(r.removedFrom)}
}

const selectContentRows = `SELECT ` + contentColumns + ` FROM content WHERE content_id = ? AND (kind, key) IN ?`

// contents implements library.ContentStore.
type contents struct{ *Store }

// Read implements library.ContentStore.
func (s contents) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	rows := new(library.ContentRows)
	if err := s.readContent(ctx, "read a content", id, q, rows); err != nil {
		return nil, err
	}
	return rows, nil
}

// readContent reads rows of one partition in one statement, so that they come from one state.
func (s contents) readContent(ctx context.Context, doing string, id library.ContentID, q library.ContentQuery,
	rows *library.ContentRows) error {
	r := session.Query{Operation: doing, Stmt: selectContentRows, PartitionKey: string(id), Serial: q.Serial,
		Args: []any{string(id), partitionKeys(q.Members, q.Request, q.Rows...)}}
	rows.Members = noMembers(q.Members)
	rows.Rows = noRows(q.Rows)
	return s.eachContentRow(ctx, r, func(row *contentRow) (err error) {
		switch row.kind {
		case kindHeader:
			rows.Header, err = row.header(id)
		case kindMember:
			putMemberRow(rows.Members, row.member())
		case kindRequest:
			rows.Request, err = row.requestCells.row(*q.Request)
		default:
			putRow(rows.Rows, row.further())
		}
		return err
	})
}

// eachContentRow runs a SELECT of contentColumns. The row that it passes to see is reused.
func (s contents) eachContentRow(ctx context.Context, r session.Query, see func(*contentRow) error) error {
	row := new(contentRow)
	return s.session.Read(ctx, r, row.cells(), func() error { return see(row) })
}

// The header's key sorts after every principal, so it is in the slice.
const selectMembersPage = `SELECT ` + contentColumns + ` FROM content WHERE content_id = ? AND kind IN (0, 1) AND key > ? LIMIT ?`

// MembersPage implements library.ContentStore. Header and rows come from one statement, and so from
// one state.
func (s contents) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int,
	serial bool) (*library.ContentRows, error) {
	rows := new(library.ContentRows)
	r := session.Query{Operation: "read members", Stmt: selectMembersPage, Serial: serial,
		Args: []any{string(id), string(after), max(limit, 0) + 1}}
	err := s.eachContentRow(ctx, r, func(row *contentRow) (err error) {
		switch {
		case row.kind == kindHeader:
			rows.Header, err = row.header(id)
		case len(rows.Members) < limit:
			// The limit of the statement counts the header, which every partition has. If it were
			// missing, the last member would be dropped here.
			rows.Members = append(rows.Members, row.member())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// With base 0 the condition is seq = null, which means that no header may exist. The map
// writers has a fixed number of elements, and overwriting one writes no tombstone. A cleanup removes
// elements of unsettled, and each removal leaves a tombstone that every read of the header passes.
// A move assigns the whole map, which writes one tombstone that replaces the earlier ones.
const (
	assignContentCells = `UPDATE content SET seq = ?, mts = ?, state = ?, item_kind = ?, title = ?, description = ?, link = ?, expires_at = ?,
 present = ?, creator = ?, created_at = ?, last_modified = ?, version = ?, visibility = ?, widest = ?, position = ?,
 moves_since = ?, moves = ?, managers = ?, members = ?, logged_in_until = ?, public_until = ?, moved_at = ?,
 url = ?, page = ?, former_title = ?`
	assignContentHeader = assignContentCells + `, writers[?] = ?`

	updateContent   = assignContentHeader + ` WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	renameContent   = assignContentHeader + `, unsettled_titles = ? WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	moveRenamed     = assignContentHeader + `, unsettled = ?, unsettled_titles = ? WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	moveContent     = assignContentHeader + `, unsettled = ? WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?`
	putMember       = `INSERT INTO content (content_id, kind, key, role, state, mseq, since, left_buckets) VALUES (?, 1, ?, ?, ?, ?, ?, ?)`
	putContentReply = `INSERT INTO content (content_id, kind, key, input_hash, answer, until) VALUES (?, 2, ?, ?, ?, ?) USING TTL ?`
)

// Commit implements library.ContentStore: one conditional batch on the item's
// partition.
func (s contents) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	if c.Header.Seq != c.Base+1 {
		return commit.Verdict{}, wrongSeq(c.Header.Seq, c.Base)
	}
	var ch session.Batch
	stmt, args := updateContent, append(headerValues(&c.Header), slotOf(c.Header.Seq), gocql.UUID(c.Writer))
	if c.Supersede != nil {
		stmt, args = moveContent, append(args, unsettledValue(append(slices.Clip(c.Header.Unsettled), *c.Supersede)))
	}
	if c.SupersedeTitle != nil {
		titles := unsettledTitlesValue(library.WithSupersededTitle(c.Header.UnsettledTitles, *c.SupersedeTitle))
		if stmt, args = renameContent, append(args, titles); c.Supersede != nil {
			stmt = moveRenamed
		}
	}
	ch.Append(stmt, append(args, string(c.ID), baseOf(c.Base))...)
	for _, m := range c.Members {
		ch.Append(putMember, string(c.ID), string(m.Principal), int8(m.Role), memberState(m.Leaving), c.Header.Seq,
			int64(m.Since), int8(m.RemovedFrom))
	}
	appendRows(&ch, c.ID, c.Rows)
	if r := c.Request; r != nil {
		ch.Append(putContentReply, string(c.ID), requestKey(&r.Key), r.InputHash[:], notNull(r.Answer), int64(r.Until), s.timeToLive(r.Until))
	}
	const doing = "commit"
	applied, err := s.session.Decide(ctx, doing, &ch)
	if err != nil || applied {
		return commit.Verdict{Applied: applied}, err
	}
	rows := new(library.ContentRows)
	if err := s.readContent(ctx, doing, c.ID, library.ContentQuery{Serial: true}, rows); err != nil {
		// This write was refused, but an earlier attempt of the same entry may have been applied,
		// and only the verdict would show that.
		return commit.Verdict{}, fault.Uncertain(err)
	}
	return commit.Verdict{Seq: rows.Header.Seq, Writers: rows.Header.Writers}, nil
}

// headerValues returns the values of assignContentCells.
func headerValues(h *library.Header) []any {
	var present int8
	var description, link string
	var expiresAt int64
	if h.Description != nil {
		present, description = present|hasDescription, *h.Description
	}
	if h.Link != nil {
		present, link = present|hasLink, *h.Link
	}
	if h.ExpiresAt != nil {
		present, expiresAt = present|hasExpiry, int64(*h.ExpiresAt)
	}
	return []any{
		h.Seq, int64(h.MTS), int8(h.State), int8(h.Kind), h.Title, description, link, expiresAt,
		present, string(h.Creator), int64(h.CreatedAt), int64(h.LastModified), h.Version, int8(h.Visibility), int8(h.Widest), int64(h.Position),
		int64(h.MovesSince), h.Moves, h.Managers, h.Members, int64(h.LoggedInUntil), int64(h.PublicUntil), int64(h.MovedAt),
		h.CanonicalURL, notNull(h.Page), h.FormerTitle,
	}
}

// baseOf returns the value for the condition on seq: null if no header may exist.
func baseOf(base int64) any {
	if base == 0 {
		return nil
	}
	return base
}

func memberState(leaving bool) int8 {
	if leaving {
		return memberLeaving
	}
	return 0
}

// notNull returns b, or an empty slice for nil, which would be bound as a null and write a
// tombstone.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// requestKey returns the key of an answered request's row.
func requestKey(key *commit.RequestKey) string { return hex.EncodeToString(key[:]) }

// maxTimeToLive is the longest time to live that Cassandra accepts: 20 years.
const maxTimeToLive = 630720000

// timeToLive returns, in whole seconds, how long a row must be kept at least; 0 means for ever.
func (s *Store) timeToLive(until clock.Instant) int {
	if until == clock.Max {
		return 0
	}
	return int(min(max(int64(until-s.now())/1e6+1, 1), maxTimeToLive))
}

func wrongSeq(seq, base int64) error {
	return &fault.Error{Code: fault.Internal, Msg: "commit: the new seq does not follow its base", Err: seqError{seq, base}}
}
