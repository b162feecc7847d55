package library_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// nodesTold is what a node is, as short text.
func nodesTold(nodes []library.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		switch n := n.(type) {
		case *principal.User:
			list[i] = "user " + n.ID.Name()
		case *principal.Group:
			list[i] = "group " + n.ID.Name()
		case *library.Content:
			list[i] = "content " + n.ID.Name()
		case nil:
			list[i] = "-"
		default:
			list[i] = fmt.Sprintf("%T", n)
		}
	}
	return list
}

func TestNodes(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "g:acme:ann")
	r.principal("u:acme:shy", principal.Private)
	r.item("c:acme:Item", 1, principal.Public, has("u:acme:ann", library.Viewing))
	r.item("c:acme:secret", 2, principal.Private, has("u:acme:ann", library.Viewing))
	ids := []string{"c:acme:Item", "u:acme:ann", "nonsense", "G:ACME:Ann", "u:acme:shy", "c:acme:secret", "c:acme:item", "c:acme:", "u:acme:none", "U:Acme:Ann"}
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		want   []string
	}{
		{"anonymous", anonymous(), []string{"content Item", "user ann", "-", "group ann", "-", "-", "-", "-", "-", "user ann"}},
		{"ann", ann(), []string{"content Item", "user ann", "-", "group ann", "-", "content secret", "-", "-", "-", "user ann"}},
		{"shy", &principal.Viewer{User: "u:acme:shy"}, []string{"content Item", "user ann", "-", "group ann", "user shy", "-", "-", "-", "-", "user ann"}},
		{"administrator", root(), []string{"content Item", "user ann", "-", "group ann", "user shy", "content secret", "-", "-", "-", "user ann"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.svc.Nodes(t.Context(), c.viewer, ids)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, nodesTold(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := make([]string, input.MaxList+1)
	for i := range many {
		many[i] = "u:acme:ann"
	}
	if got, err := r.svc.Nodes(t.Context(), ann(), many[1:]); err != nil || len(got) != input.MaxList || got[99] == nil {
		t.Errorf("100 ids: %d nodes, %v", len(got), err)
	}
	_, err := r.svc.Nodes(t.Context(), ann(), many)
	wantReason(t, err, fault.Invalid, fault.ReasonBadInput)
	if got, err := r.svc.Nodes(t.Context(), ann(), nil); err != nil || len(got) != 0 {
		t.Errorf("no ids: %v, %v", got, err)
	}
}

// TestManyLookups: a loader may ask for more than one list of a store takes.
func TestManyLookups(t *testing.T) {
	r := newRoom(t)
	var principals []principal.ID
	var contents []library.ContentID
	for i := range 230 {
		principals = append(principals, principal.ID(fmt.Sprintf("u:acme:u%03d", i)))
		contents = append(contents, library.ContentID(fmt.Sprintf("c:acme:c%03d", i)))
		r.principals(principals[i])
		r.item(contents[i], clock.Instant(i+1), principal.Public, has(principals[i], library.Viewing))
	}
	ps, err := r.svc.Principals(t.Context(), anonymous(), principals)
	r.must(err)
	cs, err := r.svc.Contents(t.Context(), anonymous(), contents)
	r.must(err)
	ss, err := r.svc.Standings(t.Context(), &principal.Viewer{User: principals[229]}, contents)
	r.must(err)
	for i := range principals {
		if ps[i].PrincipalID() != principals[i] || cs[i].ID != contents[i] {
			t.Fatalf("place %d holds %s and %s", i, ps[i].PrincipalID(), cs[i].ID)
		}
		if want := i == 229; (ss[i].Role == library.Viewing) != want {
			t.Errorf("standing %d: %+v", i, ss[i])
		}
	}
}

func TestWhoSeesAPrincipal(t *testing.T) {
	r := newRoom(t)
	r.principals("u:other:sam", "g:acme:inner")
	for _, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
		r.principal(principal.UserID("acme", vis.String()), vis)
		r.principal(principal.GroupID("acme", vis.String()), vis)
		r.join(principal.GroupID("acme", vis.String()), true, in("g:acme:inner", principal.GroupMember))
	}
	r.join("g:acme:inner", true, in("u:other:sam", principal.GroupMember))
	const yes, no = true, false
	for _, c := range []struct {
		name          string
		viewer        *principal.Viewer
		users, groups [3]bool // PUBLIC, LOGGEDIN, PRIVATE
	}{
		{"anonymous", anonymous(), [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"same tenant", bob(), [3]bool{yes, yes, no}, [3]bool{yes, yes, no}},
		{"other tenant", eve(), [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"indirect member from another tenant", &principal.Viewer{User: "u:other:sam"}, [3]bool{yes, no, no}, [3]bool{yes, yes, yes}},
		{"itself", &principal.Viewer{User: "u:acme:private"}, [3]bool{yes, yes, yes}, [3]bool{yes, yes, no}},
		{"administrator", root(), [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
		{"administrator of another tenant", otherRoot(), [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"global administrator", globe(), [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
				ids := []principal.ID{principal.UserID("acme", vis.String()), principal.GroupID("acme", vis.String())}
				ps, err := r.svc.Principals(t.Context(), c.viewer, ids)
				if err != nil {
					t.Fatal(err)
				}
				if (ps[0] != nil) != c.users[i] || (ps[1] != nil) != c.groups[i] {
					t.Errorf("%s: user %v, group %v; want seen: %v, %v", vis, ps[0], ps[1], c.users[i], c.groups[i])
				}
			}
		})
	}
}

func TestViewerAndEmail(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:bob")
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		stored bool
		email  bool // of ann
	}{
		{"ann", ann(), true, true},
		{"another user", bob(), true, false},
		{"anonymous", anonymous(), false, false},
		{"a token without a user", &principal.Viewer{User: "u:acme:ghost"}, false, false},
		{"administrator", root(), false, true},
		{"administrator of another tenant", otherRoot(), false, false},
		{"global administrator", globe(), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := r.svc.ViewerUser(t.Context(), c.viewer)
			if err != nil || (u != nil) != c.stored || u != nil && u.ID != c.viewer.User {
				t.Errorf("the viewer is %v, %v", u, err)
			}
			ps, err := r.svc.Principals(t.Context(), c.viewer, []principal.ID{"u:acme:ann"})
			if err != nil {
				t.Fatal(err)
			}
			email := r.svc.Email(c.viewer, ps[0].(*principal.User))
			if (email != nil) != c.email || email != nil && *email != "ann@example.org" {
				t.Errorf("the address is %v", email)
			}
		})
	}
}
