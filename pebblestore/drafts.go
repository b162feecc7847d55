package pebblestore

import (
	"context"
	"slices"

	"carrel/note"
	"carrel/principal"
)

// texts implements note.Store.
type texts struct{ *Store }

// ListDrafts implements note.Store.
func (s texts) ListDrafts(ctx context.Context, user principal.ID) ([]note.DraftRow, error) {
	rows := under(appendPartition(nil, tableDraft, string(user)), unlimited)
	drafts, err := list(ctx, s.Store, "list drafts", rows, func(key, value []byte) (note.DraftRow, error) {
		d, err := draftOf(key, value)
		d.Value = nil
		return d, err
	})
	slices.SortFunc(drafts, note.NewestDraftFirst)
	return drafts, err
}

// ReadDrafts implements note.Store.
func (s texts) ReadDrafts(ctx context.Context, user principal.ID, names []string, _ bool) ([]note.DraftRow, error) {
	return call(ctx, s.Store, "read drafts", func() (drafts []note.DraftRow, err error) {
		drafts = make([]note.DraftRow, len(names))
		for i, name := range names {
			if drafts[i], err = s.draftAt(user, name, appendDraftKey(nil, user, name)); err != nil {
				return nil, err
			}
		}
		return drafts, nil
	})
}

// draftAt reads the draft at a key. It returns a zero row if there is none.
func (s texts) draftAt(user principal.ID, name string, key []byte) (note.DraftRow, error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return note.DraftRow{}, err
	}
	return decodeDraft(user, name, value)
}

// PutDraft implements note.Store.
func (s texts) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	current := d
	key := appendDraftKey(nil, d.User, d.Name)
	err := s.write(ctx, "put a draft", key, s.commitSynced, func(b *batch) error {
		before, err := s.draftAt(d.User, d.Name, key)
		if err != nil {
			return err
		}
		none := before.User == ""
		if none != (over == nil) || over != nil && *over != before.Token {
			current = before
			return nil
		}
		b.set(key, appendDraft(nil, &d))
		return s.Room()
	})
	if err != nil {
		return note.DraftRow{}, err
	}
	return current, nil
}

// DropDraft implements note.Store.
func (s texts) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	key := appendDraftKey(nil, user, name)
	return s.write(ctx, "drop a draft", key, s.commitSynced, func(b *batch) error {
		before, err := s.draftAt(user, name, key)
		if before.User != "" && before.Token == token {
			b.delete(key)
		}
		return err
	})
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
	copy(d.Token[:], r.Raw(len(d.Token)))
	d.Value = []byte(r.Rest())
	return d, r.end()
}
