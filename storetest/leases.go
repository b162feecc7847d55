package storetest

import (
	"fmt"

	"carrel/lease"
)

func leaseChecks() []check {
	return []check{
		{"ReadLease", "It must return the zero Row where there is none", func(s *env) { s.leases().reads(128 << 10) }},
		{"CommitLease", "It must return the row that the lease has then, the zero Row where it has none",
			func(s *env) { s.leases().commits() }},
		{"CommitLease", "one of many that change a lease at the same time wins", func(s *env) { s.leases().races() }},
		{"DropLease", "DropLease must remove a lease iff it has this Seq", func(s *env) { s.leases().drops() }},
		{"ScanLeases", "each lease is listed once, in a permanent order", scanLeases},
	}
}

// leased returns a lease of this subtest. Its data is not a valid row of package lease, because
// stores must not decode it.
func (s *env) leased(n int, seq int64) lease.Row {
	return lease.Row{
		ID: lease.ID(fmt.Sprintf("l:%s:%d", s.tenant, n)), Seq: seq,
		Data: []byte(fmt.Sprintf("\x00\xff%d of %d", seq, n)),
	}
}

func (s *env) leases() sequence[lease.ID, lease.Row] {
	return sequence[lease.ID, lease.Row]{
		s: s, row: s.leased, commit: s.Leases.CommitLease, drop: s.Leases.DropLease,
		id:  func(r lease.Row) lease.ID { return r.ID },
		seq: func(r lease.Row) int64 { return r.Seq },
		with: func(r lease.Row, data string) lease.Row {
			r.Data = []byte(data)
			return r
		},
		want: func(what string, id lease.ID, want lease.Row) {
			s.Helper()
			s.returns(what, want)(s.Leases.ReadLease(s.ctx, id))
		},
	}
}

func scanLeases(s *env) {
	want := map[lease.ID]lease.Row{}
	for n := range 7 {
		r := s.leased(n, 1)
		want[r.ID] = r
		s.leases().put(r)
	}
	scan[lease.ID, lease.Row]{s.Leases.ScanLeases, s.leases().id, among(want)}.want(s, want)
}
