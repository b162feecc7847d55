package storetest

import (
	"fmt"
	"strings"

	"carrel/note"
	"carrel/principal"
)

func draftChecks() []check {
	return []check{
		{"ListDrafts", "ListDrafts must return the drafts of a user without their values, the greatest token first", listDrafts},
		{"ReadDrafts",
			"ReadDrafts must return the drafts of a user in the order of names, at most MaxDraftRows, the zero DraftRow where there is none",
			readDrafts},
		{"PutDraft", "It must return the draft that there is then, the zero DraftRow where there is none", putDraft},
		{"PutDraft", "a draft replaces the one with its token only", func(s *env) { s.drafts().replaces() }},
		{"PutDraft", "one of many that put a draft at the same time wins", func(s *env) { s.drafts().races() }},
		{"DropDraft", "DropDraft must remove the draft of a name iff it has the token", dropDraft},
	}
}

// draft returns a draft of a user of this subtest.
func (s *env) draft(user string, n int, value string) note.DraftRow {
	e := s.entry()
	return note.DraftRow{User: s.user(user), Name: fmt.Sprintf("%s/%010d/en", s.content("item"), n), Token: note.TextID(e),
		Value: []byte(value)}
}

// putDraft puts a draft.
func (s *env) putDraft(d note.DraftRow, over *note.TextID) note.DraftRow {
	s.Helper()
	return s.drafts().set(d, over)
}

// dropDraft removes the draft with the token of d.
func (s *env) dropDraft(d note.DraftRow) {
	s.Helper()
	s.settle(func() error { return s.Texts.DropDraft(s.ctx, d.User, d.Name, d.Token) })
}

// wantDrafts reads drafts by their names.
func (s *env) wantDrafts(what string, user principal.ID, names []string, want ...note.DraftRow) {
	s.Helper()
	s.returns(what, want)(s.Texts.ReadDrafts(s.ctx, user, names, false))
}

func listDrafts(s *env) {
	one, two, three := s.draft("a", 3, "one"), s.draft("a", 1, "two"), s.draft("a", 2, "three")
	other, longer := s.draft("b", 1, "of another user"), s.draft("a2", 1, "of a user whose name begins with that of the first")
	for _, d := range []note.DraftRow{two, one, three, other, longer} {
		s.putDraft(d, nil)
	}
	for user, want := range map[principal.ID][]note.DraftRow{one.User: {three, two, one}, other.User: {other}, s.user("c"): nil} {
		for n := range want {
			want[n].Value = nil
		}
		s.returns("the drafts of "+string(user), want)(s.Texts.ListDrafts(s.ctx, user))
	}
	newer := s.draft("a", 3, "one again")
	s.putDraft(newer, &one.Token)
	got, err := s.Texts.ListDrafts(s.ctx, one.User)
	s.ok(err)
	if len(got) != 3 || got[0].Token != newer.Token {
		s.Fatalf("after one was saved again: %v", got)
	}
}

func readDrafts(s *env) {
	bodies := []string{"", "\x00\x01\xff", strings.Repeat("long ", 2000)}
	var all []note.DraftRow
	var names []string
	for n := range note.MaxDraftRows {
		d := s.draft("a", n, bodies[n%3])
		names = append(names, d.Name)
		if n%4 == 3 {
			all = append(all, note.DraftRow{})
			continue
		}
		s.putDraft(d, nil)
		all = append(all, d)
	}
	user := s.user("a")
	s.wantDrafts("one hundred drafts", user, names, all...)
	s.wantDrafts("a draft twice, in another order", user, []string{names[4], names[3], names[0], names[4]}, all[4],
		note.DraftRow{}, all[0], all[4])
	s.wantDrafts("drafts of another user", s.user("b"), names[:1], note.DraftRow{})
	s.wantDrafts("no draft", user, nil)
}

func putDraft(s *env) {
	s.drafts().puts()
	others := s.draft("b", int('a'), "of another user")
	s.same("the name of another user's draft", s.putDraft(others, nil), others)
}

func dropDraft(s *env) {
	one, other := s.draft("a", 1, "one"), s.draft("a", 1, "other")
	names := []string{one.Name}
	s.dropDraft(one)
	s.putDraft(one, nil)
	s.dropDraft(other)
	s.wantDrafts("after the removal of another version", one.User, names, one)
	s.dropDraft(one)
	s.wantDrafts("after its removal", one.User, names, note.DraftRow{})
	s.same("another one after that", s.putDraft(other, nil), other)
	s.wantDrafts("another one after that", one.User, names, other)
}
