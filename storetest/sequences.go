package storetest

import (
	"context"
	"fmt"
	"strings"
)

// A sequence is a kind of rows each of which replaces the one with the Seq before: leases or pastes.
type sequence[ID ~string, R any] struct {
	s      *env
	row    func(n int, seq int64) R // of this subtest
	id     func(R) ID
	seq    func(R) int64
	with   func(r R, data string) R // r with other data
	commit func(context.Context, R) (R, error)
	drop   func(ctx context.Context, id ID, seq int64) error
	want   func(what string, id ID, want R) // compares the row of an id with what is stored
}

// put commits a row.
func (q sequence[ID, R]) put(r R) R {
	q.s.Helper()
	return settled(q.s, func() (R, error) { return q.commit(q.s.ctx, r) })
}

// remove drops a row.
func (q sequence[ID, R]) remove(id ID, seq int64) {
	q.s.Helper()
	q.s.settle(func() error { return q.drop(q.s.ctx, id, seq) })
}

// reads checks rows that are read, one of them with this much data.
func (q sequence[ID, R]) reads(large int) {
	var none R
	one := q.row(1, 1)
	q.want("before there is one", q.id(one), none)
	q.put(one)
	q.want("the row", q.id(one), one)
	q.want("another id", q.id(q.row(11, 1)), none)
	big := q.with(q.row(2, 1), strings.Repeat("\x00\xfe", large/2))
	q.s.same("a large row", q.put(big), big)
	q.want("a large row", q.id(big), big)
}

// commits checks that a row replaces the one with the Seq before, and no other.
func (q sequence[ID, R]) commits() {
	s := q.s
	var none R
	one, two, three := q.row(1, 1), q.row(1, 2), q.row(1, 3)
	s.same("a second state without a first one", q.put(two), none)
	q.want("after that", q.id(one), none)
	s.same("the first state", q.put(one), one)
	s.same("the first state again", q.put(one), one)
	s.same("another first state", q.put(q.with(one, "another")), one)
	s.same("a state that skips one", q.put(three), one)
	s.same("the second state", q.put(two), two)
	s.same("the second state again", q.put(two), two)
	s.same("the first state after that", q.put(one), two)
	s.same("the third state", q.put(three), three)
	q.want("what is there", q.id(one), three)
}

// races has many callers create a row under one id, then change it.
func (q sequence[ID, R]) races() {
	for seq := int64(1); seq <= 3; seq++ {
		got := agreed(q.s, func(n int) (R, error) {
			return q.commit(q.s.ctx, q.with(q.row(1, seq), fmt.Sprintf("%d by %d", seq, n)))
		})
		q.s.same("the state", q.seq(got), seq)
		q.want("the winner", q.id(got), got)
	}
}

// drops checks that a row is removed with its Seq, and with no other.
func (q sequence[ID, R]) drops() {
	var none R
	one, two := q.row(1, 1), q.row(1, 2)
	id := q.id(one)
	q.remove(id, 1)
	q.put(one)
	q.put(two)
	q.remove(id, 1)
	q.remove(id, 3)
	q.remove(q.id(q.row(2, 2)), 2)
	q.want("after removals of other states", id, two)
	q.remove(id, 2)
	q.want("after its removal", id, none)
	q.s.same("a first state after that", q.put(one), one)
}
