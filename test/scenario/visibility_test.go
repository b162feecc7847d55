package scenario

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// viewer is a kind of viewer, with what decides what it may see.
type viewer struct {
	name   string
	token  string
	id     string   // empty if anonymous
	tenant string   // of its token
	admin  bool     // of its own tenant
	global bool     // of all tenants
	groups []string // that contain it, at any depth
}

// owner is a principal of tenant acme with a library.
type owner struct{ id, visibility string }

// item is one of the six kinds of items that every library here contains.
type item struct{ title, tenant, visibility string }

// holds reports whether the viewer has a role on the owner's items.
func (v *viewer) holds(o owner) bool { return v.id == o.id || slices.Contains(v.groups, o.id) }

// sees reports whether a viewer may see a principal of acme. It follows
// docs/visibility.md and uses none of the product's code.
func (v *viewer) sees(o owner) bool {
	switch {
	case o.visibility == "PUBLIC", v.global, v.admin && v.tenant == "acme", v.holds(o):
		return true
	case o.visibility == "LOGGEDIN":
		return v.tenant == "acme"
	}
	return false
}

// bucket returns the bucket that a viewer reads.
func (v *viewer) bucket(o owner) string {
	switch {
	case v.global, v.admin && v.tenant == "acme", v.holds(o):
		return "PRIVATE"
	case v.tenant == "acme":
		return "LOGGEDIN"
	}
	return "PUBLIC"
}

// shows reports whether an item is in the bucket and the viewer may see it. All owners
// have all items, so a viewer that is or belongs to any of them has a role on each.
func (v *viewer) shows(i item, bucket string, hasRole bool) bool {
	inBucket := bucket == "PRIVATE" || i.visibility == "PUBLIC" || bucket == "LOGGEDIN" && i.visibility == "LOGGEDIN" && i.tenant == "acme"
	may := i.visibility == "PUBLIC" || i.visibility == "LOGGEDIN" && v.tenant == i.tenant && v.id != "" ||
		v.global || v.admin && v.tenant == i.tenant || hasRole
	return inBucket && may
}

var visibilities = []string{"PUBLIC", "LOGGEDIN", "PRIVATE"}

// TestVisibility_ViewersSeeWhatTheRulesAllow checks the whole table: viewers x kinds and
// visibilities of owners x visibilities and tenants of items, by bucket.
func TestVisibility_ViewersSeeWhatTheRulesAllow(t *testing.T) {
	g := serve(t)
	owners, viewers := population(g)
	items := seed(g, owners)
	for _, v := range viewers {
		t.Run(v.name, func(t *testing.T) {
			hasRole := slices.ContainsFunc(owners, v.holds)
			for _, o := range owners {
				for _, shared := range []bool{false, true} {
					a := g.ask(v.token, pageItems, vars{"id": o.id, "first": 100, "shared": shared})
					got := pageOf(a)
					if !v.sees(o) {
						if got != nil || a.Status != 200 || len(a.Errors) > 0 {
							t.Errorf("%s must look as if it did not exist: %+v %+v", o.id, got, a.Errors)
						}
						continue
					}
					if got == nil {
						t.Errorf("%s is not shown: %+v", o.id, a.Errors)
						continue
					}
					bucket := v.bucket(o)
					var want []string
					for _, i := range items {
						through := shared && hasRole && v.shows(i, "PRIVATE", true)
						if v.shows(i, bucket, hasRole) || through {
							want = append(want, i.title)
						}
					}
					if got.Bucket != bucket {
						t.Errorf("%s: bucket %s, want %s", o.id, got.Bucket, bucket)
					}
					if diff := cmp.Diff(want, got.Titles); diff != "" {
						t.Errorf("%s, includeShared %v (-want +got):\n%s", o.id, shared, diff)
					}
				}
			}
		})
	}
	g.audit()
}

// population creates the owners, all of acme, and all viewers.
func population(g *gateway) ([]owner, []*viewer) {
	g.t.Helper()
	maker := g.user("acme", "maker", "PUBLIC")
	g.user("beta", "maker", "PUBLIC")
	viewers := []*viewer{
		{name: "anonymous"},
		{name: "of the tenant", token: g.user("acme", "reader", "PUBLIC"), id: "u:acme:reader", tenant: "acme"},
		{name: "of another tenant", token: g.user("beta", "reader", "PUBLIC"), id: "u:beta:reader", tenant: "beta"},
		{name: "a token without a user", token: g.token("u:acme:nobody"), id: "u:acme:nobody", tenant: "acme"},
		{name: "administrator of the tenant", token: g.token("u:acme:boss", "admin"), id: "u:acme:boss", tenant: "acme", admin: true},
		{name: "administrator of another tenant", token: g.token("u:beta:boss", "admin"), id: "u:beta:boss", tenant: "beta", admin: true},
		{name: "global administrator", token: g.token("u:beta:root", "global-admin"), id: "u:beta:root", tenant: "beta", global: true},
	}
	var owners []owner
	for _, visibility := range visibilities {
		name := "own-" + visibility
		token := g.user("acme", name, visibility)
		id := fmt.Sprintf("u:acme:%s", lower(name))
		owners = append(owners, owner{id, visibility})
		viewers = append(viewers, &viewer{name: "the " + visibility + " user itself", token: token, id: id, tenant: "acme"})

		group := owner{"g:acme:" + lower(visibility), visibility}
		owners = append(owners, group)
		g.must(maker, createGrp, vars{"in": vars{"tenant": "acme", "name": lower(visibility), "displayName": "g", "visibility": visibility}})
		g.must(maker, createGrp, vars{"in": vars{"tenant": "acme", "name": "nested-" + lower(visibility), "displayName": "g"}})
		nested := "g:acme:nested-" + lower(visibility)
		near := g.user("acme", "near-"+lower(visibility), "PUBLIC")
		far := g.user("beta", "far-"+lower(visibility), "PUBLIC")
		g.must(maker, setMembers, vars{"in": vars{"groupId": group.id, "members": []vars{
			{"principalId": "u:acme:near-" + lower(visibility), "role": "MEMBER"}, {"principalId": nested, "role": "MEMBER"}}}})
		g.must(maker, setMembers, vars{"in": vars{"groupId": nested, "members": []vars{
			{"principalId": "u:beta:far-" + lower(visibility), "role": "MEMBER"}, {"principalId": group.id, "role": "MEMBER"}}}})
		viewers = append(viewers,
			&viewer{name: "a member of the " + visibility + " group", token: near, id: "u:acme:near-" + lower(visibility),
				tenant: "acme", groups: []string{group.id}},
			&viewer{name: "a user of another tenant, in the " + visibility + " group through a nested group", token: far,
				id: "u:beta:far-" + lower(visibility), tenant: "beta", groups: []string{group.id}},
		)
	}
	return owners, viewers
}

// seed creates the six kinds of items and gives all of them to all owners, in the
// order of their libraries.
func seed(g *gateway, owners []owner) []item {
	g.t.Helper()
	var items []item
	root := g.token("u:acme:maker", "global-admin")
	for _, tenant := range []string{"acme", "beta"} {
		for _, visibility := range visibilities {
			i := item{title: tenant + " " + visibility, tenant: tenant, visibility: visibility}
			var members []vars
			for _, o := range owners {
				members = append(members, vars{"principalId": o.id, "role": "VIEWER"})
			}
			g.must(root, createItem, vars{"in": vars{"tenant": tenant, "name": lower(visibility), "kind": "NOTE", "title": i.title,
				"visibility": visibility, "members": members}})
			items = append(items, i)
		}
	}
	return items
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
