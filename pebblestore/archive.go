package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

var _ archive.Store = (*Store)(nil)

// chapterTable returns the table that contains the rows of a chapter.
func chapterTable(c archive.Chapter) (byte, error) {
	switch c {
	case archive.ChapterSettings:
		return tableSetting, nil
	case archive.ChapterBlocks:
		return tableBlock, nil
	case archive.ChapterCreations:
		return tableCreation, nil
	case archive.ChapterPrincipals:
		return tablePrincipal, nil
	case archive.ChapterContents:
		return tableContent, nil
	case archive.ChapterDues:
		return tableDue, nil
	case archive.ChapterTexts:
		return tableText, nil
	case archive.ChapterDrafts:
		return tableDraft, nil
	case archive.ChapterLeases:
		return tableLease, nil
	case archive.ChapterPastes:
		return tablePaste, nil
	case archive.ChapterBodies:
		return tableBody, nil
	}
	return 0, fmt.Errorf("unknown chapter %d", c)
}

// ReadRows implements archive.Store. The position is the key of the last row read.
func (s *Store) ReadRows(ctx context.Context, c archive.Chapter, after []byte, limit int) (rows []archive.Row, next []byte, err error) {
	op, err := s.enter(ctx, "read rows")
	if err != nil {
		return nil, nil, err
	}
	defer op.leave(&err)
	rows, next, err = s.readRows(c, after, limit)
	if err != nil {
		return nil, nil, err
	}
	return rows, next, nil
}

func (s *Store) readRows(c archive.Chapter, after []byte, limit int) (rows []archive.Row, next []byte, err error) {
	table, err := chapterTable(c)
	if err != nil {
		return nil, nil, err
	}
	if after != nil && (len(after) == 0 || after[0] != table) {
		return nil, nil, errKey
	}
	if table == tablePaste {
		return s.readPasteRows(after, limit)
	}
	span := under([]byte{table}, limit)
	if after != nil {
		span.from = appendAfter(bytes.Clone(after))
	}
	rows, err = inView(s, nil, func(v *view) ([]archive.Row, error) {
		return listRows(v, span, func(key, value []byte) (archive.Row, error) {
			next = append(next[:0], key...)
			return decodeArchived(table, key, value)
		})
	})
	if err != nil || len(rows) < limit {
		return rows, nil, err
	}
	return rows, next, nil
}

// readPasteRows reads rows of pastes in the order of their ids, whichever table they are in.
func (s *Store) readPasteRows(after []byte, limit int) (rows []archive.Row, next []byte, err error) {
	var last paste.ID
	if after != nil {
		last = paste.ID(after[1:])
	}
	pastes, err := inView(s, nil, func(v *view) ([]paste.Row, error) { return v.scanPastes(last, limit) })
	if err != nil {
		return nil, nil, err
	}
	for i := range pastes {
		rows = append(rows, archive.Row{Paste: &pastes[i]})
	}
	if len(pastes) == limit && limit > 0 {
		next = appendPasteKey(nil, pastes[limit-1].ID)
	}
	return rows, next, nil
}

// decodeArchived reads a row of any other table that is not derived.
func decodeArchived(table byte, key, value []byte) (r archive.Row, err error) {
	switch table {
	case tablePrincipal, tableContent:
		return decodePartitionRow(table, key, value)
	case tableSetting:
		r.Setting = &archive.SettingRow{Name: string(key[1:])}
		value, err = decodeBytes(value)
		r.Setting.Value = bytes.Clone(value)
	case tableBlock:
		r.Block = &archive.BlockRow{Host: string(key[1:])}
		r.Block.Next, err = decodeNext(value)
	case tableCreation:
		var hash commit.RequestKey
		if copy(hash[:], key[1:]) != len(hash) || len(key) != 1+len(hash) {
			return r, errKey
		}
		var c commit.Creation
		c, err = decodeCreation(hash, value)
		r.Creation = &c
	case tableDue:
		var d commit.Reminder
		d, err = decodeDueRow(key, value)
		r.Due = &d
	case tableText:
		var t note.Text
		t, err = textOf(key, value)
		r.Text = &t
	case tableDraft:
		var d note.DraftRow
		d, err = draftOf(key, value)
		r.Draft = &d
	case tableLease:
		var l lease.Row
		l, err = leaseOf(key, value)
		r.Lease = &l
	case tableBody:
		r.Body, err = bodyOf(key, value)
	}
	return r, err
}

