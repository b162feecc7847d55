package storetest

import (
	"fmt"
	"strings"

	"carrel/core/fault"
	"carrel/note"
	"carrel/principal"
)

func draftAreas() []area {
	return []area{
		{"ListDrafts", []check{
			{"ListDrafts must return the drafts of a user without their values, the greatest token first", listDrafts},
		}},
		{"ReadDrafts", []check{
			{"ReadDrafts must return the drafts of a user in the order of names, at most MaxDraftRows, the zero DraftRow where there is none",
				readDrafts},
		}},
		{"PutDraft", []check{
			{"It must return the draft that there is then, the zero DraftRow where there is none", putDraft},
			{"a draft replaces the one with its token only", replaceDraft},
			{"one of many that put a draft at the same time wins", raceForDraft},
		}},
		{"DropDraft", []check{
			{"DropDraft must remove the draft of a name iff it has the token", dropDraft},
		}},
	}
}

// draft returns a draft of a user of this subtest.
func (s *env) draft(user string, n int, value string) note.DraftRow {
	e := s.entry()
	return note.DraftRow{User: s.user(user), Name: fmt.Sprintf("%s/%010d/en", s.content("item"), n), Token: note.TextID(e),
		Value: []byte(value)}
}

// putDraft puts a draft. It may repeat the call after an unknown outcome, because the result is
// the draft that there is then.
func (s *env) putDraft(d note.DraftRow, over *note.TextID) note.DraftRow {
	s.Helper()
	got, err := s.tryPutDraft(d, over)
	s.ok(err)
	return got
}

func (s *env) tryPutDraft(d note.DraftRow, over *note.TextID) (got note.DraftRow, err error) {
	for range 8 {
		if got, err = s.Texts.PutDraft(s.ctx, d, over); !fault.MayHaveCommitted(err) {
			break
		}
	}
	return got, err
}

// dropDraft removes the draft with the token of d.
func (s *env) dropDraft(d note.DraftRow) {
	s.Helper()
	err := s.Texts.DropDraft(s.ctx, d.User, d.Name, d.Token)
	for n := 0; n < 8 && fault.MayHaveCommitted(err); n++ {
		err = s.Texts.DropDraft(s.ctx, d.User, d.Name, d.Token)
	}
	s.ok(err)
}

// wantDrafts reads drafts by their names.
func (s *env) wantDrafts(what string, user principal.ID, names []string, want ...note.DraftRow) {
	s.Helper()
	got, err := s.Texts.ReadDrafts(s.ctx, user, names, false)
	s.ok(err)
	s.same(what, got, want)
}

func listDrafts(s *env) {
	one, two, three := s.draft("a", 3, "one"), s.draft("a", 1, "two"), s.draft("a", 2, "three")
	other, longer := s.draft("b", 1, "of another user"), s.draft("a2", 1, "of a user whose name begins with that of the first")
	for _, d := range []note.DraftRow{two, one, three, other, longer} {
		s.putDraft(d, nil)
	}
	for user, want := range map[principal.ID][]note.DraftRow{one.User: {three, two, one}, other.User: {other}, s.user("c"): nil} {
		got, err := s.Texts.ListDrafts(s.ctx, user)
		s.ok(err)
		for n := range want {
			want[n].Value = nil
		}
		s.same("the drafts of "+string(user), got, want)
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
	one, two := s.draft("a", 1, "one"), s.draft("a", 1, "two")
	s.same("the first", s.putDraft(one, nil), one)
	s.same("the first again", s.putDraft(one, nil), one)
	s.same("a second", s.putDraft(two, nil), one)
	missing := s.draft("a", 2, "missing")
	s.same("over a token where there is none", s.putDraft(missing, &missing.Token), note.DraftRow{})
	s.wantDrafts("after that", one.User, []string{one.Name, missing.Name}, one, note.DraftRow{})
	others := s.draft("b", 1, "of another user")
	s.same("the name of another user's draft", s.putDraft(others, nil), others)
}

func replaceDraft(s *env) {
	one, two, three := s.draft("a", 1, "one"), s.draft("a", 1, "two"), s.draft("a", 1, "three")
	s.putDraft(one, nil)
	s.same("over another token", s.putDraft(three, &two.Token), one)
	s.same("over its token", s.putDraft(two, &one.Token), two)
	s.same("again", s.putDraft(two, &one.Token), two)
	s.same("over a token that it had", s.putDraft(three, &one.Token), two)
	s.wantDrafts("what is there", one.User, []string{one.Name}, two)
}

// raceForDraft has many writers create one draft, then replace it.
func raceForDraft(s *env) {
	rivals := make([]note.DraftRow, racers)
	for n := range rivals {
		rivals[n] = s.draft("a", 1, fmt.Sprint("text ", n))
	}
	var over *note.TextID
	for range 2 {
		got, errs := make([]note.DraftRow, racers), make([]error, racers)
		together(func(n int) { got[n], errs[n] = s.tryPutDraft(rivals[n], over) })
		for n := range got {
			s.ok(errs[n])
			s.same("what every caller got", got[n], got[0])
		}
		s.wantDrafts("the winner", rivals[0].User, []string{rivals[0].Name}, got[0])
		winner := got[0].Token
		over = &winner
		for n := range rivals {
			rivals[n].Token[0] ^= 0xff
		}
	}
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
