package storetest

import (
	"fmt"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/paste"
)

func pasteAreas() []area {
	return []area{
		{"ReadPaste", []check{
			{"It must return the zero Row where there is none", readPaste},
		}},
		{"ReadPastes", []check{
			{"ReadPastes must return the rows in the order of refs, at most MaxRows, the zero Row where there is none", readPastes},
			{"It must return the same row if CreatedAt is unknown or wrong", readPastesByWrongRefs},
		}},
		{"CommitPaste", []check{
			{"It must return the row that the paste has then, the zero Row where it has none", commitPaste},
			{"one of many that change a paste at the same time wins", raceForPaste},
		}},
		{"DropPaste", []check{
			{"DropPaste must remove a paste iff it has this Seq", dropPaste},
		}},
		{"ScanPastes", []check{
			{"each paste is listed once, in a permanent order", scanPastes},
			{"a scan continues after a paste that was dropped", scanPastesAfterADrop},
		}},
		{"Bodies", []check{
			{"ReadBodies must return the bodies in the order of refs, at most MaxRows, nil where there is none", readBodies},
			{"ListBodies must list the bodies of a paste, without their texts", listBodies},
			{"It must be harmless when repeated", dropBodies},
		}},
		{"Errors of pastes and feeds", []check{
			{"The error of a CommitPaste that may have been applied satisfies MayHaveCommitted", uncertainPastes},
			{"reads of pastes and feeds with a context that has ended return an error, not nothing", endedPasteReads},
		}},
	}
}

// pasted returns a paste of this subtest, as package paste writes it. Two in succession have the
// same time of creation.
func (s *env) pasted(n int, seq int64) paste.Row {
	p := paste.Paste{
		ID: paste.ID(fmt.Sprintf("p:%s:%d", s.tenant, n)), Seq: seq, State: commit.Live, Version: int(seq),
		CreatedAt: start + clock.Instant(n/2), Body: paste.Body{Text: fmt.Sprintf("\x00\xff%d of %d", seq, n)},
	}
	return p.Row()
}

// opaque returns a paste whose data only a later version of package paste can read. A store must
// keep it like any other.
func (s *env) opaque(n int, seq int64) paste.Row {
	r := s.pasted(n, seq)
	r.Data = []byte(fmt.Sprintf("\x00\xffopaque %d of %d", seq, n))
	return r
}

// refOf returns the reference to a paste.
func refOf(r paste.Row) paste.Ref { return paste.Ref{ID: r.ID, CreatedAt: r.CreatedAt()} }

// commitPaste commits a paste. It may repeat the call after an unknown outcome, because the
// result is the row that the paste has then.
func (s *env) commitPaste(r paste.Row) paste.Row {
	s.Helper()
	got, err := s.tryCommitPaste(r)
	s.ok(err)
	return got
}

func (s *env) tryCommitPaste(r paste.Row) (got paste.Row, err error) {
	for range 8 {
		if got, err = s.Pastes.CommitPaste(s.ctx, r); !fault.MayHaveCommitted(err) {
			break
		}
	}
	return got, err
}

// wantPaste compares a paste, read in both ways.
func (s *env) wantPaste(what string, id paste.ID, want paste.Row) {
	s.Helper()
	got, err := s.Pastes.ReadPaste(s.ctx, id)
	s.ok(err)
	s.same(what, got, want)
	rows, err := s.Pastes.ReadPastes(s.ctx, []paste.Ref{{ID: id}})
	s.ok(err)
	s.same(what+", among others", rows, []paste.Row{want})
}

func readPaste(s *env) {
	one := s.pasted(1, 1)
	s.wantPaste("before there is one", one.ID, paste.Row{})
	s.commitPaste(one)
	s.wantPaste("the paste", one.ID, one)
	s.wantPaste("another id", s.pasted(11, 1).ID, paste.Row{})
	large := s.pasted(2, 1)
	large.Data = []byte(strings.Repeat("\x00\xfe", 8<<10))
	s.same("a large paste", s.commitPaste(large), large)
	s.wantPaste("a large paste", large.ID, large)
}

