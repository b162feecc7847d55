package principal

import (
	"sync"
	"sync/atomic"

	"carrel/core/commit"
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
	// inFlight is the read of the in-flight lists for this request; nil: none was begun.
	inFlight atomic.Pointer[commit.InFlightRead]
	// resolved counts the work for which the caller pays, unless Bill is set: then Bill counts it.
	resolved Meter
	Bill     *Meter
}

// Meter counts the work for which the edge charges the caller. It does not depend on what was found,
// so it tells the caller nothing about groups and members that it may not see, and others cannot make
// it cost more.
type Meter struct {
	resolutions, libraries atomic.Int64
}

// MoveTo moves what was counted to the meter of a viewer.
func (m *Meter) MoveTo(v *Viewer) {
	v.resolved.resolutions.Add(m.resolutions.Swap(0))
	v.resolved.libraries.Add(m.libraries.Swap(0))
}

// billed returns the meter that counts the viewer's work.
func (v *Viewer) billed() *Meter {
	if v.Bill != nil {
		return v.Bill
	}
	return &v.resolved
}

// As returns another user as a viewer, whose groups are resolved at v's cost.
func (v *Viewer) As(user ID) *Viewer { return &Viewer{User: user, Bill: v.billed()} }

// Apart returns a separate Viewer of the same caller, whose groups are resolved at v's cost.
// Mutations of one request that run concurrently have one each.
func (v *Viewer) Apart() *Viewer {
	return &Viewer{User: v.User, Admin: v.Admin, GlobalAdmin: v.GlobalAdmin, Bill: v.billed()}
}

// Resolved returns what was counted in this request: how many times the groups of a user or a group
// were resolved, and how many libraries of the viewer's groups were read.
func (v *Viewer) Resolved() (resolutions, libraries int) {
	return int(v.resolved.resolutions.Load()), int(v.resolved.libraries.Load())
}

// ReadLibraries counts n libraries of the viewer's groups that were read.
func (v *Viewer) ReadLibraries(n int) { v.billed().libraries.Add(int64(n)) }

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

// BeginInFlight begins a read of the in-flight lists, for which the caller must call Done. It
// returns nil if the request has one already. Reads of headers by this request wait for it from now
// on, and may then be served from the header cache.
func (v *Viewer) BeginInFlight(rt sched.Runtime) *commit.InFlightRead {
	r := commit.NewInFlightRead(rt)
	if !v.inFlight.CompareAndSwap(nil, r) {
		return nil
	}
	return r
}
