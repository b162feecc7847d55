package principal_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"carrel/domain/domaintest"
	"carrel/principal"
)

func wantGroupRole(r *domaintest.Rows, user, group principal.ID, want principal.GroupRole) {
	r.T.Helper()
	got, err := r.People.GroupRoleOf(r.T.Context(), &principal.Viewer{User: user}, group)
	if err != nil || got != want {
		r.T.Errorf("%s in %s: %v, %v; want %v", user, group, got, err, want)
	}
}

func TestGroups_RolesCountThroughNestedGroups(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:other:eve", "g:acme:a", "g:acme:b", "g:other:c", "g:acme:d", "g:acme:e")
	// ann in a in b in c in a: a cycle. a manages d, b is a member of d.
	r.Join("g:acme:a", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember),
		domaintest.GroupMember("g:other:c", principal.GroupMember))
	r.Join("g:acme:b", true, domaintest.GroupMember("g:acme:a", principal.GroupManager))
	r.Join("g:other:c", true, domaintest.GroupMember("g:acme:b", principal.GroupMember))
	r.Join("g:acme:d", true, domaintest.GroupMember("g:acme:a", principal.GroupManager),
		domaintest.GroupMember("g:acme:b", principal.GroupMember))
	// ann has left e, and has no role in it any more.
	leaving := domaintest.GroupMember("u:acme:ann", principal.GroupManager)
	leaving.Leaving = true
	r.Join("g:acme:e", true, leaving)
	for _, c := range []struct {
		group principal.ID
		want  principal.GroupRole
	}{
		{"g:acme:a", principal.GroupMember},
		{"g:acme:b", principal.GroupManager},
		{"g:other:c", principal.GroupMember},
		{"g:acme:d", principal.GroupManager},
		{"g:acme:e", principal.NotInGroup},
		{"g:acme:absent", principal.NotInGroup},
	} {
		wantGroupRole(r, "u:acme:ann", c.group, c.want)
	}
	wantGroupRole(r, "u:other:eve", "g:acme:a", principal.NotInGroup)
	wantGroupRole(r, "", "g:acme:a", principal.NotInGroup)
}