func readPastes(s *env) {
	none, err := s.Pastes.ReadPastes(s.ctx, nil)
	s.ok(err)
	s.same("the rows of no refs", len(none), 0)
	var refs []paste.Ref
	var want []paste.Row
	for n := range paste.MaxRows {
		r := s.pasted((n*37)%paste.MaxRows, 1) // neither in the order of creation nor of ids
		if n%5 == 2 {
			r = s.opaque((n*37)%paste.MaxRows, 1)
		}
		refs, want = append(refs, refOf(r)), append(want, r)
		if n%7 == 3 {
			want[n] = paste.Row{}
			continue
		}
		s.commitPaste(r)
	}
	refs[50], want[50] = refs[1], want[1]
	got, err := s.Pastes.ReadPastes(s.ctx, refs)
	s.ok(err)
	s.same("many rows, one of them twice", got, want)
}

// readPastesByWrongRefs reads a paste by all kinds of references after each of its changes, also if
// its data can no longer be read, or can be read again.
func readPastesByWrongRefs(s *env) {
	other := s.pasted(9, 1)
	s.commitPaste(other)
	at := s.pasted(1, 1).CreatedAt()
	want := func(what string, want paste.Row) {
		s.Helper()
		var refs []paste.Ref
		var rows []paste.Row
		for _, created := range []clock.Instant{at, 0, at - 1, at + 1, -at, other.CreatedAt()} {
			refs, rows = append(refs, paste.Ref{ID: s.pasted(1, 1).ID, CreatedAt: created}), append(rows, want)
		}
		got, err := s.Pastes.ReadPastes(s.ctx, append(refs, refOf(other)))
		s.ok(err)
		s.same(what, got, append(rows, other))
	}
	want("before there is one", paste.Row{})
	for n, r := range []paste.Row{s.pasted(1, 1), s.pasted(1, 2), s.opaque(1, 3), s.opaque(1, 4), s.pasted(1, 5)} {
		s.commitPaste(r)
		want(fmt.Sprintf("after change %d", n), r)
	}
	s.dropPaste(other.ID, 7) // another state
	s.dropPaste(s.pasted(1, 1).ID, 5)
	want("after its removal", paste.Row{})
	again := s.opaque(1, 1)
	s.commitPaste(again)
	want("created again", again)
}

func commitPaste(s *env) {
	one, two, three := s.pasted(1, 1), s.pasted(1, 2), s.pasted(1, 3)
	s.same("a second state without a first one", s.commitPaste(two), paste.Row{})
	s.wantPaste("after that", one.ID, paste.Row{})
	s.same("the first state", s.commitPaste(one), one)
	s.same("the first state again", s.commitPaste(one), one)
	other := one
	other.Data = []byte("another")
	s.same("another first state", s.commitPaste(other), one)
	s.same("a state that skips one", s.commitPaste(three), one)
	s.same("the second state", s.commitPaste(two), two)
	s.same("the second state again", s.commitPaste(two), two)
	s.same("the first state after that", s.commitPaste(one), two)
	s.same("the third state", s.commitPaste(three), three)
	s.wantPaste("what is there", one.ID, three)
}

// raceForPaste has many callers create a paste under one id, then change it.
func raceForPaste(s *env) {
	for seq := int64(1); seq <= 3; seq++ {
		got, errs := make([]paste.Row, racers), make([]error, racers)
		together(func(n int) {
			r := s.pasted(1, seq)
			r.Data = []byte(fmt.Sprintf("%d by %d", seq, n))
			got[n], errs[n] = s.tryCommitPaste(r)
		})
		for n := range got {
			s.ok(errs[n])
			s.same("what every caller got", got[n], got[0])
		}
		s.same("the state", got[0].Seq, seq)
		s.wantPaste("the winner", got[0].ID, got[0])
	}
}

// dropPaste drops a paste. It may be repeated after an unknown outcome.
func (s *env) dropPaste(id paste.ID, seq int64) {
	s.Helper()
	err := s.Pastes.DropPaste(s.ctx, id, seq)
	for n := 0; n < 8 && fault.MayHaveCommitted(err); n++ {
		err = s.Pastes.DropPaste(s.ctx, id, seq)
	}
	s.ok(err)
}

func dropPaste(s *env) {
	drop := s.dropPaste
	one, two := s.pasted(1, 1), s.pasted(1, 2)
	drop(one.ID, 1)
	s.commitPaste(one)
	s.commitPaste(two)
	drop(one.ID, 1)
	drop(one.ID, 3)
	drop(s.pasted(2, 2).ID, 2)
	s.wantPaste("after removals of other states", one.ID, two)
	drop(one.ID, 2)
	s.wantPaste("after its removal", one.ID, paste.Row{})
	s.same("a first state after that", s.commitPaste(one), one)
}

