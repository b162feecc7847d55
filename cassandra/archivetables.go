package cassandra

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

const (
	archiveSettings       = `SELECT token(name), name, value FROM setting WHERE token(name) > ? LIMIT ?`
	archiveSetting        = `SELECT token(name), name, value FROM setting WHERE name = ? LIMIT ?`
	archiveSettingsBeside = `SELECT name FROM setting WHERE token(name) = ?`

	archiveBlocks       = `SELECT token(host), host, next FROM id_block WHERE token(host) > ? LIMIT ?`
	archiveBlock        = `SELECT token(host), host, next FROM id_block WHERE host = ? LIMIT ?`
	archiveBlocksBeside = `SELECT host FROM id_block WHERE token(host) = ?`

	archiveCreations       = `SELECT token(key), key, input_hash, id, until FROM request WHERE token(key) > ? LIMIT ?`
	archiveCreation        = `SELECT token(key), key, input_hash, id, until FROM request WHERE key = ? LIMIT ?`
	archiveCreationsBeside = `SELECT key FROM request WHERE token(key) = ?`

	archivePrincipals = `SELECT token(principal_id), principal_id, ` + principalColumns +
		` FROM principal WHERE token(principal_id) > ? LIMIT ?`
	archivePrincipal = `SELECT token(principal_id), principal_id, ` + principalColumns +
		` FROM principal WHERE principal_id = ? AND (kind, key) > (?, ?) LIMIT ?`
	archivePrincipalsBeside = `SELECT DISTINCT principal_id FROM principal WHERE token(principal_id) = ?`

	archiveContents = `SELECT token(content_id), content_id, ` + contentColumns + ` FROM content WHERE token(content_id) > ? LIMIT ?`
	archiveContent  = `SELECT token(content_id), content_id, ` + contentColumns +
		` FROM content WHERE content_id = ? AND (kind, key) > (?, ?) LIMIT ?`
	archiveContentsBeside = `SELECT DISTINCT content_id FROM content WHERE token(content_id) = ?`

	archiveDues       = `SELECT token(hour, shard), hour, shard, at, content_id, mts FROM due WHERE token(hour, shard) > ? LIMIT ?`
	archiveDue        = `SELECT token(hour, shard), hour, shard, at, content_id, mts FROM due WHERE hour = ? AND shard = ? AND (at, content_id) > (?, ?) LIMIT ?`
	archiveDuesBeside = `SELECT DISTINCT hour, shard FROM due WHERE token(hour, shard) = ?`

	archiveTexts       = `SELECT token(text_id), text_id, content_id, row_kind, row_key, body FROM item_text WHERE token(text_id) > ? LIMIT ?`
	archiveText        = `SELECT token(text_id), text_id, content_id, row_kind, row_key, body FROM item_text WHERE text_id = ? LIMIT ?`
	archiveTextsBeside = `SELECT text_id FROM item_text WHERE token(text_id) = ?`

	archiveDrafts       = `SELECT token(user_id), user_id, name, draft_token, data FROM draft WHERE token(user_id) > ? LIMIT ?`
	archiveDraft        = `SELECT token(user_id), user_id, name, draft_token, data FROM draft WHERE user_id = ? AND name > ? LIMIT ?`
	archiveDraftsBeside = `SELECT DISTINCT user_id FROM draft WHERE token(user_id) = ?`
	archiveLeases       = `SELECT token(lease_id), lease_id, seq, data FROM lease WHERE token(lease_id) > ? LIMIT ?`
	archiveLease        = `SELECT token(lease_id), lease_id, seq, data FROM lease WHERE lease_id = ? LIMIT ?`
	archiveLeasesBeside = `SELECT lease_id FROM lease WHERE token(lease_id) = ?`

	archivePastes       = `SELECT token(paste_id), paste_id, seq, data FROM paste WHERE token(paste_id) > ? LIMIT ?`
	archivePaste        = `SELECT token(paste_id), paste_id, seq, data FROM paste WHERE paste_id = ? LIMIT ?`
	archivePastesBeside = `SELECT paste_id FROM paste WHERE token(paste_id) = ?`

	archiveBodies       = `SELECT token(paste_id), paste_id, body_id, body FROM paste_body WHERE token(paste_id) > ? LIMIT ?`
	archiveBody         = `SELECT token(paste_id), paste_id, body_id, body FROM paste_body WHERE paste_id = ? AND body_id > ? LIMIT ?`
	archiveBodiesBeside = `SELECT DISTINCT paste_id FROM paste_body WHERE token(paste_id) = ?`
)

