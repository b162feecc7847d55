package cassandra

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

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

const (
	archiveSettings  = `SELECT token(name), name, value FROM setting WHERE token(name) >= ?`
	archiveBlocks    = `SELECT token(host), host, next FROM id_block WHERE token(host) >= ?`
	archiveCreations = `SELECT token(key), key, input_hash, id, until FROM request WHERE token(key) >= ?`
	archiveTexts     = `SELECT token(text_id), text_id, content_id, row_kind, row_key, body FROM item_text WHERE token(text_id) >= ?`
	archiveLeases    = `SELECT token(lease_id), lease_id, seq, data FROM lease WHERE token(lease_id) >= ?`
	archivePastes    = `SELECT token(paste_id), paste_id, seq, data FROM paste WHERE token(paste_id) >= ?`

	archivePrincipals = `SELECT token(principal_id), principal_id, ` + principalColumns + ` FROM principal WHERE token(principal_id) >= ?`
	archivePrincipal  = `SELECT token(principal_id), principal_id, ` + principalColumns +
		` FROM principal WHERE principal_id = ? AND (kind, key) > (?, ?)`

	archiveContents = `SELECT token(content_id), content_id, ` + contentColumns + ` FROM content WHERE token(content_id) >= ?`
	archiveContent  = `SELECT token(content_id), content_id, ` + contentColumns + ` FROM content WHERE content_id = ? AND (kind, key) > (?, ?)`

	archiveDues = `SELECT token(hour, shard), hour, shard, at, content_id, mts FROM due WHERE token(hour, shard) >= ?`
	archiveDue  = `SELECT token(hour, shard), hour, shard, at, content_id, mts FROM due WHERE hour = ? AND shard = ? AND (at, content_id) > (?, ?)`

	archiveDrafts = `SELECT token(user_id), user_id, name, draft_token, data FROM draft WHERE token(user_id) >= ?`
	archiveDraft  = `SELECT token(user_id), user_id, name, draft_token, data FROM draft WHERE user_id = ? AND name > ?`

	archiveBodies = `SELECT token(paste_id), paste_id, body_id, body FROM paste_body WHERE token(paste_id) >= ?`
	archiveBody   = `SELECT token(paste_id), paste_id, body_id, body FROM paste_body WHERE paste_id = ? AND body_id > ?`
)

// archiveTableOf returns the table of a chapter.
func archiveTableOf(c archive.Chapter) (*archiveTable, error) {
	switch c {
	case archive.ChapterSettings:
		return &archiveTable{doing: "read settings", onward: archiveSettings, rows: readSettings}, nil
	case archive.ChapterBlocks:
		return &archiveTable{doing: "read blocks", onward: archiveBlocks, rows: readBlocks}, nil
	case archive.ChapterCreations:
		return &archiveTable{doing: "read creations", onward: archiveCreations, rows: readCreations}, nil
	case archive.ChapterPrincipals:
		return &archiveTable{doing: "read principal rows", onward: archivePrincipals, within: archivePrincipal, after: afterKind,
			rows: readPrincipalRows}, nil
	case archive.ChapterContents:
		return &archiveTable{doing: "read content rows", onward: archiveContents, within: archiveContent, after: afterKind,
			rows: readContentRows}, nil
	case archive.ChapterDues:
		return &archiveTable{doing: "read due rows", onward: archiveDues, within: archiveDue, after: afterDue, rows: readDueRows}, nil
	case archive.ChapterTexts:
		return &archiveTable{doing: "read texts", onward: archiveTexts, rows: readTextRows}, nil
	case archive.ChapterDrafts:
		return &archiveTable{doing: "read drafts", onward: archiveDrafts, within: archiveDraft, after: afterText, rows: readDraftRows}, nil
	case archive.ChapterLeases:
		return &archiveTable{doing: "read leases", onward: archiveLeases,
			rows: readRows(func(r *archive.Row, l *lease.Row) { r.Lease = l })}, nil
	case archive.ChapterPastes:
		return &archiveTable{doing: "read pastes", onward: archivePastes,
			rows: readRows(func(r *archive.Row, p *paste.Row) { r.Paste = p })}, nil
	case archive.ChapterBodies:
		return &archiveTable{doing: "read bodies of pastes", onward: archiveBodies, within: archiveBody, after: afterBytes,
			rows: readBodyRows}, nil
	}
	return nil, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("read rows: unknown chapter %d", c)}
}

// The arguments of within, of the keys of a position.

func afterText(part, row []byte) ([]any, error) { return []any{string(part), string(row)}, nil }

func afterBytes(part, row []byte) ([]any, error) { return []any{string(part), row}, nil }

// afterKind is for rows of content and of principals, whose keys are a kind, and a key within it.
func afterKind(part, row []byte) ([]any, error) {
	if len(row) == 0 {
		return nil, session.ErrMalformedCell
	}
	return []any{string(part), int8(row[0]), string(row[1:])}, nil
}

func kindRowOf(kind int8, key string) []byte { return append([]byte{byte(kind)}, key...) }

// afterDue is for reminders, whose keys are an instant and the item.
func afterDue(part, row []byte) ([]any, error) {
	if len(part) != 9 || len(row) < 8 {
		return nil, session.ErrMalformedCell
	}
	return []any{int64(binary.BigEndian.Uint64(part) ^ signBit), int8(part[8]), int64(binary.BigEndian.Uint64(row)), string(row[8:])}, nil
}

// duePartOf returns the key of a partition of reminders. The sign bit of the hour is inverted, so that it
// sorts as in the cluster.
func duePartOf(hour int64, shard int8) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(hour)^signBit), byte(shard))
}

const signBit = 1 << 63

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
