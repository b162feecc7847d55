package domaintest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// Rows is a Service on an embedded store whose rows the test writes directly. So entries can be as
// wrong as crashes and races leave them.
type Rows struct {
	T       Tester
	Store   *pebblestore.Store
	Clock   *WallClock
	Repairs *RepairLog
	*domain.Services
	// Outdated contains the names of items that have moved although the fan-out has not updated
	// their entries.
	Outdated map[string]bool
}

// WallClock is the real runtime with a wall clock that the test sets.
type WallClock struct {
	*sched.Real
	Wall atomic.Int64
}

// Now implements sched.Runtime.
func (c *WallClock) Now() time.Time { return clock.Instant(c.Wall.Load()).Time() }

// RepairLog is the journal of a process that only reads. It records the requested repairs and
// panics if a change is started.
type RepairLog struct {
	commit.Journal
	mu        sync.Mutex
	requested map[library.ContentID]principal.ID
}

// Repair implements commit.Journal.
func (r *RepairLog) Repair(requested commit.Repair) {
	p, e := principal.ID(requested.Key), requested.Row.(library.BucketEntry)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requested == nil {
		r.requested = map[library.ContentID]principal.ID{}
	}
	r.requested[e.Content] = p
}

// Take returns the repairs since its last call.
func (r *RepairLog) Take() map[library.ContentID]principal.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	requested := r.requested
	r.requested = nil
	return requested
}

// RowsStart is the initial time of the clock of Rows. Positions of items are small numbers.
const RowsStart = clock.Instant(1_000_000)

// NewRows returns Rows on an empty store.
func NewRows(t testing.TB) *Rows {
	t.Helper()
	store := embedded(t)
	r := &Rows{T: t, Store: store, Clock: &WallClock{Real: sched.NewReal()}, Repairs: &RepairLog{}}
	t.Cleanup(r.Clock.Close)
	r.Clock.Wall.Store(int64(RowsStart))
	r.Services = r.OpenProcess(store.Store)
	return r
}

// OpenProcess returns the Services of one more process on a store.
func (r *Rows) OpenProcess(store domain.Store) *domain.Services {
	r.T.Helper()
	return Open(r.T, domain.Config{Store: store, Runtime: r.Clock, Journal: r.Repairs})
}

// Must fails the test if there is an error.
func (r *Rows) Must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}

// Applied fails the test unless a conditional write was applied.
func (r *Rows) Applied(v commit.Verdict, err error) {
	r.T.Helper()
	if err != nil || !v.Applied {
		r.T.Fatalf("conditional write: %+v, %v", v, err)
	}
}

// Principal stores a user or a group with an empty library.
func (r *Rows) Principal(id principal.ID, vis principal.Visibility) {
	r.T.Helper()
	r.Applied(r.Store.Principals.CommitPrincipal(r.T.Context(), &principal.Commit{
		ID: id,
		Header: principal.Header{
			ID: id, DisplayName: id.Name(), Email: id.Name() + "@example.org", Visibility: vis, State: commit.Live, Seq: 1, MTS: 1,
		},
	}))
	r.Must(r.Store.Libraries.SetBuilt(r.T.Context(), id, 1))
}

// Principals stores PUBLIC users and groups.
func (r *Rows) Principals(ids ...principal.ID) {
	r.T.Helper()
	for _, id := range ids {
		r.Principal(id, principal.Public)
	}
}

// Join writes member rows of a group, and with index also the reverse index of them.
func (r *Rows) Join(group principal.ID, index bool, members ...principal.GroupMemberRow) {
	r.T.Helper()
	rows, err := r.Store.Principals.ReadPrincipal(r.T.Context(), group, principal.Query{})
	r.Must(err)
	h := rows.Header
	base := h.Seq
	h.Seq, h.MTS = base+1, h.MTS+1
	for i := range members {
		members[i].Seq = h.Seq
	}
	r.Applied(r.Store.Principals.CommitPrincipal(r.T.Context(), &principal.Commit{ID: group, Base: base, Header: h, Members: members}))
	if index {
		r.Must(r.Store.Principals.ApplyGroupIndex(r.T.Context(), &principal.GroupIndexUpdate{Header: &h, Rows: members}))
	}
}

// GroupMember returns the row of a member of a group.
func GroupMember(p principal.ID, role principal.GroupRole) principal.GroupMemberRow {
	return principal.GroupMemberRow{Principal: p, Role: role}
}

// Change commits a new state of an item and does not update any library.
func (r *Rows) Change(id library.ContentID, change func(h *library.Header), members ...library.Member) *library.Header {
	r.T.Helper()
	rows, err := r.Store.Contents.Read(r.T.Context(), id, library.ContentQuery{})
	r.Must(err)
	before, h := rows.Header, rows.Header
	h.ID, h.State, h.Seq, h.MTS = id, commit.Live, before.Seq+1, before.MTS+1
	if before.Seq == 0 {
		h.Kind, h.Title, h.Version, h.Creator = library.Note, id.Name(), 1, "u:acme:ann"
	}
	change(&h)
	h.Widest = max(h.Widest, h.Visibility)
	c := &library.ContentCommit{ID: id, Base: before.Seq}
	if before.Seq > 0 && h.Position != before.Position {
		c.Supersede = &library.Superseded{Position: before.Position, Widest: before.Widest}
		h.Widest = h.Visibility
	}
	h.LastModified = h.Position
	for _, m := range members {
		m.Seq = h.Seq
		c.Members = append(c.Members, m)
	}
	c.Header = h
	r.Applied(r.Store.Contents.Commit(r.T.Context(), c))
	return &h
}

// ApplyIndex updates the libraries of principals for an item.
func (r *Rows) ApplyIndex(id library.ContentID, principals ...principal.ID) {
	r.T.Helper()
	rows, err := r.Store.Contents.Read(r.T.Context(), id, library.ContentQuery{Members: principals})
	r.Must(err)
	r.Must(r.Store.Contents.ApplyIndex(r.T.Context(), &library.IndexUpdate{Header: &rows.Header, Rows: rows.Members, All: true}))
}

// Item stores an item with its entries.
func (r *Rows) Item(id library.ContentID, at clock.Instant, vis principal.Visibility, members ...library.Member) {
	r.T.Helper()
	r.Change(id, func(h *library.Header) { h.Position, h.Visibility = at, vis }, members...)
	for _, m := range members {
		r.ApplyIndex(id, m.Principal)
	}
}

// ContentMember returns the row of a member of an item.
func ContentMember(p principal.ID, role library.ContentRole) library.Member {
	return library.Member{Principal: p, Role: role}
}

// Read reads a page of a library.
func (r *Rows) Read(v *principal.Viewer, owner principal.ID, q library.LibraryQuery) *library.LibraryConnection {
	r.T.Helper()
	c, err := r.Listing.Library(r.T.Context(), v, owner, q)
	if err != nil {
		r.T.Fatalf("read the library of %s: %v", owner, err)
	}
	return c
}

// NamesOf returns the names of the items on a page.
func NamesOf(c *library.LibraryConnection) []string {
	ids := []string{}
	for _, n := range c.Nodes() {
		ids = append(ids, n.ID.Name())
	}
	return ids
}

// WantNames compares the names of the items on a page.
func (r *Rows) WantNames(c *library.LibraryConnection, want ...string) {
	r.T.Helper()
	if diff := cmp.Diff(append([]string{}, want...), NamesOf(c)); diff != "" {
		r.T.Errorf("items (-want +got):\n%s", diff)
	}
}
