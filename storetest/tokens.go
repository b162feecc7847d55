package storetest

import (
	"context"

	"carrel/core/claim"
	"carrel/note"
)

// A tokened kind of rows has one row for each key, which is replaced over its token: claims or drafts.
type tokened[T, R any] struct {
	s     *env
	row   func(name, text string) R // of this subtest; the next row of the name with another token
	token func(*R) *T
	put   func(ctx context.Context, r R, over *T) (R, error)
	want  func(what string, of, want R) // compares the row with the key of another
}

// set puts a row.
func (k tokened[T, R]) set(r R, over *T) R {
	k.s.Helper()
	return settled(k.s, func() (R, error) { return k.put(k.s.ctx, r, over) })
}

// puts checks that a row is stored where there is none.
func (k tokened[T, R]) puts() {
	s := k.s
	var none R
	one, two := k.row("a", "one"), k.row("a", "two")
	s.same("the first", k.set(one, nil), one)
	s.same("the first again", k.set(one, nil), one)
	s.same("a second", k.set(two, nil), one)
	missing := k.row("b", "missing")
	s.same("over a token where there is none", k.set(missing, k.token(&missing)), none)
	k.want("after that", missing, none)
	k.want("the first after all", one, one)
}

// replaces checks that a row replaces the one with its token, and no other.
func (k tokened[T, R]) replaces() {
	s := k.s
	one, two, three := k.row("a", "one"), k.row("a", "two"), k.row("a", "three")
	k.set(one, nil)
	s.same("over another token", k.set(three, k.token(&two)), one)
	s.same("over its token", k.set(two, k.token(&one)), two)
	s.same("again", k.set(two, k.token(&one)), two)
	s.same("over a token that it had", k.set(three, k.token(&one)), two)
	k.want("what is there", one, two)
}

// races has many callers put a row of one key, then replace it.
func (k tokened[T, R]) races() {
	var over *T
	for range 2 {
		rivals := make([]R, racers)
		for n := range rivals {
			rivals[n] = k.row("a", "rival")
		}
		got := agreed(k.s, func(n int) (R, error) { return k.put(k.s.ctx, rivals[n], over) })
		k.want("the winner", got, got)
		over = k.token(&got)
	}
}

func (s *env) claims() tokened[claim.Token, claim.Claim] {
	return tokened[claim.Token, claim.Claim]{
		s: s, put: s.Claims.PutClaim,
		row:   func(name, text string) claim.Claim { return s.claimed(name, "c:x:"+text) },
		token: func(c *claim.Claim) *claim.Token { return &c.Token },
		want:  func(what string, of, want claim.Claim) { s.wantClaim(what, of.Key, want) },
	}
}

func (s *env) drafts() tokened[note.TextID, note.DraftRow] {
	return tokened[note.TextID, note.DraftRow]{
		s: s, put: s.Texts.PutDraft,
		row:   func(name, text string) note.DraftRow { return s.draft("a", int(name[0]), text) },
		token: func(d *note.DraftRow) *note.TextID { return &d.Token },
		want:  func(what string, of, want note.DraftRow) { s.wantDrafts(what, of.User, []string{of.Name}, want) },
	}
}
