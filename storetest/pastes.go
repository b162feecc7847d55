package storetest

import (
	"fmt"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/paste"
)

func pasteChecks() []check {
	return append(sequenceChecks("Pastes", 16<<10, (*env).pastes), []check{
		{"ReadPastes", "ReadPastes must return the rows in the order of refs, at most MaxRows, the zero Row where there is none",
			readPastes},
		{"ReadPastes", "It must return the same row if CreatedAt is unknown or wrong", readPastesByWrongRefs},
		{"Bodies", "ReadBodies must return the bodies in the order of refs, at most MaxRows, nil where there is none", readBodies},
		{"Bodies", "ListBodies must list the bodies of a paste, without their texts", listBodies},
		{"Bodies", "It must be harmless when repeated", dropBodies},
		{"Errors of pastes and feeds", "The error of a CommitRow that may have been applied satisfies MayHaveCommitted", uncertainPastes},
		{"Errors of pastes and feeds", "reads of pastes and feeds with a context that has ended return an error, not nothing",
			endedPasteReads},
	}...)
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
func refOf(r paste.Row) paste.Ref { return paste.Ref{ID: r.ID, CreatedAt: paste.CreatedAt(r)} }

func (s *env) pastes() sequence[paste.ID] {
	return sequence[paste.ID]{s: s, store: s.Pastes, row: s.pasted, also: func(what string, id paste.ID, want paste.Row) {
		s.Helper()
		s.returns(what+", among others", []paste.Row{want})(s.Pastes.ReadPastes(s.ctx, []paste.Ref{{ID: id}}))
	}}
}

// commitPaste commits a paste.
func (s *env) commitPaste(r paste.Row) paste.Row {
	s.Helper()
	return s.pastes().put(r)
}

// wantPaste compares a paste, read in both ways.
func (s *env) wantPaste(what string, id paste.ID, want paste.Row) {
	s.Helper()
	s.pastes().want(what, id, want)
}

func readPastes(s *env) {
	s.returns("the rows of no refs", []paste.Row(nil))(s.Pastes.ReadPastes(s.ctx, nil))
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
	s.returns("many rows, one of them twice", want)(s.Pastes.ReadPastes(s.ctx, refs))
}

// readPastesByWrongRefs reads a paste by all kinds of references after each of its changes, also if
// its data can no longer be read, or can be read again.
func readPastesByWrongRefs(s *env) {
	other := s.pasted(9, 1)
	s.commitPaste(other)
	at := paste.CreatedAt(s.pasted(1, 1))
	want := func(what string, want paste.Row) {
		s.Helper()
		var refs []paste.Ref
		var rows []paste.Row
		for _, created := range []clock.Instant{at, 0, at - 1, at + 1, -at, paste.CreatedAt(other)} {
			refs, rows = append(refs, paste.Ref{ID: s.pasted(1, 1).ID, CreatedAt: created}), append(rows, want)
		}
		s.returns(what, append(rows, other))(s.Pastes.ReadPastes(s.ctx, append(refs, refOf(other))))
	}
	want("before there is one", paste.Row{})
	for n, r := range []paste.Row{s.pasted(1, 1), s.pasted(1, 2), s.opaque(1, 3), s.opaque(1, 4), s.pasted(1, 5)} {
		s.commitPaste(r)
		want(fmt.Sprintf("after change %d", n), r)
	}
	s.pastes().remove(other.ID, 7) // another state
	s.pastes().remove(s.pasted(1, 1).ID, 5)
	want("after its removal", paste.Row{})
	again := s.opaque(1, 1)
	s.commitPaste(again)
	want("created again", again)
}

// bodied returns the reference of a long body of a paste of this subtest.
func (s *env) bodied(n int, body byte) paste.BodyRef {
	return paste.BodyRef{Paste: s.pasted(n, 1).ID, Body: paste.BodyID{0: body, 15: 0xff}}
}

func readBodies(s *env) {
	s.returns("the bodies of no refs", []*string(nil))(s.Pastes.ReadBodies(s.ctx, nil))
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
func durableBody(s *durableEnv) {
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, 1), "one"))
	s.ok(s.Pastes.PutBody(s.ctx, s.bodied(1, 2), "two"))
	s.ok(s.Pastes.DropBodies(s.ctx, []paste.BodyRef{s.bodied(1, 2)}))
	one := s.pasted(1, 1)
	s.commitPaste(one)
	s.crash()
	s.wantPaste("the paste", one.ID, one)
	s.same("its bodies", s.bodiesOf(1), map[paste.BodyID]bool{s.bodied(1, 1).Body: true})
}

// uncertainPastes makes each conditional write with a context that has ended: it either reports
// that it may have been applied, or was not applied.
func uncertainPastes(s *env) {
	ended := cancelled(s.ctx)
	one, two := s.pasted(1, 1), s.pasted(1, 2)
	if _, err := s.Pastes.CommitRow(ended, one); s.refused("CommitRow of a new one", err) {
		s.wantPaste("after CommitRow was refused", one.ID, paste.Row{})
	}
	s.commitPaste(one)
	if _, err := s.Pastes.CommitRow(ended, two); s.refused("CommitRow", err) {
		s.wantPaste("after CommitRow was refused", one.ID, one)
	}
	if s.refused("DropRow", s.Pastes.DropRow(ended, one.ID, 1)) {
		s.wantPaste("after DropRow was refused", one.ID, one)
	}
	bucket := feed.Bucket{Day: aDay, Shards: 4}
	if _, err := s.Feeds.RecordBucket(ended, s.feed("a"), bucket); s.refused("RecordBucket", err) {
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
	s.wantErrors(
		tried{"ReadRow", failed(s.Pastes.ReadRow(ended, one.ID))},
		tried{"ReadPastes", failed(s.Pastes.ReadPastes(ended, []paste.Ref{refOf(one)}))},
		tried{"ScanRows", failed(s.Pastes.ScanRows(ended, "", 10))},
		tried{"ReadBodies", failed(s.Pastes.ReadBodies(ended, []paste.BodyRef{body}))},
		tried{"ListBodies", failed(s.Pastes.ListBodies(ended, one.ID))},
		tried{"ListBuckets", failed(s.Feeds.ListBuckets(ended, s.feed("a")))},
		tried{"ListEntries", failed(s.Feeds.ListEntries(ended, s.partition(), feed.Slice{Limit: 10}))},
	)
}
