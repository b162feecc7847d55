package storetest

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"carrel/library"
	"carrel/note"
)

func textChecks() []check {
	return []check{
		{"ReadTexts", "ReadTexts must return the texts in the order of ids, at most MaxTexts, the zero Text where there is none",
			readTexts},
		{"DropTexts", "It must be harmless when repeated", dropTexts},
		{"ScanTexts", "each text is listed once without its body, in a permanent order", scanTexts},
	}
}

// text returns the n-th text of this subtest.
func (s *env) text(n int, body string) note.Text {
	sum := sha256.Sum256([]byte(fmt.Sprint(s.tenant, " ", n)))
	return note.Text{ID: note.TextID(sum[:16]), Item: s.content("item"), Row: library.RowKey{Kind: 4, Key: fmt.Sprint("row ", n)}, Body: body}
}

// wantTexts reads texts by their ids.
func (s *env) wantTexts(what string, ids []note.TextID, want ...note.Text) {
	s.Helper()
	s.returns(what, want)(s.Texts.ReadTexts(s.ctx, ids))
}

func readTexts(s *env) {
	bodies := []string{"", "Ä\u202e\n\x00 \U0001F600", strings.Repeat("long ", 512<<10/5)}
	var all []note.Text
	var ids []note.TextID
	for n := range note.MaxTexts {
		t := s.text(n, bodies[n%2])
		if n == 7 {
			t.Body = bodies[2]
		}
		if n%3 == 2 {
			t = note.Text{}
		} else {
			s.ok(s.Texts.PutText(s.ctx, t))
			s.ok(s.Texts.PutText(s.ctx, t))
		}
		all, ids = append(all, t), append(ids, s.text(n, "").ID)
	}
	s.wantTexts("one hundred texts", ids, all...)
	s.wantTexts("a text twice, in another order", []note.TextID{ids[3], ids[2], ids[0], ids[3]}, all[3], all[2], all[0], all[3])
	s.wantTexts("no text", nil)
}

func dropTexts(s *env) {
	one, two, three := s.text(1, "one"), s.text(2, "two"), s.text(3, "three")
	for _, t := range []note.Text{one, two, three} {
		s.ok(s.Texts.PutText(s.ctx, t))
	}
	ids := []note.TextID{one.ID, two.ID, three.ID}
	for range 2 {
		s.ok(s.Texts.DropTexts(s.ctx, []note.TextID{one.ID, three.ID, s.text(4, "").ID}))
		s.wantTexts("after two were removed", ids, note.Text{}, two, note.Text{})
	}
	s.ok(s.Texts.DropTexts(s.ctx, nil))
}

func scanTexts(s *env) {
	want := map[note.TextID]note.Text{}
	for n := range 7 {
		t := s.text(n, "body")
		s.ok(s.Texts.PutText(s.ctx, t))
		t.Body = ""
		want[t.ID] = t
	}
	id := func(t note.Text) note.TextID { return t.ID }
	scan[note.TextID, note.Text]{s.Texts.ScanTexts, id, among(want)}.want(s, want)
	s.returns("a page of none", []note.Text(nil))(s.Texts.ScanTexts(s.ctx, note.TextID{}, 0))
}
