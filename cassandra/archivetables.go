package cassandra

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

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
func singleRows(doing, beyond, within, beside string, key func() ([]any, func() ([]byte, error)),
	partition func([]byte) ([]any, error), rows func() ([]any, rowReader)) *archiveTable {
	return &archiveTable{doing: doing, beyond: beyond, within: within, beside: beside, single: true, key: key,
		partition: partition, rows: rows}
}

// Keys of partitions.

func textKey() ([]any, func() ([]byte, error)) {
	var key string
	return []any{&key}, func() ([]byte, error) { return []byte(key), nil }
}

func textPart(part []byte) ([]any, error) { return []any{string(part)}, nil }

func bytesKey() ([]any, func() ([]byte, error)) {
	var key []byte
	return []any{&key}, func() ([]byte, error) { return slices.Clone(key), nil }
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

func dueKey() ([]any, func() ([]byte, error)) {
	var hour int64
	var shard int8
	return []any{&hour, &shard}, func() ([]byte, error) { return duePartOf(hour, shard), nil }
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

func readSettings() ([]any, rowReader) {
	var name string
	var value []byte
	return []any{&name, &value}, func() (r archive.Row, at rowPosition, err error) {
		r.Setting = &archive.SettingRow{Name: name, Value: slices.Clone(value)}
		at.Part = []byte(name)
		return r, at, nil
	}
}

func readBlocks() ([]any, rowReader) {
	var b archive.BlockRow
	return []any{&b.Host, &b.Next}, func() (r archive.Row, at rowPosition, err error) {
		block := b
		at.Part, r.Block = []byte(b.Host), &block
		return r, at, nil
	}
}

func readCreations() ([]any, rowReader) {
	var key, hash []byte
	var id string
	var until int64
	return []any{&key, &hash, &id, &until}, func() (r archive.Row, at rowPosition, err error) {
		c := commit.Creation{ID: id, Until: clock.Instant(until)}
		err = errors.Join(fill(c.Key[:], key), fill(c.InputHash[:], hash))
		at.Part, r.Creation = c.Key[:], &c
		return r, at, err
	}
}

func readLeases() ([]any, rowReader) {
	var id string
	var seq int64
	var data []byte
	return []any{&id, &seq, &data}, func() (r archive.Row, at rowPosition, err error) {
		r.Lease = &lease.Row{ID: lease.ID(id), Seq: seq, Data: slices.Clone(data)}
		at.Part = []byte(id)
		return r, at, nil
	}
}

func readPrincipalRows() ([]any, rowReader) {
	var row principalRow
	var id string
	return append([]any{&id}, row.cells()...), func() (r archive.Row, at rowPosition, err error) {
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
		at.Part, at.Row = []byte(id), kindRowOf(row.kind, row.key)
		return r, at, err
	}
}

func readContentRows() ([]any, rowReader) {
	var row contentRow
	var id string
	return append([]any{&id}, row.cells()...), func() (r archive.Row, at rowPosition, err error) {
		content := library.ContentID(id)
		switch row.kind {
		case kindHeader:
			r.Content = new(library.Header)
			*r.Content, err = row.header(content)
		case kindMember:
			r.Member = &archive.MemberAt{Content: content, Member: row.member()}
		case kindRequest:
			r.Request = &archive.RequestAt{Content: content}
			r.Request.RequestRow, err = row.requestCells.archived(row.key)
		default:
			r.ContentRow = &archive.RowAt{Content: content, Row: row.further()}
		}
		at.Part, at.Row = []byte(id), kindRowOf(row.kind, row.key)
		return r, at, err
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

func readTextRows() ([]any, rowReader) {
	var row textRow
	var key []byte
	return []any{&key, &row.item, &row.kind, &row.key, &row.body}, func() (r archive.Row, at rowPosition, err error) {
		var id note.TextID
		err = fill(id[:], key)
		text := row.text(id)
		at.Part, r.Text = id[:], &text
		return r, at, err
	}
}

func readDraftRows() ([]any, rowReader) {
	var user, name string
	var token, value []byte
	return []any{&user, &name, &token, &value}, func() (r archive.Row, at rowPosition, err error) {
		d := note.DraftRow{User: principal.ID(user), Name: name, Value: slices.Clone(value)}
		err = fill(d.Token[:], token)
		at.Part, at.Row, r.Draft = []byte(user), []byte(name), &d
		return r, at, err
	}
}

func readDueRows() ([]any, rowReader) {
	var hour, instant, mts int64
	var shard int8
	var row string
	return []any{&hour, &shard, &instant, &row, &mts}, func() (r archive.Row, at rowPosition, err error) {
		due := commit.ReminderOf(clock.Instant(instant), row, clock.Instant(mts))
		r.Due = &due
		at.Part, at.Row = duePartOf(hour, shard), dueRowOf(due)
		return r, at, nil
	}
}
