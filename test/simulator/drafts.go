package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/note"
	"carrel/principal"
)

// draftName is the key of a draft.
type draftName struct {
	user principal.ID
	name string
}

// compareDraft orders drafts by their keys.
func compareDraft(d note.DraftRow, k draftName) int {
	return cmp.Or(cmp.Compare(d.User, k.user), cmp.Compare(d.Name, k.name))
}

// draftGroup is the Paxos group of the drafts of a user.
func draftGroup(user principal.ID) string { return "drafts " + string(user) }

// draftAt returns a draft, or the zero draft.
func (st *Store) draftAt(k draftName) note.DraftRow {
	i, found := find(st.drafts, k, compareDraft)
	if !found {
		return note.DraftRow{}
	}
	d := st.drafts[i]
	d.Value = slices.Clone(d.Value)
	return d
}

// putDraft stores a draft, and replaces one with its key.
func (st *Store) putDraft(d note.DraftRow) {
	i, found := find(st.drafts, draftName{d.User, d.Name}, compareDraft)
	if found {
		st.drafts[i] = d
		return
	}
	st.drafts = slices.Insert(st.drafts, i, d)
}

// texts implements page.Store.
type texts struct{ *Client }

// ListDrafts lists the drafts of a user.
func (c texts) ListDrafts(ctx context.Context, user principal.ID) ([]note.DraftRow, error) {
	var drafts []note.DraftRow
	err := c.read(ctx, "ListDrafts", func() {
		for _, d := range c.st.drafts {
			if d.User == user {
				d.Value = nil
				drafts = append(drafts, d)
			}
		}
	})
	slices.SortFunc(drafts, note.NewestDraftFirst)
	return drafts, err
}

// ReadDrafts reads drafts of a user.
func (c texts) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	drafts := make([]note.DraftRow, len(names))
	err := c.read(ctx, "ReadDrafts", func() {
		if serial && c.a != nil {
			c.st.decide(draftGroup(user))
		}
		for n, name := range names {
			drafts[n] = c.st.draftAt(draftName{user, name})
		}
	})
	return drafts, err
}

// PutDraft stores a draft if there is none, or replaces the one with a token.
func (c texts) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	d.Value = slices.Clone(d.Value)
	var token *note.TextID
	if over != nil {
		copied := *over
		token = &copied
	}
	var there note.DraftRow
	key := draftName{d.User, d.Name}
	err := c.write(ctx, "PutDraft", draftGroup(d.User), func() {
		before := c.st.draftAt(key)
		if none := before.User == ""; none == (token == nil) && (none || before.Token == *token) {
			c.st.putDraft(d)
		}
		there = c.st.draftAt(key)
	}, nil)
	return there, err
}

// DropDraft removes the draft of a name if it has the token.
func (c texts) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	return c.write(ctx, "DropDraft", draftGroup(user), func() {
		i, found := find(c.st.drafts, draftName{user, name}, compareDraft)
		if found && c.st.drafts[i].Token == token {
			c.st.drafts = slices.Delete(c.st.drafts, i, i+1)
		}
	}, nil)
}
