package storetest

import (
	"fmt"

	"carrel/lease"
)

func leaseChecks() []check { return sequenceChecks("Leases", 128<<10, (*env).leases) }

// leased returns a lease of this subtest. Its data is not a valid row of package lease, because
// stores must not decode it.
func (s *env) leased(n int, seq int64) lease.Row {
	return lease.Row{
		ID: lease.ID(fmt.Sprintf("l:%s:%d", s.tenant, n)), Seq: seq,
		Data: []byte(fmt.Sprintf("\x00\xff%d of %d", seq, n)),
	}
}

func (s *env) leases() sequence[lease.ID] {
	return sequence[lease.ID]{s: s, store: s.Leases, row: s.leased}
}
