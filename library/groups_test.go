package library_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"carrel/library"
)

func (r *room) wantGroupRole(user, group library.PrincipalID, want library.GroupRole) {
	r.t.Helper()
	got, err := r.svc.GroupRoleOf(r.t.Context(), &library.Viewer{User: user}, group)
	if err != nil || got != want {
		r.t.Errorf("%s in %s: %v, %v; want %v", user, group, got, err, want)
	}
}

func TestGroupsOfAnyDepth(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:other:eve", "g:acme:a", "g:acme:b", "g:other:c", "g:acme:d", "g:acme:e")
	// ann in a in b in c in a: a cycle. a manages d, b is a member of d.
	r.join("g:acme:a", true, in("u:acme:ann", library.GroupMember), in("g:other:c", library.GroupMember))
	r.join("g:acme:b", true, in("g:acme:a", library.GroupManager))
	r.join("g:other:c", true, in("g:acme:b", library.GroupMember))
	r.join("g:acme:d", true, in("g:acme:a", library.GroupManager), in("g:acme:b", library.GroupMember))
	// e was left, and leaving is a role no more.
	left := in("u:acme:ann", library.GroupManager)
	left.Leaving = true
	r.join("g:acme:e", true, left)
	for _, c := range []struct {
		group library.PrincipalID
		want  library.GroupRole
	}{
		{"g:acme:a", library.GroupMember},
		{"g:acme:b", library.GroupManager},
		{"g:other:c", library.GroupMember},
		{"g:acme:d", library.GroupManager},
		{"g:acme:e", library.NotInGroup},
		{"g:acme:absent", library.NotInGroup},
	} {
		r.wantGroupRole("u:acme:ann", c.group, c.want)
	}
	r.wantGroupRole("u:other:eve", "g:acme:a", library.NotInGroup)
	r.wantGroupRole("", "g:acme:a", library.NotInGroup)
}

// TestStaleReverseIndex: the index says where to look, the group's own row
// whether there is a membership, and of which role.
func TestStaleReverseIndex(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "g:acme:left", "g:acme:demoted", "g:acme:top")
	for _, g := range []library.PrincipalID{"g:acme:left", "g:acme:demoted"} {
		r.join(g, true, in("u:acme:ann", library.GroupManager))
	}
	r.join("g:acme:top", true, in("g:acme:left", library.GroupManager))
	out := in("u:acme:ann", library.GroupManager)
	out.Leaving = true
	r.join("g:acme:left", false, out)
	r.join("g:acme:demoted", false, in("u:acme:ann", library.GroupMember))
	r.wantGroupRole("u:acme:ann", "g:acme:left", library.NotInGroup)
	r.wantGroupRole("u:acme:ann", "g:acme:top", library.NotInGroup)
	r.wantGroupRole("u:acme:ann", "g:acme:demoted", library.GroupMember)
}

// TestClosureIsBounded: what is beyond the limits of memberships counts for
// nothing, and reading stays bounded.
func TestClosureIsBounded(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "g:acme:one", "g:acme:two", "g:acme:zlast")
	group := func(kind string, i int) library.PrincipalID {
		return library.PrincipalID(fmt.Sprintf("g:acme:%s-%04d", kind, i))
	}
	// 998 groups beside one, two; then 1,000 through one and 1,000 through two.
	join := func(kind string, n int, member library.PrincipalID) {
		for i := range n {
			r.principal(group(kind, i), library.Public)
			r.join(group(kind, i), true, in(member, library.GroupMember))
		}
	}
	r.join("g:acme:one", true, in("u:acme:ann", library.GroupMember))
	r.join("g:acme:two", true, in("u:acme:ann", library.GroupMember))
	join("a", 998, "u:acme:ann")
	join("b", 1000, "g:acme:one")
	join("c", 1000, "g:acme:two")
	r.join("g:acme:zlast", true, in("u:acme:ann", library.GroupMember))
	v := ann()
	in := 0
	for _, kind := range []struct {
		name string
		n    int
	}{{"a", 998}, {"b", 1000}, {"c", 1000}} {
		for i := range kind.n {
			role, err := r.svc.GroupRoleOf(t.Context(), v, group(kind.name, i))
			r.must(err)
			if role != library.NotInGroup {
				in++
			}
		}
	}
	if in != 2000-2 {
		t.Errorf("%d groups count beside one and two, want 1998", in)
	}
	// It is ann's 1,001st direct group.
	r.wantGroupRole("u:acme:ann", "g:acme:zlast", library.NotInGroup)
	r.wantGroupRole("u:acme:ann", group("c", 999), library.NotInGroup)
}