func scanPastes(s *env) {
	want := map[paste.ID]paste.Row{}
	for n := range 7 {
		r := s.pasted(n, 1)
		if n == 3 {
			r = s.opaque(n, 1)
		}
		want[r.ID] = r
		s.commitPaste(r)
	}
	for _, limit := range []int{1, 3, 1000} {
		s.same(fmt.Sprintf("the pastes, by pages of %d", limit), s.scannedPastes(limit, func(paste.Row) {}), want)
	}
	none, err := s.Pastes.ScanPastes(s.ctx, "", 0)
	s.ok(err)
	s.same("none of them", len(none), 0)
}

// scannedPastes scans the pastes of this subtest by pages of limit, and calls last with the
// last one of each page.
func (s *env) scannedPastes(limit int, last func(paste.Row)) map[paste.ID]paste.Row {
	s.Helper()
	found := map[paste.ID]paste.Row{}
	var after paste.ID
	for range 10_000 {
		page, err := s.Pastes.ScanPastes(s.ctx, after, limit)
		s.ok(err)
		if len(page) > limit {
			s.Fatalf("%d pastes on a page of %d", len(page), limit)
		}
		for _, r := range page {
			after = r.ID
			if !strings.HasPrefix(string(r.ID), "p:"+s.tenant+":") {
				continue // of another subtest
			}
			if _, twice := found[r.ID]; twice {
				s.Fatalf("%s is listed twice", r.ID)
			}
			found[r.ID] = r
		}
		if len(page) == 0 {
			return found
		}
		last(page[len(page)-1])
	}
	s.Fatalf("the scan does not end")
	return nil
}

// scanPastesAfterADrop drops pastes during a scan: each one when it was the last of a page, so
// that the scan continues from an id that no longer exists.
func scanPastesAfterADrop(s *env) {
	want := map[paste.ID]paste.Row{}
	for n := range 7 {
		r := s.pasted(n, 1)
		want[r.ID] = r
		s.commitPaste(r)
	}
	found := s.scannedPastes(2, func(r paste.Row) {
		if _, ours := want[r.ID]; ours {
			s.dropPaste(r.ID, r.Seq)
		}
	})
	s.same("the pastes", found, want)
	if rest := s.scannedPastes(2, func(paste.Row) {}); len(rest) >= len(want) {
		s.Errorf("%d pastes remain", len(rest))
	}
}

// bodied returns the reference of a long body of a paste of this subtest.
func (s *env) bodied(n int, body byte) paste.BodyRef {
	return paste.BodyRef{Paste: s.pasted(n, 1).ID, Body: paste.BodyID{0: body, 15: 0xff}}
}

func readBodies(s *env) {
	none, err := s.Pastes.ReadBodies(s.ctx, nil)
	s.ok(err)
	s.same("the bodies of no refs", len(none), 0)
	large := strings.Repeat("\x00ü\xf0\x9f\x98\x80", 60<<10)
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, 1), "one"))
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, 2), large))
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(2, 1), "another's"))
	got, err := s.Pastes.ReadBodies(s.ctx, []paste.BodyRef{s.bodied(2, 1), s.bodied(2, 2), s.bodied(1, 2), s.bodied(1, 1), s.bodied(1, 1)})
	s.ok(err)
	for n, want := range []string{"another's", "", large, "one", "one"} {
		if want == "" {
			s.same("a body that does not exist", got[n], (*string)(nil))
			continue
		}
		s.same("a body", *got[n] == want, true)
	}
}

func listBodies(s *env) {
	want := map[paste.BodyID]bool{}
	for n := range byte(5) {
		want[s.bodied(1, n).Body] = true
		s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, n), "x"))
		s.ok(s.Pastes.PutBody(s.ctx, s.bodied(10, n), "of a paste whose id begins with the same"))
	}
	s.same("the bodies of a paste", s.bodiesOf(1), want)
	s.same("the bodies of another", len(s.bodiesOf(2)), 0)
}

// bodiesOf lists the bodies of a paste, each once.
func (s *env) bodiesOf(n int) map[paste.BodyID]bool {
	s.Helper()
	list, err := s.Pastes.ListBodies(s.ctx, s.pasted(n, 1).ID)
	s.ok(err)
	found := map[paste.BodyID]bool{}
	for _, b := range list {
		found[b] = true
	}
	s.same("how many there are", len(list), len(found))
	return found
}

