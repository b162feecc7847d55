package storetest

import (
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// wantNote fails if the note of owner's rebuild differs; "" means none.
func (s *env) wantNote(owner principal.ID, want string) {
	s.Helper()
	note, err := s.Libraries.RebuildNote(s.ctx, owner)
	s.ok(err)
	if string(note) != want || (note == nil) != (want == "") {
		s.Errorf("the note of %s is %q, not %q", owner, note, want)
	}
}

func (s *env) note(owner principal.ID, asOf clock.Instant, note string) {
	s.Helper()
	s.ok(s.Libraries.PutRebuildNote(s.ctx, owner, asOf, []byte(note)))
}

func rebuildNote(s *env) {
	a, b := s.user("a"), s.user("a/b")
	s.wantNote(a, "")
	s.note(a, start, "one")
	s.wantNote(a, "one")
	s.wantNote(b, "")
	s.note(b, start, "two")
	s.ok(s.Libraries.DropRebuildNote(s.ctx, a, start))
	s.wantNote(a, "")
	s.wantNote(b, "two")
}

func rebuildNotes(s *env) {
	a := s.user("a")
	for _, n := range []struct {
		asOf       clock.Instant
		note, want string
	}{
		{start, "b", "b"},
		{start, "a", "b"},
		{start, "ba", "ba"},
		{start, "b", "ba"},
		{start - 1, "c", "ba"},
		{start + 1, "a", "a"},
		{start, "z", "a"},
		{start + 1, "a", "a"},
		{start + 1, "b", "b"},
	} {
		s.note(a, n.asOf, n.note)
		s.wantNote(a, n.want)
	}
}

func dropRebuildNote(s *env) {
	a := s.user("a")
	s.ok(s.Libraries.DropRebuildNote(s.ctx, a, start-9))
	s.note(a, start, "one")
	s.ok(s.Libraries.DropRebuildNote(s.ctx, a, start-1))
	s.wantNote(a, "one")
	s.ok(s.Libraries.DropRebuildNote(s.ctx, a, start))
	s.ok(s.Libraries.DropRebuildNote(s.ctx, a, start))
	s.wantNote(a, "")
	s.note(a, start+1, "a")
	s.wantNote(a, "a")
	s.ok(s.Libraries.DropRebuildNote(s.ctx, a, start+2))
	s.wantNote(a, "")
}

func rebuildNoteAlone(s *env) {
	a, empty := s.user("a"), s.user("empty")
	e := s.addEntry("item", principal.Private, start, a)
	for _, p := range []principal.ID{a, empty} {
		s.note(p, start, "one")
		s.returns("built", false)(s.Libraries.Built(s.ctx, p, library.ByChange))
		s.ok(s.Libraries.SetBuilt(s.ctx, p, start))
		s.wantNote(p, "one")
		s.ok(s.Libraries.DropRebuildNote(s.ctx, p, start+1))
		s.returns("built", true)(s.Libraries.Built(s.ctx, p, library.ByChange))
	}
	s.wantLibrary(a, buckets(principal.Private, e))
	s.wantLibrary(empty, nil)
}
