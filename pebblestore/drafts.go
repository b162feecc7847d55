package pebblestore

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/note"
	"carrel/principal"
)

// texts implements page.Store.
type texts struct{ *Store }

// ListDrafts implements page.Store.
func (s texts) ListDrafts(ctx context.Context, user principal.ID) (_ []note.DraftRow, err error) {
	op, err := s.enter(ctx, "list drafts")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = appendDraftKey(v.key[:0], user, "")
		v.end = append(append(v.end[:0], v.key[:len(v.key)-1]...), 1)
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var drafts []note.DraftRow
	for ok := v.it.First(); ok; ok = v.it.Next() {
		var value []byte
		var d note.DraftRow
		if value, err = v.it.ValueAndErr(); err == nil {
			d, err = draftOf(v.it.Key(), value)
		}
		if err != nil {
			break
		}
		d.Value = nil
		drafts = append(drafts, d)
	}
	if err = errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	slices.SortFunc(drafts, note.NewestDraftFirst)
	return drafts, nil
}

// ReadDrafts implements page.Store.
func (s texts) ReadDrafts(ctx context.Context, user principal.ID, names []string, _ bool) (_ []note.DraftRow, err error) {
	op, err := s.enter(ctx, "read drafts")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	drafts := make([]note.DraftRow, len(names))
	for i, name := range names {
		d, err := s.draftAt(user, name, appendDraftKey(nil, user, name))
		if err != nil {
			return nil, err
		}
		drafts[i] = d
	}
	return drafts, nil
}

// draftAt reads the draft at a key. It returns a zero row if there is none.
func (s texts) draftAt(user principal.ID, name string, key []byte) (note.DraftRow, error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return note.DraftRow{}, err
	}
	return decodeDraft(user, name, value)
}

// PutDraft implements page.Store.
func (s texts) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	current := d
	err := s.changeDraft(ctx, "put a draft", d.User, d.Name, func(b *pebble.Batch, key []byte, before note.DraftRow) error {
		none := before.User == ""
		if none != (over == nil) || over != nil && *over != before.Token {
			current = before
			return nil
		}
		if err := s.space.CheckFree(s.now()); err != nil {
			return err
		}
		return b.Set(key, appendDraft(nil, &d), nil)
	})
	if err != nil {
		return note.DraftRow{}, err
	}
	return current, nil
}

// DropDraft implements page.Store.
func (s texts) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	return s.changeDraft(ctx, "drop a draft", user, name, func(b *pebble.Batch, key []byte, before note.DraftRow) error {
		if before.User == "" || before.Token != token {
			return nil
		}
		return b.Delete(key, nil)
	})
}

// changeDraft changes a draft under the lock of its row. It writes nothing if change leaves the
// batch empty.
func (s texts) changeDraft(ctx context.Context, doing string, user principal.ID, name string,
	change func(b *pebble.Batch, key []byte, before note.DraftRow) error) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	key := appendDraftKey(nil, user, name)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	before, err := s.draftAt(user, name, key)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := change(b, key, before); err != nil || b.Empty() {
		return err
	}
	return s.commitSynced(b)
}

// draftOf reads the row of a draft.
func draftOf(key, value []byte) (note.DraftRow, error) {
	user, name, err := cutString(key[1:])
	if err != nil {
		return note.DraftRow{}, err
	}
	return decodeDraft(principal.ID(user), string(name), value)
}

// appendDraftKey appends the key of a draft.
func appendDraftKey(b []byte, user principal.ID, name string) []byte {
	return append(appendPartition(b, tableDraft, string(user)), name...)
}

// appendDraft appends the row of a draft, without its key.
func appendDraft(b []byte, d *note.DraftRow) []byte {
	return append(append(append(b, rowVersion), d.Token[:]...), d.Value...)
}

// decodeDraft reads the row of a draft.
func decodeDraft(user principal.ID, name string, value []byte) (note.DraftRow, error) {
	r := decode(value)
	d := note.DraftRow{User: user, Name: name}
	copy(d.Token[:], r.raw(len(d.Token)))
	d.Value = []byte(r.rest())
	return d, r.end()
}
