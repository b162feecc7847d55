package simulator

import (
	"carrel/core/commit"
	"carrel/lease"
)

// ablated reports whether a rule is off.
func ablated(name string) bool { return commit.Ablated(name) }

// lag is the number of steps for which a replica may not have a new row yet.
const lag = 300

// ablatedLeaseAt returns the row of a lease, as a replica that lags behind may have it.
func (st *Store) ablatedLeaseAt(id lease.ID) lease.Row {
	if st.history != nil && ablated("record-not-serial") {
		if now := st.history.ofLease(id).now(); now.seq == 1 && st.s.steps < now.step+lag && st.s.chance(256) {
			return lease.Row{}
		}
	}
	return st.leaseAt(id)
}

// ablatedQuorum returns the number of replicas that answer a call.
func ablatedQuorum(call string) int {
	switch {
	case call == "InFlight" && ablated("set-at-one"),
		call == "slice" && ablated("slice-at-one"),
		call == "header" && ablated("header-at-one"),
		call == "ApplyIndex" && ablated("index-at-one"):
		return 1
	}
	return quorum
}
