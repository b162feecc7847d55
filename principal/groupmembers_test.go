package principal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/principal"
)

var staffAtFirst = []string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER", "u:acme:bob=MEMBER"}

func TestSetGroupMembers_MakesAllChangesOrNone(t *testing.T) {
	for _, c := range []struct {
		name    string
		viewer  *principal.Viewer
		changes []string
		want    []string // faults
		members []string // afterwards; nil: as they were
	}{
		{"add", domaintest.As("u:acme:ann"), []string{"u:acme:dan=MEMBER"}, nil,
			[]string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER", "u:acme:bob=MEMBER", "u:acme:dan=MEMBER"}},
		{"add, promote and remove at once", domaintest.As("u:acme:ann"), []string{"u:acme:dan=MANAGER", "g:acme:crew=", "u:acme:bob=MANAGER"},
			nil,
			[]string{"u:acme:ann=MANAGER", "u:acme:bob=MANAGER", "u:acme:dan=MANAGER"}},
		{"add one of another tenant that is seen", domaintest.As("u:acme:ann"), []string{"u:other:pub=MEMBER"}, nil,
			[]string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER", "u:acme:bob=MEMBER", "u:other:pub=MEMBER"}},
		{"ids in mixed case", domaintest.As("u:acme:ann"), []string{"U:Acme:Bob=MANAGER"}, nil,
			[]string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER", "u:acme:bob=MANAGER"}},
		{"remove principals that are not members", domaintest.As("u:acme:ann"), []string{"u:acme:dan=", "u:acme:nobody="}, nil, nil},
		{"roles as they are", domaintest.As("u:acme:ann"), []string{"u:acme:bob=MEMBER", "u:acme:ann=MANAGER"}, nil, nil},
		{"leave", domaintest.As("u:acme:bob"), []string{"u:acme:bob="}, nil, []string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER"}},
		{"leave without having been a member", domaintest.As("u:acme:dan"), []string{"u:acme:dan="}, nil, nil},
		{"remove itself and somebody else", domaintest.As("u:acme:bob"), []string{"u:acme:bob=", "g:acme:crew="},
			[]string{"FORBIDDEN groupId"}, nil},
		{"promote itself", domaintest.As("u:acme:bob"), []string{"u:acme:bob=MANAGER"}, []string{"FORBIDDEN groupId"}, nil},
		{"join", domaintest.As("u:acme:dan"), []string{"u:acme:dan=MEMBER"}, []string{"FORBIDDEN groupId"}, nil},
		{"an indirect member is no direct one", domaintest.As("u:acme:cat"), []string{"u:acme:cat="}, nil, nil},
		{"the last manager leaves", domaintest.As("u:acme:ann"), []string{"u:acme:ann="}, []string{"LAST_MANAGER members.0"}, nil},
		{"the last manager is demoted", domaintest.Admin("u:acme:root"), []string{"u:acme:bob=MEMBER", "u:acme:ann=MEMBER"},
			[]string{"LAST_MANAGER members.1"}, nil},
		{"the last manager is replaced", domaintest.As("u:acme:ann"), []string{"u:acme:ann=", "u:acme:bob=MANAGER"}, nil,
			[]string{"g:acme:crew=MEMBER", "u:acme:bob=MANAGER"}},
		{"a group is the last manager", domaintest.As("u:acme:ann"), []string{"u:acme:ann=", "g:acme:crew=MANAGER"}, nil,
			[]string{"g:acme:crew=MANAGER", "u:acme:bob=MEMBER"}},
		{"unknown and invisible ones, all reported", domaintest.As("u:acme:ann"),
			[]string{"u:acme:nobody=MEMBER", "u:acme:dan=MEMBER", "u:acme:hid=MEMBER", "u:other:far=MEMBER", "g:acme:secret=MANAGER"},
			[]string{"NOT_FOUND members.0.principalId", "NOT_FOUND members.2.principalId", "NOT_FOUND members.3.principalId",
				"NOT_FOUND members.4.principalId"}, nil},
		{"existence before rights", domaintest.As("u:acme:bob"), []string{"u:acme:nobody=MEMBER"},
			[]string{"NOT_FOUND members.0.principalId"}, nil},
		{"rights before rules", domaintest.As("u:acme:bob"), []string{"u:acme:ann="}, []string{"FORBIDDEN groupId"}, nil},
		{"shape before rights", domaintest.As("u:acme:bob"), []string{"g:acme:staff=MEMBER"}, []string{"INVALID members.0.principalId"}, nil},
		{"itself", domaintest.As("u:acme:ann"), []string{"g:ACME:staff=MEMBER"}, []string{"INVALID members.0.principalId"}, nil},
		{"one twice", domaintest.As("u:acme:ann"), []string{"u:acme:dan=MEMBER", "u:acme:cat=", "u:acme:DAN=MANAGER"},
			[]string{"INVALID members.2.principalId"}, nil},
		{"malformed ids and content", domaintest.As("u:acme:ann"), []string{"dan=MEMBER", "c:acme:x=MEMBER", "=", "u:acme:dan=MEMBER"},
			[]string{"INVALID members.0.principalId", "INVALID members.1.principalId", "INVALID members.2.principalId"}, nil},
		{"none", domaintest.As("u:acme:ann"), nil, []string{"INVALID members"}, nil},
		{"100", domaintest.As("u:acme:ann"), removals(100), nil, nil},
		{"101", domaintest.As("u:acme:ann"), removals(101), []string{"TOO_MANY members"}, nil},
		{"anonymous", domaintest.As(""), nil, []string{"UNAUTHENTICATED"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.Staff(t, nil)
			before := h.Header("g:acme:staff")
			got, err := h.Set(c.viewer, "g:acme:staff", c.changes...)
			domaintest.WantFaults(t, err, c.want...)
			want := c.members
			if want == nil {
				want = staffAtFirst
				if diff := cmp.Diff(before, h.Header("g:acme:staff")); diff != "" {
					t.Errorf("want no change, but got:\n%s", diff)
				}
			}
			if diff := cmp.Diff(want, h.Members("g:acme:staff")); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if (got == nil) != (err != nil) {
				t.Errorf("answered %v with error %v", got, err)
			}
			if got != nil && got.Seq != h.Header("g:acme:staff").Seq {
				t.Errorf("answered the group as of %d, it is stored at %d", got.Seq, h.Header("g:acme:staff").Seq)
			}
			wantIndexed(h, "g:acme:staff")
			h.WantNothingInFlight()
		})
	}
}

func removals(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("u:acme:nobody%d=", i))
	}
	return all
}

// wantIndexed compares the reverse index with the group's own partition.
func wantIndexed(h *domaintest.Fixture, group string) {
	h.T.Helper()
	var got []string
	for _, p := range []string{"g:acme:crew", "g:acme:secret", "u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan",
		"u:acme:hid", "u:other:far", "u:other:pub"} {
		for _, m := range h.Memberships(p) {
			if id, role, _ := strings.Cut(m, "="); id == group {
				got = append(got, p+"="+role)
			}
		}
	}
	if diff := cmp.Diff(h.Members(group), got); diff != "" {
		h.T.Errorf("the reverse index differs from the members (-members +index):\n%s", diff)
	}
}

// TestSetGroupMembers_HiddenMembersCanBeChangedButNotAdded checks members that the group's manager
// does not see.
func TestSetGroupMembers_HiddenMembersCanBeChangedButNotAdded(t *testing.T) {
	h := domaintest.Staff(t, nil)
	h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:staff", "u:acme:hid=MEMBER", "g:acme:secret=MEMBER", "u:other:pub=MEMBER")
	if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:other:pub"),
		principal.UpdateUser{ID: "u:other:pub", Visibility: input.Some(domaintest.Ptr(principal.Private))}); err != nil {
		t.Fatal(err)
	}
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "u:acme:hid=MANAGER", "g:acme:secret=", "u:other:pub=")
	want := []string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER", "u:acme:bob=MEMBER", "u:acme:hid=MANAGER"}
	if diff := cmp.Diff(want, h.Members("g:acme:staff")); diff != "" {
		t.Fatalf("members (-want +got):\n%s", diff)
	}
	_, err := h.Set(domaintest.As("u:acme:ann"), "g:acme:staff", "u:other:pub=MEMBER")
	domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
	wantIndexed(h, "g:acme:staff")
}

