package library_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/library/repair"
	"carrel/pebblestore"
	"carrel/principal"
)

// house is a Service on an empty embedded store.
type house struct {
	t       *testing.T
	store   backend.Store
	runtime *sched.Real
	journal *journal.Journal
	svc     *repair.Service
	marks   int // items made only to be noticed
}

// newHouse opens one; it is closed at the end of the test. wrap, where it is
// not nil, stands between the Service and the store.
func newHouse(t *testing.T, wrap func(backend.Store) backend.Store) *house {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	h := &house{t: t, store: store, runtime: sched.NewReal()}
	t.Cleanup(h.runtime.Close)
	if wrap != nil {
		h.store = wrap(store)
	}
	h.journal = journal.New(t.Context(), h.store, h.runtime, nil, commit.WholeProtocol)
	h.svc = backendtest.Open(t, backend.Config{
		Store: h.store, Runtime: h.runtime, Journal: h.journal, Names: &counting{}, Remote: true,
	})
	return h
}

// counting names content by counting it.
type counting struct{ n atomic.Int64 }

func (c *counting) ContentName(context.Context) (string, error) {
	return fmt.Sprintf("host/%d", c.n.Add(1)), nil
}

// wantSettled fails where a change is still in flight.
func (h *house) wantSettled() {
	h.t.Helper()
	if err := h.journal.Beat(h.t.Context()); err != nil {
		h.t.Fatalf("writing the lane: %v", err)
	}
	lanes, err := h.store.Lanes(h.t.Context())
	if err != nil || len(lanes) != 0 {
		h.t.Errorf("changes are still in flight: %v, %v", lanes, err)
	}
}

// as is a viewer of one request.
func as(user string) *principal.Viewer { return &principal.Viewer{User: principal.ID(user)} }

// admin is the same as an administrator of its tenant.
func admin(user string) *principal.Viewer {
	return &principal.Viewer{User: principal.ID(user), Admin: true}
}

// global is the same as a global administrator.
func global(user string) *principal.Viewer {
	return &principal.Viewer{User: principal.ID(user), GlobalAdmin: true}
}

// user creates a user of a visibility by its own token.
func (h *house) user(id string, visibility principal.Visibility) {
	h.t.Helper()
	p := principal.ID(id)
	_, err := h.svc.CreateUser(h.t.Context(), as(id), principal.CreateUser{
		Tenant: p.Tenant(), Name: p.Name(), DisplayName: p.Name(), Email: "x@example.com", Visibility: visibility,
	})
	if err != nil {
		h.t.Fatalf("creating %s: %v", id, err)
	}
}

// group creates a group, managed by the user.
func (h *house) group(id, creator string, visibility principal.Visibility) {
	h.t.Helper()
	p := principal.ID(id)
	_, err := h.svc.CreateGroup(h.t.Context(), as(creator), principal.CreateGroup{
		Tenant: p.Tenant(), Name: p.Name(), DisplayName: p.Name(), Visibility: visibility,
	})
	if err != nil {
		h.t.Fatalf("creating %s: %v", id, err)
	}
}

// set changes members of a group: "u:acme:ann=MANAGER", "u:acme:bob=" to take
// one out.
func (h *house) set(v *principal.Viewer, group string, changes ...string) (*principal.Group, error) {
	in := principal.SetGroupMembers{Group: group}
	for _, c := range changes {
		in.Members = append(in.Members, memberChange(c))
	}
	return h.svc.SetGroupMembers(h.t.Context(), v, in)
}

func memberChange(s string) principal.GroupMemberChange {
	id, role, _ := strings.Cut(s, "=")
	c := principal.GroupMemberChange{Principal: id}
	if r, ok := principal.ParseGroupRole(role); ok {
		c.Role = &r
	}
	return c
}

// mustSet is set by whom nothing is refused.
func (h *house) mustSet(v *principal.Viewer, group string, changes ...string) {
	h.t.Helper()
	if _, err := h.set(v, group, changes...); err != nil {
		h.t.Fatalf("setting %v in %s: %v", changes, group, err)
	}
}

// members are those of a group as its own partition has them, in order of id.
func (h *house) members(group string) []string {
	h.t.Helper()
	rows, err := h.store.GroupMembersPage(h.t.Context(), principal.ID(group), "", 1000, true)
	if err != nil {
		h.t.Fatalf("reading the members of %s: %v", group, err)
	}
	var all []string
	managers, members := 0, 0
	for _, m := range rows.Members {
		if !m.Active() {
			all = append(all, string(m.Principal)+" leaving")
			continue
		}
		members++
		if m.Role == principal.GroupManager {
			managers++
		}
		all = append(all, fmt.Sprintf("%s=%s", m.Principal, m.Role))
	}
	if rows.Header.Members != members || rows.Header.Managers != managers {
		h.t.Errorf("the header of %s counts %d members and %d managers, there are %d and %d",
			group, rows.Header.Members, rows.Header.Managers, members, managers)
	}
	return all
}

// memberships are those that the reverse index tells of a principal.
func (h *house) memberships(p string) []string {
	h.t.Helper()
	ms, err := h.store.Memberships(h.t.Context(), principal.ID(p), "", 1000)
	if err != nil {
		h.t.Fatalf("reading the memberships of %s: %v", p, err)
	}
	var all []string
	for _, m := range ms {
		all = append(all, fmt.Sprintf("%s=%s", m.Group, m.Role))
	}
	return all
}

// header is a principal's as its own partition has it.
func (h *house) header(id string) principal.Header {
	h.t.Helper()
	rows, err := h.store.ReadPrincipal(h.t.Context(), principal.ID(id), principal.Query{Serial: true})
	if err != nil {
		h.t.Fatalf("reading %s: %v", id, err)
	}
	return rows.Header
}

// told is each fault of an error as "CODE path", nil for none.
func told(err error) []string {
	var all []string
	for _, f := range fault.ListOf(err) {
		code := string(f.Reason)
		if code == "" {
			code = map[fault.Code]string{
				fault.Internal: "INTERNAL", fault.Invalid: "INVALID", fault.Unauthenticated: "UNAUTHENTICATED",
				fault.Forbidden: "FORBIDDEN", fault.NotFound: "NOT_FOUND", fault.Conflict: "CONFLICT?",
				fault.Exhausted: "EXHAUSTED?", fault.Unavailable: "UNAVAILABLE",
			}[f.Code]
		}
		all = append(all, strings.TrimSpace(code+" "+strings.Join(f.Path, ".")))
	}
	return all
}

// wantTold compares the faults of an error.
func wantTold(t *testing.T, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(err)); diff != "" {
		t.Fatalf("faults (-want +got):\n%s\n%v", diff, err)
	}
	for _, f := range fault.ListOf(err) {
		if f.Msg == "" {
			t.Errorf("a fault without a message: %+v", f)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// failing makes calls of a store fail as often as told.
type failing struct {
	backend.Store
	enforceGroup int
	uncertain    int // CommitPrincipal applies, and its answer is lost
}

var errDown = errors.New("the store is down")

func (f *failing) EnforceGroup(ctx context.Context, e *principal.GroupEnforcement) error {
	if f.enforceGroup > 0 {
		f.enforceGroup--
		return errDown
	}
	return f.Store.EnforceGroup(ctx, e)
}

func (f *failing) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	v, err := f.Store.CommitPrincipal(ctx, c)
	if f.uncertain > 0 && err == nil {
		f.uncertain--
		return commit.Verdict{}, fault.Uncertain(errDown)
	}
	return v, err
}
