package principal

import (
	"sync"

	"carrel/core/sched"
)

// Viewer is the caller of a request: anonymous (the zero User), a user, an administrator of the
// user's tenant, or a global administrator. It serves one request, and keeps the groups that
// were resolved and the principals that were shown for that long.
type Viewer struct {
	User        ID
	Admin       bool
	GlobalAdmin bool

	memo  groupMemo
	shown memo
	kept  keeper
	// inFlight is the read of the in-flight lists that was begun for this request.
	inFlight currentReading
	// resolved counts the cost of resolving groups in this request, unless Bill is set: then Bill
	// counts it.
	resolved Meter
	Bill     *Meter
}

// billed returns the meter that counts the cost of resolving groups for the viewer.
func (v *Viewer) billed() *Meter {
	if v.Bill != nil {
		return v.Bill
	}
	return &v.resolved
}

// Apart returns a separate Viewer of the same caller, whose groups are resolved at v's cost.
// Mutations of one request that run concurrently have one each.
func (v *Viewer) Apart() *Viewer {
	return &Viewer{User: v.User, Admin: v.Admin, GlobalAdmin: v.GlobalAdmin, Bill: v.billed()}
}

// Resolved returns the cost of resolving groups in this request: the rounds of reads, and the
// groups that were read.
func (v *Viewer) Resolved() (rounds, groups int) {
	return int(v.resolved.rounds.Load()), int(v.resolved.groups.Load())
}

// ReadGroups counts a round of reads of n groups, like resolving them.
func (v *Viewer) ReadGroups(n int) {
	if n > 0 {
		v.billed().read(n)
	}
}

// groupMemo keeps the groups that a viewer is in, once resolved.
type groupMemo struct {
	mu     sync.Mutex
	known  bool
	groups *Closure
	// busy opens when the caller that resolves them is done; nil if no caller does.
	busy sched.Latch
}

// SignedIn reports whether the viewer is signed in.
func (v *Viewer) SignedIn() bool { return v.User != "" }

// Administers reports whether the viewer is an administrator of the tenant.
func (v *Viewer) Administers(tenant string) bool {
	return v.GlobalAdmin || v.Admin && v.User.Tenant() == tenant
}