// archiveTableOf returns the table of a chapter.
func archiveTableOf(c archive.Chapter) (*archiveTable, error) {
	switch c {
	case archive.ChapterSettings:
		return singleRows("read settings", archiveSettings, archiveSetting, archiveSettingsBeside, textKey, textPart, readSettings), nil
	case archive.ChapterBlocks:
		return singleRows("read blocks", archiveBlocks, archiveBlock, archiveBlocksBeside, textKey, textPart, readBlocks), nil
	case archive.ChapterCreations:
		return singleRows("read creations", archiveCreations, archiveCreation, archiveCreationsBeside, bytesKey, bytesPart, readCreations), nil
	case archive.ChapterPrincipals:
		return &archiveTable{doing: "read principal rows", beyond: archivePrincipals, within: archivePrincipal, beside: archivePrincipalsBeside,
			key: textKey, partition: textPart, row: kindRow, rows: readPrincipalRows}, nil
	case archive.ChapterContents:
		return &archiveTable{doing: "read content rows", beyond: archiveContents, within: archiveContent, beside: archiveContentsBeside,
			key: textKey, partition: textPart, row: kindRow, rows: readContentRows}, nil
	case archive.ChapterDues:
		return &archiveTable{doing: "read due rows", beyond: archiveDues, within: archiveDue, beside: archiveDuesBeside,
			key: dueKey, partition: duePart, row: dueRow, rows: readDueRows}, nil
	case archive.ChapterTexts:
		return singleRows("read texts", archiveTexts, archiveText, archiveTextsBeside, bytesKey, bytesPart, readTextRows), nil
	case archive.ChapterDrafts:
		return &archiveTable{doing: "read drafts", beyond: archiveDrafts, within: archiveDraft, beside: archiveDraftsBeside,
			key: textKey, partition: textPart, row: textPart, rows: readDraftRows}, nil
	case archive.ChapterLeases:
		return singleRows("read leases", archiveLeases, archiveLease, archiveLeasesBeside, textKey, textPart, readLeases), nil
	case archive.ChapterPastes:
		return singleRows("read pastes", archivePastes, archivePaste, archivePastesBeside, textKey, textPart, readPasteRows), nil
	case archive.ChapterBodies:
		return &archiveTable{doing: "read bodies of pastes", beyond: archiveBodies, within: archiveBody, beside: archiveBodiesBeside,
			key: textKey, partition: textPart, row: bytesPart, rows: readBodyRows}, nil
	}
	return nil, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("read rows: unknown chapter %d", c)}
}

// singleRows returns a table whose partitions have one row each.
func singleRows(doing, beyond, within, beside string, key func(*gocql.Iter) ([]byte, bool),
	partition func([]byte) ([]any, error), rows func() rowReader) *archiveTable {
	return &archiveTable{doing: doing, beyond: beyond, within: within, beside: beside, single: true, key: key,
		partition: partition, rows: rows}
}

// Keys of partitions.

func textKey(iter *gocql.Iter) ([]byte, bool) {
	var key string
	ok := iter.Scan(&key)
	return []byte(key), ok
}

func textPart(part []byte) ([]any, error) { return []any{string(part)}, nil }

func bytesKey(iter *gocql.Iter) ([]byte, bool) {
	var key []byte
	ok := iter.Scan(&key)
	return slices.Clone(key), ok
}

// bytesPart returns part, or an empty slice if part is nil, which stands for the position before
// all rows. The driver would send nil as null, which no comparison accepts.
func bytesPart(part []byte) ([]any, error) { return []any{append([]byte{}, part...)}, nil }

// duePartOf returns the key of a partition of reminders. The sign bit of the hour is inverted, so that it
// sorts as in the cluster.
func duePartOf(hour int64, shard int8) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(hour)^signBit), byte(shard))
}

const signBit = 1 << 63

func dueKey(iter *gocql.Iter) ([]byte, bool) {
	var hour int64
	var shard int8
	ok := iter.Scan(&hour, &shard)
	return duePartOf(hour, shard), ok
}

func duePart(part []byte) ([]any, error) {
	if len(part) != 9 {
		return nil, session.ErrMalformedCell
	}
	return []any{int64(binary.BigEndian.Uint64(part) ^ signBit), int8(part[8])}, nil
}

// Keys of rows within their partitions.

// kindRow decodes the key of a row of content or of a principal: its kind, and its key within the
// kind.
func kindRow(row []byte) ([]any, error) {
	if len(row) == 0 {
		return []any{int8(-1), ""}, nil
	}
	return []any{int8(row[0]), string(row[1:])}, nil
}

func kindRowOf(kind int8, key string) []byte { return append([]byte{byte(kind)}, key...) }

// beforeAllInstants is before the instant of any due.
const beforeAllInstants int64 = math.MinInt64

// dueRow decodes the key of a reminder: its instant and the item.
func dueRow(row []byte) ([]any, error) {
	switch {
	case len(row) == 0:
		return []any{beforeAllInstants, ""}, nil
	case len(row) < 8:
		return nil, session.ErrMalformedCell
	}
	return []any{int64(binary.BigEndian.Uint64(row)), string(row[8:])}, nil
}

func dueRowOf(d commit.Reminder) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(d.At)), d.Row()...)
}

// Rows.

