package principal

import (
	"sync"

	"carrel/core/sched"
)

// Viewer is who asks: anonymous (the zero User), a user, an administrator of
// the user's tenant, or a global administrator. It serves one request; what
// was resolved of its groups, and the principals that it was shown, are kept
// for as long as that.
type Viewer struct {
	User        ID
	Admin       bool
	GlobalAdmin bool

	memo  groupMemo
	shown memo
	kept  keeper
	// resolved is what resolving groups has cost in this request. bill, where it
	// is set, is counted instead.
	resolved Meter
	Bill     *Meter
}

// billed is the meter on which resolving groups for the viewer is counted.
func (v *Viewer) billed() *Meter {
	if v.Bill != nil {
		return v.Bill
	}
	return &v.resolved
}

// As returns another user as a viewer, whose groups are resolved at v's cost.
func (v *Viewer) As(user ID) *Viewer { return &Viewer{User: user, Bill: v.billed()} }

// Apart returns the same caller as a viewer of its own, whose groups are resolved at v's
// cost. Mutations of one request that run at the same time have one each.
func (v *Viewer) Apart() *Viewer {
	return &Viewer{User: v.User, Admin: v.Admin, GlobalAdmin: v.GlobalAdmin, Bill: v.billed()}
}

// Resolved tells what resolving groups has cost in this request: the rounds of
// reads, and the groups that were read.
func (v *Viewer) Resolved() (rounds, groups int) {
	return int(v.resolved.rounds.Load()), int(v.resolved.groups.Load())
}

// groupMemo keeps the groups that a viewer is in, once resolved.
type groupMemo struct {
	mu     sync.Mutex
	known  bool
	groups *Closure
	// busy is shut while somebody resolves them; nil otherwise.
	busy sched.Latch
}

// SignedIn tells whether the viewer is known by name.
func (v *Viewer) SignedIn() bool { return v.User != "" }

// Administers tells whether the viewer is an administrator of the tenant.
func (v *Viewer) Administers(tenant string) bool {
	return v.GlobalAdmin || v.Admin && v.User.Tenant() == tenant
}