// TestClosureAgainstPlainSearch compares random graphs with a plain search.
func TestClosureAgainstPlainSearch(t *testing.T) {
	r := newRoom(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		r.t = rt
		n := rapid.IntRange(1, 8).Draw(rt, "groups")
		node := func(i int) library.PrincipalID {
			if i == 0 {
				return library.PrincipalID(fmt.Sprintf("u:acme:ann%d", round))
			}
			return library.PrincipalID(fmt.Sprintf("g:acme:g%d-%d", round, i))
		}
		for i := range n + 1 {
			r.principal(node(i), library.Public)
		}
		roles := map[[2]int]library.GroupRole{}
		for range rapid.IntRange(0, 20).Draw(rt, "edges") {
			from, to := rapid.IntRange(0, n).Draw(rt, "from"), rapid.IntRange(1, n).Draw(rt, "to")
			if from != to {
				roles[[2]int{from, to}] = library.GroupRole(rapid.IntRange(1, 2).Draw(rt, "role"))
			}
		}
		for i := range n + 1 {
			for j := range n + 1 {
				if role := roles[[2]int{i, j}]; role != library.NotInGroup {
					r.join(node(j), true, in(node(i), role))
				}
			}
		}
		reached := map[int]bool{0: true}
		for range n {
			for i := range n + 1 {
				for j := range n + 1 {
					reached[j] = reached[j] || reached[i] && roles[[2]int{i, j}] != library.NotInGroup
				}
			}
		}
		for j := 1; j <= n; j++ {
			want := library.NotInGroup
			for i := range n + 1 {
				if reached[i] {
					want = max(want, roles[[2]int{i, j}])
				}
			}
			r.wantGroupRole(node(0), node(j), want)
		}
	})
}

// countingStore counts the closures that are read, by their first step.
type countingStore struct {
	library.Store
	memberships atomic.Int64
	fail        atomic.Bool
}

func (s *countingStore) MembershipsOf(ctx context.Context, q library.MembershipsQuery) ([][]library.Membership, error) {
	if q.Principals[0].IsUser() {
		s.memberships.Add(1)
	}
	if s.fail.Load() {
		return nil, context.DeadlineExceeded
	}
	return s.Store.MembershipsOf(ctx, q)
}

// TestGroupsAreResolvedOnce: all of a request shares one resolution, also at
// the same time; a failed one is not kept.
func TestGroupsAreResolvedOnce(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "g:acme:a")
	r.join("g:acme:a", true, in("u:acme:ann", library.GroupManager))
	counting := &countingStore{Store: r.store}
	svc := r.service(counting)
	v := ann()
	counting.fail.Store(true)
	if _, err := svc.GroupRoleOf(t.Context(), v, "g:acme:a"); err == nil {
		t.Error("a read that failed has an answer")
	}
	counting.fail.Store(false)
	counting.memberships.Store(0)
	done := make(chan library.GroupRole, 20)
	for range cap(done) {
		go func() {
			role, err := svc.GroupRoleOf(t.Context(), v, "g:acme:a")
			if err != nil {
				t.Error(err)
			}
			done <- role
		}()
	}
	for range cap(done) {
		if role := <-done; role != library.GroupManager {
			t.Errorf("role %v", role)
		}
	}
	if n := counting.memberships.Load(); n != 1 {
		t.Errorf("the viewer's memberships were read %d times", n)
	}
	// Another request of the same user reads for itself.
	if _, err := svc.GroupRoleOf(t.Context(), ann(), "g:acme:a"); err != nil || counting.memberships.Load() != 2 {
		t.Errorf("%v, %d reads", err, counting.memberships.Load())
	}
}