// TestSetGroupMembers_HiddenGroupsAreNotShown checks the answers about a group that the viewer does
// not see, or ceases to see by the mutation itself.
func TestSetGroupMembers_HiddenGroupsAreNotShown(t *testing.T) {
	h := domaintest.Staff(t, nil)
	h.MustSet(domaintest.As("u:acme:dan"), "g:acme:secret", "u:acme:bob=MEMBER", "g:acme:crew=MEMBER")
	_, err := h.Set(domaintest.As("u:acme:ann"), "g:acme:secret", "u:acme:ann=")
	domaintest.WantFaults(t, err, "NOT_FOUND groupId")
	_, err = h.Set(domaintest.As("u:acme:ann"), "g:acme:nothing", "u:acme:ann=")
	domaintest.WantFaults(t, err, "NOT_FOUND groupId")
	// cat is in crew, which is in secret.
	_, err = h.Set(domaintest.As("u:acme:cat"), "g:acme:secret", "u:acme:ann=MEMBER")
	domaintest.WantFaults(t, err, "FORBIDDEN groupId")
	got, err := h.Set(domaintest.As("u:acme:bob"), "g:acme:secret", "u:acme:bob=")
	domaintest.WantFaults(t, err)
	if got != nil {
		t.Errorf("a former member is still shown %+v", got)
	}
	got, err = h.Set(domaintest.As("u:acme:dan"), "g:acme:secret", "u:acme:cat=MANAGER", "u:acme:dan=")
	domaintest.WantFaults(t, err)
	if got != nil {
		t.Errorf("a manager who has left is still shown %+v", got)
	}
	got, err = h.Set(domaintest.Admin("u:acme:root"), "g:acme:secret", "u:acme:bob=MEMBER")
	domaintest.WantFaults(t, err)
	if got == nil {
		t.Error("an administrator is shown nothing")
	}
}

