package simulator

import (
	"carrel/core/commit"
	"carrel/lease"
)

// ablated reports whether a rule is off.
func ablated(name string) bool { return commit.Ablated(name) }

// lag is the number of steps for which a replica may not have a new row yet.
const lag = 300

// ablatedAt returns a row, as a replica that lags behind may have it if it is a lease.
func (c rows[ID]) ablatedAt(id ID) commit.Row[ID] {
	if c.kind == "lease" && c.st.history != nil && ablated("record-not-serial") {
		if now := c.st.history.ofLease(lease.ID(id)).now(); now.seq == 1 && c.st.s.steps < now.step+lag && c.st.s.chance(256) {
			return commit.Row[ID]{}
		}
	}
	return c.at(id)
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