func dropBodies(s *env) {
	for n := range byte(3) {
		s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, n), "x"))
		s.ok(s.Pastes.PutBody(s.ctx, s.bodied(2, n), "x"))
	}
	s.ok(s.Pastes.DropBodies(s.ctx, nil))
	for range 2 {
		s.ok(s.Pastes.DropBodies(s.ctx, []paste.BodyRef{s.bodied(1, 0), s.bodied(1, 2), s.bodied(3, 1)}))
		s.same("what remains", s.bodiesOf(1), map[paste.BodyID]bool{s.bodied(1, 1).Body: true})
		s.same("the bodies of another paste", len(s.bodiesOf(2)), 3)
	}
}

// durableBody stores a body before the paste that names it, and removes another.
func durableBody(s *env, crash func()) {
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, 1), "one"))
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, 2), "two"))
	s.ok(s.Pastes.DropBodies(s.ctx, []paste.BodyRef{s.bodied(1, 2)}))
	one := s.pasted(1, 1)
	s.commitPaste(one)
	crash()
	s.wantPaste("the paste", one.ID, one)
	s.same("its bodies", s.bodiesOf(1), map[paste.BodyID]bool{s.bodied(1, 1).Body: true})
}

// uncertainPastes makes each conditional write with a context that has ended: it either reports
// that it may have been applied, or was not applied.
func uncertainPastes(s *env) {
	ended := cancelled(s.ctx)
	refused := func(what string, err error) bool {
		s.Helper()
		if err == nil {
			s.Fatalf("%s: no error though the context had ended", what)
		}
		return !fault.MayHaveCommitted(err)
	}
	one, two := s.pasted(1, 1), s.pasted(1, 2)
	if _, err := s.Pastes.CommitPaste(ended, one); refused("CommitPaste of a new one", err) {
		s.wantPaste("after CommitPaste was refused", one.ID, paste.Row{})
	}
	s.commitPaste(one)
	if _, err := s.Pastes.CommitPaste(ended, two); refused("CommitPaste", err) {
		s.wantPaste("after CommitPaste was refused", one.ID, one)
	}
	if refused("DropPaste", s.Pastes.DropPaste(ended, one.ID, 1)) {
		s.wantPaste("after DropPaste was refused", one.ID, one)
	}
	bucket := feed.Bucket{Day: aDay, Shards: 4}
	if _, err := s.Feeds.RecordBucket(ended, s.feed("a"), bucket); refused("RecordBucket", err) {
		other := feed.Bucket{Day: aDay, Shards: 8}
		s.same("the day after RecordBucket was refused", s.recordBucket(s.feed("a"), other), other)
	}
}

func endedPasteReads(s *env) {
	one, body := s.pasted(1, 1), s.bodied(1, 1)
	s.commitPaste(one)
	s.ok(s.Pastes.PutBody(s.ctx, body, "one"))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(feed.Entry{Created: s.tick(), ID: "x"}, 10)))
	s.recordBucket(s.feed("a"), feed.Bucket{Day: aDay, Shards: 4})
	ended := cancelled(s.ctx)
	for _, r := range []struct {
		name string
		read func() error
	}{
		{"ReadPaste", func() error { _, err := s.Pastes.ReadPaste(ended, one.ID); return err }},
		{"ReadPastes", func() error { _, err := s.Pastes.ReadPastes(ended, []paste.Ref{refOf(one)}); return err }},
		{"ScanPastes", func() error { _, err := s.Pastes.ScanPastes(ended, "", 10); return err }},
		{"ReadBodies", func() error { _, err := s.Pastes.ReadBodies(ended, []paste.BodyRef{body}); return err }},
		{"ListBodies", func() error { _, err := s.Pastes.ListBodies(ended, one.ID); return err }},
		{"ListBuckets", func() error { _, err := s.Feeds.ListBuckets(ended, s.feed("a")); return err }},
		{"ListEntries", func() error {
			_, err := s.Feeds.ListEntries(ended, s.partition(), feed.Slice{Limit: 10})
			return err
		}},
	} {
		if r.read() == nil {
			s.Errorf("%s returns no error", r.name)
		}
	}
}
