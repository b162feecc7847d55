package storetest

import (
	"fmt"
	"strings"

	"carrel/core/commit"
)

// A sequence is a kind of rows each of which replaces the one with the Seq before: leases or pastes.
type sequence[ID ~string] struct {
	s     *env
	store commit.RowStore[ID]
	row   func(n int, seq int64) commit.Row[ID] // of this subtest
	// also, unless it is nil, compares the row of an id with what is read in another way.
	also func(what string, id ID, want commit.Row[ID])
}

// sequenceChecks returns the checks of a kind of rows, one of which has this much data.
func sequenceChecks[ID ~string](kind string, large int, of func(s *env) sequence[ID]) []check {
	return []check{
		{kind, "It must return the zero Row where there is none", func(s *env) { of(s).reads(large) }},
		{kind, "It must return the row that is stored then, the zero Row where there is none", func(s *env) { of(s).commits() }},
		{kind, "one of many that change a row at the same time wins", func(s *env) { of(s).races() }},
		{kind, "DropRow must remove a row iff it has this Seq", func(s *env) { of(s).drops() }},
		{kind, "each row is listed once, in a permanent order", func(s *env) { of(s).scans() }},
		{kind, "a scan continues after a row that was dropped", func(s *env) { of(s).scansAfterADrop() }},
	}
}

// with returns a row with other data.
func with[ID ~string](r commit.Row[ID], data string) commit.Row[ID] {
	r.Data = []byte(data)
	return r
}

// put commits a row.
func (q sequence[ID]) put(r commit.Row[ID]) commit.Row[ID] {
	q.s.Helper()
	return settled(q.s, func() (commit.Row[ID], error) { return q.store.CommitRow(q.s.ctx, r) })
}

// remove drops a row.
func (q sequence[ID]) remove(id ID, seq int64) {
	q.s.Helper()
	q.s.settle(func() error { return q.store.DropRow(q.s.ctx, id, seq) })
}

// want compares the row of an id with what is stored.
func (q sequence[ID]) want(what string, id ID, want commit.Row[ID]) {
	q.s.Helper()
	q.s.returns(what, want)(q.store.ReadRow(q.s.ctx, id))
	if q.also != nil {
		q.also(what, id, want)
	}
}

// reads checks rows that are read, one of them with this much data.
func (q sequence[ID]) reads(large int) {
	var none commit.Row[ID]
	one := q.row(1, 1)
	q.want("before there is one", one.ID, none)
	q.put(one)
	q.want("the row", one.ID, one)
	q.want("another id", q.row(11, 1).ID, none)
	big := with(q.row(2, 1), strings.Repeat("\x00\xfe", large/2))
	q.s.same("a large row", q.put(big), big)
	q.want("a large row", big.ID, big)
}

// commits checks that a row replaces the one with the Seq before, and no other.
func (q sequence[ID]) commits() {
	s := q.s
	var none commit.Row[ID]
	one, two, three := q.row(1, 1), q.row(1, 2), q.row(1, 3)
	s.same("a second state without a first one", q.put(two), none)
	q.want("after that", one.ID, none)
	s.same("the first state", q.put(one), one)
	s.same("the first state again", q.put(one), one)
	s.same("another first state", q.put(with(one, "another")), one)
	s.same("a state that skips one", q.put(three), one)
	s.same("the second state", q.put(two), two)
	s.same("the second state again", q.put(two), two)
	s.same("the first state after that", q.put(one), two)
	s.same("the third state", q.put(three), three)
	q.want("what is there", one.ID, three)
}

// races has many callers create a row under one id, then change it.
func (q sequence[ID]) races() {
	for seq := int64(1); seq <= 3; seq++ {
		got := agreed(q.s, func(n int) (commit.Row[ID], error) {
			return q.store.CommitRow(q.s.ctx, with(q.row(1, seq), fmt.Sprintf("%d by %d", seq, n)))
		})
		q.s.same("the state", got.Seq, seq)
		q.want("the winner", got.ID, got)
	}
}

// drops checks that a row is removed with its Seq, and with no other.
func (q sequence[ID]) drops() {
	var none commit.Row[ID]
	one, two := q.row(1, 1), q.row(1, 2)
	id := one.ID
	q.remove(id, 1)
	q.put(one)
	q.put(two)
	q.remove(id, 1)
	q.remove(id, 3)
	q.remove(q.row(2, 2).ID, 2)
	q.want("after removals of other states", id, two)
	q.remove(id, 2)
	q.want("after its removal", id, none)
	q.s.same("a first state after that", q.put(one), one)
}

// some commits some rows, one of them with data of no kind, and returns them and a scan of them.
func (q sequence[ID]) some() (map[ID]commit.Row[ID], scan[ID, commit.Row[ID]]) {
	rows := map[ID]commit.Row[ID]{}
	for n := range 7 {
		r := q.row(n, 1)
		if n == 3 {
			r = with(r, "\x00\xffopaque")
		}
		rows[r.ID] = q.put(r)
		q.s.same("the row", rows[r.ID], r)
	}
	return rows, scan[ID, commit.Row[ID]]{q.store.ScanRows, func(r commit.Row[ID]) ID { return r.ID }, among(rows)}
}

func (q sequence[ID]) scans() {
	rows, scan := q.some()
	scan.want(q.s, rows)
	q.s.returns("none of them", []commit.Row[ID](nil))(q.store.ScanRows(q.s.ctx, "", 0))
}

// scansAfterADrop drops rows during a scan: each one when it was the last of a page, so that the scan
// continues from an id that no longer exists.
func (q sequence[ID]) scansAfterADrop() {
	rows, scan := q.some()
	found := scan.all(q.s, 2, func(r commit.Row[ID]) {
		if _, ours := rows[r.ID]; ours {
			q.remove(r.ID, r.Seq)
		}
	})
	q.s.same("the rows", found, rows)
	if rest := scan.all(q.s, 2, nil); len(rest) >= len(rows) {
		q.s.Errorf("%d rows remain", len(rest))
	}
}
