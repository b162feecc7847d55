package library_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/library/repair"
	"carrel/pebblestore"
	"carrel/principal"
)

// room is a Service on an embedded store whose rows the test writes itself, so
// that entries can be as wrong as crashes and races leave them.
type room struct {
	t       tester
	store   *pebblestore.Store
	clock   *setClock
	repairs *repairs
	svc     *repair.Service
	// elsewhere are the names of items whose fan-out has not reached a library.
	elsewhere map[string]bool
}

// tester is a test, or one round of a random one.
type tester interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// setClock is the real runtime with a wall clock that the test sets.
type setClock struct {
	*sched.Real
	now atomic.Int64
}

func (c *setClock) Now() time.Time { return clock.Instant(c.now.Load()).Time() }

// repairs is the journal of a process that only reads: it keeps what repairs
// were asked for, and a change begun would panic.
type repairs struct {
	commit.Journal
	mu    sync.Mutex
	asked map[library.ContentID]principal.ID
}

func (r *repairs) Repair(asked commit.Repair) {
	p, e := principal.ID(asked.Key), asked.Row.(library.BucketEntry)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[library.ContentID]principal.ID{}
	}
	r.asked[e.Content] = p
}

// take is what was asked for since the last time.
func (r *repairs) take() map[library.ContentID]principal.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// roomStart is the wall clock of a new room; items stand at small positions.
const roomStart = clock.Instant(1_000_000)

func newRoom(t testing.TB) *room {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	r := &room{t: t, store: store, clock: &setClock{Real: sched.NewReal()}, repairs: &repairs{}}
	t.Cleanup(func() {
		r.clock.Close()
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	r.clock.now.Store(int64(roomStart))
	r.svc = r.service(store)
	return r
}

// service is one more process on a store.
func (r *room) service(store backend.Store) *repair.Service {
	r.t.Helper()
	svc := backendtest.Open(r.t, backend.Config{Store: store, Runtime: r.clock, Journal: r.repairs})
	return svc
}

func (r *room) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// applied checks that a conditional write was made.
func (r *room) applied(v commit.Verdict, err error) {
	r.t.Helper()
	if err != nil || !v.Applied {
		r.t.Fatalf("conditional write: %+v, %v", v, err)
	}
}

// principal stores a user or a group with a library.
func (r *room) principal(id principal.ID, vis principal.Visibility) {
	r.t.Helper()
	r.applied(r.store.CommitPrincipal(r.t.Context(), &principal.Commit{
		ID: id,
		Header: principal.Header{
			ID: id, DisplayName: id.Name(), Email: id.Name() + "@example.org", Visibility: vis, State: commit.Live, Seq: 1, MTS: 1,
		},
	}))
	r.must(r.store.SetBuilt(r.t.Context(), id, 1))
}

// principals stores PUBLIC ones.
func (r *room) principals(ids ...principal.ID) {
	r.t.Helper()
	for _, id := range ids {
		r.principal(id, principal.Public)
	}
}

// join writes rows of a group; with index also the reverse index of them.
func (r *room) join(group principal.ID, index bool, members ...principal.GroupMemberRow) {
	r.t.Helper()
	rows, err := r.store.ReadPrincipal(r.t.Context(), group, principal.Query{})
	r.must(err)
	h := rows.Header
	base := h.Seq
	h.Seq, h.MTS = base+1, h.MTS+1
	for i := range members {
		members[i].Seq = h.Seq
	}
	r.applied(r.store.CommitPrincipal(r.t.Context(), &principal.Commit{ID: group, Base: base, Header: h, Members: members}))
	if index {
		r.must(r.store.EnforceGroup(r.t.Context(), &principal.GroupEnforcement{Header: &h, Rows: members}))
	}
}

func in(p principal.ID, role principal.GroupRole) principal.GroupMemberRow {
	return principal.GroupMemberRow{Principal: p, Role: role}
}

// change commits a new state of an item and leaves all libraries as they are.
func (r *room) change(id library.ContentID, change func(h *library.Header), members ...library.Member) *library.Header {
	r.t.Helper()
	rows, err := r.store.Read(r.t.Context(), id, library.ContentQuery{})
	r.must(err)
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
	r.applied(r.store.Commit(r.t.Context(), c))
	return &h
}

// enforce brings the libraries of principals in line with an item.
func (r *room) enforce(id library.ContentID, principals ...principal.ID) {
	r.t.Helper()
	rows, err := r.store.Read(r.t.Context(), id, library.ContentQuery{Members: principals})
	r.must(err)
	r.must(r.store.Enforce(r.t.Context(), &library.Enforcement{Header: &rows.Header, Rows: rows.Members, Reverse: true}))
}

// item stores an item with its entries.
func (r *room) item(id library.ContentID, at clock.Instant, vis principal.Visibility, members ...library.Member) {
	r.t.Helper()
	r.change(id, func(h *library.Header) { h.Position, h.Visibility = at, vis }, members...)
	for _, m := range members {
		r.enforce(id, m.Principal)
	}
}

func has(p principal.ID, role library.ContentRole) library.Member {
	return library.Member{Principal: p, Role: role}
}

// moveTo is a change of the position alone.
func moveTo(at clock.Instant) func(*library.Header) {
	return func(h *library.Header) { h.Position = at }
}

// read reads a page of a library.
func (r *room) read(v *principal.Viewer, owner principal.ID, q library.LibraryQuery) *library.LibraryConnection {
	r.t.Helper()
	c, err := r.svc.Library(r.t.Context(), v, owner, q)
	if err != nil {
		r.t.Fatalf("read the library of %s: %v", owner, err)
	}
	return c
}

// names are the names of the items on a page.
func names(c *library.LibraryConnection) []string {
	ids := []string{}
	for _, n := range c.Nodes() {
		ids = append(ids, n.ID.Name())
	}
	return ids
}

func (r *room) wantNames(c *library.LibraryConnection, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), names(c)); diff != "" {
		r.t.Errorf("items (-want +got):\n%s", diff)
	}
}

// wantReason checks the reason of an error.
func wantReason(t testing.TB, err error, code fault.Code, reason fault.Reason) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v %s", code, reason)
		return
	}
	if fault.CodeOf(err) != code || fault.ReasonOf(err) != reason {
		t.Errorf("error %v of code %v %s, want %v %s", err, fault.CodeOf(err), fault.ReasonOf(err), code, reason)
	}
}

func first(n int) cursor.PageArgs { return cursor.PageArgs{First: &n} }
func last(n int) cursor.PageArgs  { return cursor.PageArgs{Last: &n} }

func firstAfter(n int, c *string) cursor.PageArgs { return cursor.PageArgs{First: &n, After: c} }
func lastBefore(n int, c *string) cursor.PageArgs { return cursor.PageArgs{Last: &n, Before: c} }