func readSettings() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var value []byte
		var name string
		if !iter.Scan(&at.Token, &name, &value) {
			return r, at, false, nil
		}
		at.Part = []byte(name)
		r.Setting = &archive.SettingRow{Name: name, Value: slices.Clone(value)}
		return r, at, true, nil
	}
}

func readBlocks() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var b archive.BlockRow
		if !iter.Scan(&at.Token, &b.Host, &b.Next) {
			return r, at, false, nil
		}
		at.Part, r.Block = []byte(b.Host), &b
		return r, at, true, nil
	}
}

func readCreations() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var key, hash []byte
		var c commit.Creation
		var until int64
		if !iter.Scan(&at.Token, &key, &hash, &c.ID, &until) {
			return r, at, false, nil
		}
		if len(key) != len(c.Key) || len(hash) != len(c.InputHash) {
			return r, at, false, session.ErrMalformedCell
		}
		copy(c.Key[:], key)
		copy(c.InputHash[:], hash)
		c.Until = clock.Instant(until)
		at.Part, r.Creation = c.Key[:], &c
		return r, at, true, nil
	}
}

func readLeases() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var l lease.Row
		var id string
		if !iter.Scan(&at.Token, &id, &l.Seq, &l.Data) {
			return r, at, false, nil
		}
		l.ID, l.Data = lease.ID(id), slices.Clone(l.Data)
		at.Part, r.Lease = []byte(id), &l
		return r, at, true, nil
	}
}

func readPrincipalRows() rowReader {
	var row principalRow
	var id string
	var token int64
	cells := append([]any{&token, &id}, row.cells()...)
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		if !iter.Scan(cells...) {
			return r, at, false, nil
		}
		group := principal.ID(id)
		switch row.kind {
		case kindHeader:
			h := row.header(group)
			r.Principal = &h
		case kindMember:
			r.GroupMember = &archive.GroupMemberAt{Group: group, GroupMemberRow: row.member()}
		case kindRequest:
			r.Request = &archive.RequestAt{Principal: group}
			r.Request.RequestRow, err = row.requestCells.archived(row.key)
		default:
			err = session.ErrMalformedCell
		}
		return r, rowPosition{token, []byte(id), kindRowOf(row.kind, row.key)}, err == nil, err
	}
}

func readContentRows() rowReader {
	var row contentRow
	var id string
	var token int64
	cells := append([]any{&token, &id}, row.cells()...)
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		if !iter.Scan(cells...) {
			return r, at, false, nil
		}
		content := library.ContentID(id)
		switch row.kind {
		case kindHeader:
			h := row.header(content)
			r.Content = &h
		case kindMember:
			r.Member = &archive.MemberAt{Content: content, Member: row.member()}
		case kindRequest:
			r.Request = &archive.RequestAt{Content: content}
			r.Request.RequestRow, err = row.requestCells.archived(row.key)
		default:
			r.ContentRow = &archive.RowAt{Content: content, Row: row.further()}
		}
		return r, rowPosition{token, []byte(id), kindRowOf(row.kind, row.key)}, err == nil, err
	}
}

// archived returns an answered request. key is the key of its row, which is the request's.
func (c *requestCells) archived(key string) (commit.RequestRow, error) {
	b, err := hex.DecodeString(key)
	if err != nil || len(b) != len(commit.RequestKey{}) {
		return commit.RequestRow{}, session.ErrMalformedCell
	}
	row, err := c.row(commit.RequestKey(b))
	if err != nil {
		return commit.RequestRow{}, err
	}
	return *row, nil
}

func readTextRows() rowReader {
	var row textRow
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var key []byte
		if !iter.Scan(&at.Token, &key, &row.item, &row.kind, &row.key, &row.body) {
			return r, at, false, nil
		}
		at.Part = slices.Clone(key)
		if len(key) != len(note.TextID{}) {
			return r, at, false, session.ErrMalformedCell
		}
		text := row.text(note.TextID(key))
		r.Text = &text
		return r, at, true, nil
	}
}

func readDraftRows() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var user string
		var token, value []byte
		d := new(note.DraftRow)
		if !iter.Scan(&at.Token, &user, &d.Name, &token, &value) {
			return r, at, false, nil
		}
		if copy(d.Token[:], token) != len(d.Token) {
			return r, at, false, session.ErrMalformedCell
		}
		d.User, d.Value = principal.ID(user), slices.Clone(value)
		at.Part, at.Row, r.Draft = []byte(user), []byte(d.Name), d
		return r, at, true, nil
	}
}

func readDueRows() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var hour, instant, mts int64
		var shard int8
		var row string
		if !iter.Scan(&at.Token, &hour, &shard, &instant, &row, &mts) {
			return r, at, false, nil
		}
		due := commit.ReminderOf(clock.Instant(instant), row, clock.Instant(mts))
		r.Due = &due
		at.Part, at.Row = duePartOf(hour, shard), dueRowOf(*r.Due)
		return r, at, true, nil
	}
}