// decodePartitionRow reads a row of the partition of a content or a principal.
func decodePartitionRow(table byte, key, value []byte) (r archive.Row, err error) {
	id, rest, err := cutString(key[1:])
	if err != nil || len(rest) == 0 {
		return r, errors.Join(errKey, err)
	}
	kind, rest := rest[0], rest[1:]
	switch {
	case kind == kindHeader && table == tableContent:
		r.Content = new(library.Header)
		return r, decodeHeader(library.ContentID(id), value, r.Content)
	case kind == kindHeader:
		r.Principal = new(principal.Header)
		return r, decodePrincipal(principal.ID(id), value, r.Principal)
	case kind == kindMember:
		member := principal.ID(rest)
		if table == tableContent {
			r.Member = &archive.MemberAt{Content: library.ContentID(id), Member: library.Member{Principal: member}}
			err = decodeContentMember(value, &r.Member.Member)
		} else {
			r.GroupMember = &archive.GroupMemberAt{Group: principal.ID(id), GroupMemberRow: principal.GroupMemberRow{Principal: member}}
			err = decodeGroupMember(value, &r.GroupMember.GroupMemberRow)
		}
		return r, err
	case kind == kindRequest:
		var hash commit.RequestKey
		if copy(hash[:], rest) != len(hash) || len(rest) != len(hash) {
			return r, errKey
		}
		row, err := decodeRequest(hash, value)
		if err != nil {
			return r, err
		}
		r.Request = &archive.RequestAt{RequestRow: *row}
		if table == tableContent {
			r.Request.Content = library.ContentID(id)
		} else {
			r.Request.Principal = principal.ID(id)
		}
		return r, nil
	}
	if table == tableContent && kind >= byte(library.FirstRowKind) {
		r.ContentRow = &archive.RowAt{Content: library.ContentID(id)}
		r.ContentRow.Kind, r.ContentRow.Key = library.RowKind(kind), string(rest)
		r.ContentRow.Value, err = decodeRow(value)
		return r, err
	}
	return r, errKey
}

// PutRows implements archive.Store. It does not sync its write: PutCopyNote, which follows, syncs
// both.
func (s *Store) PutRows(ctx context.Context, rows []archive.Row) error {
	return s.write(ctx, "put rows", nil, s.commitLater, func(b *batch) error {
		for i := range rows {
			if err := s.putArchived(b, &rows[i]); err != nil {
				return err
			}
		}
		return s.Room()
	})
}

// putArchived adds a row to a batch.
func (s *Store) putArchived(b *batch, r *archive.Row) error {
	switch {
	case r.Setting != nil:
		b.set(appendSingle(nil, tableSetting, r.Setting.Name), appendBytes(nil, r.Setting.Value))
	case r.Block != nil:
		b.set(appendSingle(nil, tableBlock, r.Block.Host), appendNext(nil, r.Block.Next))
	case r.Creation != nil:
		putCreation(b, r.Creation)
	case r.Principal != nil:
		b.set(appendHeaderKey(nil, tablePrincipal, string(r.Principal.ID)), appendPrincipal(nil, r.Principal))
	case r.GroupMember != nil:
		m := r.GroupMember
		b.set(appendMemberKey(nil, tablePrincipal, string(m.Group), m.Principal), appendGroupMember(nil, &m.GroupMemberRow))
	case r.Content != nil:
		b.set(appendHeaderKey(nil, tableContent, string(r.Content.ID)), appendHeader(nil, r.Content))
	case r.Member != nil:
		m := r.Member
		b.set(appendMemberKey(nil, tableContent, string(m.Content), m.Principal), appendContentMember(nil, &m.Member))
	case r.ContentRow != nil:
		putRows(b, r.ContentRow.Content, []library.Row{r.ContentRow.Row})
	case r.Request != nil && r.Request.Content != "":
		putRequest(b, tableContent, string(r.Request.Content), &r.Request.RequestRow)
	case r.Request != nil:
		putRequest(b, tablePrincipal, string(r.Request.Principal), &r.Request.RequestRow)
	case r.Due != nil:
		b.set(appendDueKey(nil, *r.Due), appendDue(nil, r.Due.MTS))
	case r.Text != nil:
		b.set(appendTextKey(nil, r.Text.ID), appendPageText(nil, r.Text))
	case r.Draft != nil:
		b.set(appendDraftKey(nil, r.Draft.User, r.Draft.Name), appendDraft(nil, r.Draft))
	case r.Lease != nil:
		b.set(appendSingle(nil, tableLease, string(r.Lease.ID)), appendSeqRow(nil, *r.Lease))
	case r.Paste != nil:
		_, before, err := pasteByID(r.Paste.ID, s.get)
		if err != nil {
			return err
		}
		putPaste(b, r.Paste, before)
	case r.Body != nil:
		b.set(appendBodyKey(nil, r.Body.BodyRef), appendBytes(nil, []byte(r.Body.Text)))
	default:
		return errors.New("an empty archive row")
	}
	return nil
}

// CopyNote implements archive.Store.
func (s *Store) CopyNote(ctx context.Context) ([]byte, error) {
	return call(ctx, s, "read the note of a copy", func() ([]byte, error) {
		row, found, err := s.get([]byte{tableCopy})
		if err != nil || !found {
			return nil, err
		}
		return decodeBytes(row)
	})
}

// PutCopyNote implements archive.Store.
func (s *Store) PutCopyNote(ctx context.Context, note []byte) error {
	return s.write(ctx, "write the note of a copy", nil, s.commitSynced, func(b *batch) error {
		if note == nil {
			b.delete([]byte{tableCopy})
		} else {
			b.set([]byte{tableCopy}, appendBytes(nil, note))
		}
		return nil
	})
}
