package storetest

import (
	"fmt"
	"strings"

	"carrel/core/fault"
	"carrel/lease"
)

func leaseAreas() []area {
	return []area{
		{"ReadLease", []check{
			{"It must return the zero Row where there is none", readLease},
		}},
		{"CommitLease", []check{
			{"It must return the row that the lease has then, the zero Row where it has none", commitLease},
			{"one of many that change a lease at the same time wins", raceForLease},
		}},
		{"DropLease", []check{
			{"DropLease must remove a lease iff it has this Seq", dropLease},
		}},
		{"ScanLeases", []check{
			{"each lease is listed once, in a permanent order", scanLeases},
		}},
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

// commitLease commits a lease. It may repeat the call after an unknown outcome, because the
// result is the row that the lease has then.
func (s *env) commitLease(r lease.Row) lease.Row {
	s.Helper()
	got, err := s.tryCommitLease(r)
	s.ok(err)
	return got
}

func (s *env) tryCommitLease(r lease.Row) (got lease.Row, err error) {
	for range 8 {
		if got, err = s.Leases.CommitLease(s.ctx, r); !fault.MayHaveCommitted(err) {
			break
		}
	}
	return got, err
}

// wantLease compares a lease.
func (s *env) wantLease(what string, id lease.ID, want lease.Row) {
	s.Helper()
	got, err := s.Leases.ReadLease(s.ctx, id)
	s.ok(err)
	s.same(what, got, want)
}

func readLease(s *env) {
	one := s.leased(1, 1)
	s.wantLease("before there is one", one.ID, lease.Row{})
	s.commitLease(one)
	s.wantLease("the lease", one.ID, one)
	s.wantLease("another id", s.leased(11, 1).ID, lease.Row{})
	large := s.leased(2, 1)
	large.Data = []byte(strings.Repeat("\x00\xfe", 64<<10))
	s.same("a large lease", s.commitLease(large), large)
	s.wantLease("a large lease", large.ID, large)
}

func commitLease(s *env) {
	one, two, three := s.leased(1, 1), s.leased(1, 2), s.leased(1, 3)
	s.same("a second state without a first one", s.commitLease(two), lease.Row{})
	s.wantLease("after that", one.ID, lease.Row{})
	s.same("the first state", s.commitLease(one), one)
	s.same("the first state again", s.commitLease(one), one)
	other := one
	other.Data = []byte("another")
	s.same("another first state", s.commitLease(other), one)
	s.same("a state that skips one", s.commitLease(three), one)
	s.same("the second state", s.commitLease(two), two)
	s.same("the second state again", s.commitLease(two), two)
	s.same("the first state after that", s.commitLease(one), two)
	s.same("the third state", s.commitLease(three), three)
	s.wantLease("what is there", one.ID, three)
}

// raceForLease has many callers create a lease under one id, then change it.
func raceForLease(s *env) {
	for seq := int64(1); seq <= 3; seq++ {
		got, errs := make([]lease.Row, racers), make([]error, racers)
		together(func(n int) {
			r := s.leased(1, seq)
			r.Data = []byte(fmt.Sprintf("%d by %d", seq, n))
			got[n], errs[n] = s.tryCommitLease(r)
		})
		for n := range got {
			s.ok(errs[n])
			s.same("what every caller got", got[n], got[0])
		}
		s.same("the state", got[0].Seq, seq)
		s.wantLease("the winner", got[0].ID, got[0])
	}
}

func dropLease(s *env) {
	drop := func(id lease.ID, seq int64) {
		s.Helper()
		err := s.Leases.DropLease(s.ctx, id, seq)
		for n := 0; n < 8 && fault.MayHaveCommitted(err); n++ {
			err = s.Leases.DropLease(s.ctx, id, seq)
		}
		s.ok(err)
	}
	one, two := s.leased(1, 1), s.leased(1, 2)
	drop(one.ID, 1)
	s.commitLease(one)
	s.commitLease(two)
	drop(one.ID, 1)
	drop(one.ID, 3)
	drop(s.leased(2, 2).ID, 2)
	s.wantLease("after removals of other states", one.ID, two)
	drop(one.ID, 2)
	s.wantLease("after its removal", one.ID, lease.Row{})
	s.same("a first state after that", s.commitLease(one), one)
}

func scanLeases(s *env) {
	want := map[lease.ID]lease.Row{}
	for n := range 7 {
		r := s.leased(n, 1)
		want[r.ID] = r
		s.commitLease(r)
	}
	for _, limit := range []int{1, 3, 1000} {
		found := map[lease.ID]lease.Row{}
		var after lease.ID
		for range 10_000 {
			page, err := s.Leases.ScanLeases(s.ctx, after, limit)
			s.ok(err)
			if len(page) > limit {
				s.Fatalf("%d leases on a page of %d", len(page), limit)
			}
			for _, r := range page {
				after = r.ID
				if _, ours := want[r.ID]; !ours {
					continue // of another subtest
				}
				if _, twice := found[r.ID]; twice {
					s.Fatalf("%s is listed twice", r.ID)
				}
				found[r.ID] = r
			}
			if len(page) == 0 {
				break
			}
		}
		s.same(fmt.Sprintf("the leases, by pages of %d", limit), found, want)
	}
}