// TestGroups_StaleReverseIndexIsIgnored checks that the index is a hint, and that the group's own
// row decides whether there is a membership, and of which role.
func TestGroups_StaleReverseIndexIsIgnored(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:left", "g:acme:demoted", "g:acme:top")
	for _, g := range []principal.ID{"g:acme:left", "g:acme:demoted"} {
		r.Join(g, true, domaintest.GroupMember("u:acme:ann", principal.GroupManager))
	}
	r.Join("g:acme:top", true, domaintest.GroupMember("g:acme:left", principal.GroupManager))
	out := domaintest.GroupMember("u:acme:ann", principal.GroupManager)
	out.Leaving = true
	r.Join("g:acme:left", false, out)
	r.Join("g:acme:demoted", false, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	wantGroupRole(r, "u:acme:ann", "g:acme:left", principal.NotInGroup)
	wantGroupRole(r, "u:acme:ann", "g:acme:top", principal.NotInGroup)
	wantGroupRole(r, "u:acme:ann", "g:acme:demoted", principal.GroupMember)
}

// TestClosure_IsBounded checks that memberships beyond the limits are ignored, and that reading
// stays within limits.
func TestClosure_IsBounded(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:one", "g:acme:two", "g:acme:zlast")
	group := func(kind string, i int) principal.ID {
		return principal.ID(fmt.Sprintf("g:acme:%s-%04d", kind, i))
	}
	// 998 groups and one, two; then 1,000 through one and 1,000 through two.
	join := func(kind string, n int, member principal.ID) {
		for i := range n {
			r.Principal(group(kind, i), principal.Public)
			r.Join(group(kind, i), true, domaintest.GroupMember(member, principal.GroupMember))
		}
	}
	r.Join("g:acme:one", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	r.Join("g:acme:two", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	join("a", 998, "u:acme:ann")
	join("b", 1000, "g:acme:one")
	join("c", 1000, "g:acme:two")
	r.Join("g:acme:zlast", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	v := domaintest.Ann()
	in := 0
	for _, kind := range []struct {
		name string
		n    int
	}{{"a", 998}, {"b", 1000}, {"c", 1000}} {
		for i := range kind.n {
			role, err := r.People.GroupRoleOf(t.Context(), v, group(kind.name, i))
			r.Must(err)
			if role != principal.NotInGroup {
				in++
			}
		}
	}
	if in != 2000-2 {
		t.Errorf("%d groups count in addition to one and two, want 1998", in)
	}
	// It is ann's 1,001st direct group.
	wantGroupRole(r, "u:acme:ann", "g:acme:zlast", principal.NotInGroup)
	wantGroupRole(r, "u:acme:ann", group("c", 999), principal.NotInGroup)
}

// TestClosure_MatchesAPlainSearch compares random graphs with a plain search.
func TestClosure_MatchesAPlainSearch(t *testing.T) {
	r := domaintest.NewRows(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		r.T = rt
		n := rapid.IntRange(1, 8).Draw(rt, "groups")
		node := func(i int) principal.ID {
			if i == 0 {
				return principal.ID(fmt.Sprintf("u:acme:ann%d", round))
			}
			return principal.ID(fmt.Sprintf("g:acme:g%d-%d", round, i))
		}
		for i := range n + 1 {
			r.Principal(node(i), principal.Public)
		}
		roles := map[[2]int]principal.GroupRole{}
		for range rapid.IntRange(0, 20).Draw(rt, "edges") {
			from, to := rapid.IntRange(0, n).Draw(rt, "from"), rapid.IntRange(1, n).Draw(rt, "to")
			if from != to {
				roles[[2]int{from, to}] = principal.GroupRole(rapid.IntRange(1, 2).Draw(rt, "role"))
			}
		}
		for i := range n + 1 {
			for j := range n + 1 {
				if role := roles[[2]int{i, j}]; role != principal.NotInGroup {
					r.Join(node(j), true, domaintest.GroupMember(node(i), role))
				}
			}
		}
		reached := map[int]bool{0: true}
		for range n {
			for i := range n + 1 {
				for j := range n + 1 {
					reached[j] = reached[j] || reached[i] && roles[[2]int{i, j}] != principal.NotInGroup
				}
			}
		}
		for j := 1; j <= n; j++ {
			want := principal.NotInGroup
			for i := range n + 1 {
				if reached[i] {
					want = max(want, roles[[2]int{i, j}])
				}
			}
			wantGroupRole(r, node(0), node(j), want)
		}
	})
}

// countingStore counts the closures that are read, by their first step.
type countingStore struct {
	principal.Store
	memberships atomic.Int64
	fail        atomic.Bool
}

func (s *countingStore) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	if q.Principals[0].IsUser() {
		s.memberships.Add(1)
	}
	if s.fail.Load() {
		return nil, context.DeadlineExceeded
	}
	return s.Store.MembershipsOf(ctx, q)
}

// TestGroups_AreResolvedOncePerRequest checks that all calls of a request share one resolution,
// also concurrent ones. A failed one is not kept.
func TestGroups_AreResolvedOncePerRequest(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:a")
	r.Join("g:acme:a", true, domaintest.GroupMember("u:acme:ann", principal.GroupManager))
	store := r.Store.Store
	counting := &countingStore{Store: store.Principals}
	store.Principals = counting
	svc := r.OpenProcess(store)
	v := domaintest.Ann()
	counting.fail.Store(true)
	if _, err := svc.People.GroupRoleOf(t.Context(), v, "g:acme:a"); err == nil {
		t.Error("a read that failed has an answer")
	}
	counting.fail.Store(false)
	counting.memberships.Store(0)
	done := make(chan principal.GroupRole, 20)
	for range cap(done) {
		go func() {
			role, err := svc.People.GroupRoleOf(t.Context(), v, "g:acme:a")
			if err != nil {
				t.Error(err)
			}
			done <- role
		}()
	}
	for range cap(done) {
		if role := <-done; role != principal.GroupManager {
			t.Errorf("role %v", role)
		}
	}
	if n := counting.memberships.Load(); n != 1 {
		t.Errorf("the viewer's memberships were read %d times", n)
	}
	// Another request of the same user reads for itself.
	if _, err := svc.People.GroupRoleOf(t.Context(), domaintest.Ann(), "g:acme:a"); err != nil || counting.memberships.Load() != 2 {
		t.Errorf("%v, %d reads", err, counting.memberships.Load())
	}
}
