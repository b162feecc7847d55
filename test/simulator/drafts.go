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
	d := at(st.drafts, k, compareDraft)
	d.Value = slices.Clone(d.Value)
	return d
}

// putDraft stores a draft, and replaces one with its key.
func (st *Store) putDraft(d note.DraftRow) {
	st.drafts = put(st.drafts, draftName{d.User, d.Name}, compareDraft, d)
}

// texts implements note.Store.
type texts struct{ *Client }

// ListDrafts lists the drafts of a user.
func (c texts) ListDrafts(ctx context.Context, user principal.ID) ([]note.DraftRow, error) {
	return look(ctx, c.Client, "ListDrafts", func() (drafts []note.DraftRow) {
		for _, d := range c.st.drafts {
			if d.User == user {
				d.Value = nil
				drafts = append(drafts, d)
			}
		}
		slices.SortFunc(drafts, note.NewestDraftFirst)
		return drafts
	})
}

// ReadDrafts reads drafts of a user.
func (c texts) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	return look(ctx, c.Client, "ReadDrafts", func() []note.DraftRow {
		if serial {
			c.decide(draftGroup(user))
		}
		drafts := make([]note.DraftRow, len(names))
		for n, name := range names {
			drafts[n] = c.st.draftAt(draftName{user, name})
		}
		return drafts
	})
}

// PutDraft stores a draft if there is none, or replaces the one with a token.
func (c texts) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	d.Value = slices.Clone(d.Value)
	token, key := copied(over), draftName{d.User, d.Name}
	return change(ctx, c.Client, "PutDraft", draftGroup(d.User), func() note.DraftRow {
		before := c.st.draftAt(key)
		if none := before.User == ""; none == (token == nil) && (none || before.Token == *token) {
			c.st.putDraft(d)
		}
		return c.st.draftAt(key)
	})
}

// DropDraft removes the draft of a name if it has the token.
func (c texts) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	return c.write(ctx, "DropDraft", draftGroup(user), func() {
		if key := (draftName{user, name}); c.st.draftAt(key).Token == token {
			c.st.drafts = drop(c.st.drafts, key, compareDraft)
		}
	}, nil)
}