func TestSetGroupMembers_CyclesGiveRolesThroughGroups(t *testing.T) {
	h := domaintest.Staff(t, nil)
	// staff contains crew; now crew contains staff, as a manager.
	h.MustSet(domaintest.As("u:acme:cat"), "g:acme:crew", "g:acme:staff=MANAGER")
	// bob is in staff, and so manages crew, and so crew's membership in staff.
	h.MustSet(domaintest.As("u:acme:bob"), "g:acme:crew", "u:acme:dan=MEMBER")
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "g:acme:crew=MANAGER")
	h.MustSet(domaintest.As("u:acme:dan"), "g:acme:staff", "u:other:pub=MEMBER")
	if diff := cmp.Diff([]string{"g:acme:staff=MANAGER", "u:acme:cat=MANAGER", "u:acme:dan=MEMBER"}, h.Members("g:acme:crew")); diff != "" {
		t.Errorf("members of crew (-want +got):\n%s", diff)
	}
	// Once crew is out of staff, dan has no role there.
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "g:acme:crew=")
	_, err := h.Set(domaintest.As("u:acme:dan"), "g:acme:staff", "u:other:pub=")
	domaintest.WantFaults(t, err, "FORBIDDEN groupId")
}

// TestSetGroupMembers_RemovedMemberCanBeAddedAgain checks that a leaving row does not prevent a new
// membership.
func TestSetGroupMembers_RemovedMemberCanBeAddedAgain(t *testing.T) {
	h := domaintest.Staff(t, nil)
	for range 3 {
		h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "u:acme:bob=")
		h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "u:acme:bob=MEMBER")
	}
	if diff := cmp.Diff(staffAtFirst, h.Members("g:acme:staff")); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	wantIndexed(h, "g:acme:staff")
}
