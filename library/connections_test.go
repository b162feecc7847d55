package library_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// lister reads a page of one of the lists of principals.
type lister func(v *principal.Viewer, args cursor.PageArgs) (rows []string, cursors []string, info cursor.PageInfo, err error)

func (r *room) members(id library.ContentID) lister {
	return func(v *principal.Viewer, args cursor.PageArgs) (rows, cursors []string, info cursor.PageInfo, err error) {
		c, err := r.svc.Members(r.t.Context(), v, id, args)
		if err != nil {
			return nil, nil, info, err
		}
		for _, e := range c.Edges {
			rows, cursors = append(rows, e.Node.PrincipalID().Name()+" "+e.Role.String()), append(cursors, e.Cursor())
		}
		return rows, cursors, c.PageInfo, nil
	}
}

func (r *room) groupMembers(id principal.ID) lister {
	return func(v *principal.Viewer, args cursor.PageArgs) (rows, cursors []string, info cursor.PageInfo, err error) {
		c, err := r.svc.GroupMembers(r.t.Context(), v, id, args)
		if err != nil {
			return nil, nil, info, err
		}
		for _, e := range c.Edges {
			rows, cursors = append(rows, e.Node.PrincipalID().Name()+" "+e.Role.String()), append(cursors, e.Cursor())
		}
		return rows, cursors, c.PageInfo, nil
	}
}

func (r *room) groups(id principal.ID) lister {
	return func(v *principal.Viewer, args cursor.PageArgs) (rows, cursors []string, info cursor.PageInfo, err error) {
		c, err := r.svc.Groups(r.t.Context(), v, id, args)
		if err != nil {
			return nil, nil, info, err
		}
		for _, e := range c.Edges {
			rows, cursors = append(rows, e.Node.ID.Name()+" "+e.Role.String()), append(cursors, e.Cursor())
		}
		return rows, cursors, c.PageInfo, nil
	}
}

// wantStrandedNowhere checks that a client can go on from the end of a list: the
// empty page behind it has cursors of the same place.
func (r *room) wantStrandedNowhere(list lister, v *principal.Viewer, end *string) {
	r.t.Helper()
	if end == nil {
		return // an empty list, read without a cursor
	}
	rows, _, info, err := list(v, firstAfter(3, end))
	r.must(err)
	if len(rows) != 0 || info.StartCursor() == nil || info.EndCursor() == nil || *info.EndCursor() != *end || *info.StartCursor() != *end {
		r.t.Errorf("behind the end there are %v, from %v to %v", rows, info.StartCursor(), info.EndCursor())
	}
}

// walkList pages through a list and checks what every page must keep.
func (r *room) walkList(list lister, v *principal.Viewer, size int) []string {
	r.t.Helper()
	var all []string
	var cursor *string
	for range 1000 {
		rows, cursors, info, err := list(v, firstAfter(size, cursor))
		r.must(err)
		if info.HasPreviousPage != (len(all) > 0) {
			r.t.Errorf("hasPreviousPage is %v after %d rows", info.HasPreviousPage, len(all))
		}
		all = append(all, rows...)
		end := info.EndCursor()
		if len(rows) > 0 && (*end != cursors[len(cursors)-1] || *info.StartCursor() != cursors[0]) {
			r.t.Error("the page's cursors are not those of its edges")
		}
		if !info.HasNextPage {
			r.wantStrandedNowhere(list, v, end)
			return all
		}
		if len(rows) != size {
			r.t.Errorf("a page of %d has %d rows and says that there are more", size, len(rows))
		}
		cursor = end
	}
	r.t.Fatal("the walk does not end")
	return nil
}

// listRoom has an item, a group and a user whose lists hold 12 principals, of
// which every third is PRIVATE, and one that is leaving.
func listRoom(t *testing.T) *room {
	r := newRoom(t)
	r.principals("u:acme:ann", "g:acme:team", "u:acme:left")
	r.join("g:acme:team", true, in("u:acme:ann", principal.GroupManager))
	members := []library.Member{has("u:acme:ann", library.Manages), {Principal: "u:acme:left", Role: library.Viewing, Leaving: true}}
	for i := range 12 {
		vis := principal.Public
		if i%3 == 0 {
			vis = principal.Private
		}
		user := principal.ID(fmt.Sprintf("u:acme:m%02d", i))
		group := principal.ID(fmt.Sprintf("g:acme:m%02d", i))
		r.principal(user, vis)
		r.principal(group, vis)
		members = append(members, has(user, library.Viewing))
		r.join("g:acme:team", true, in(user, principal.GroupMember))
		r.join(group, true, in("u:acme:ann", principal.GroupMember))
	}
	left := in("u:acme:left", principal.GroupMember)
	left.Leaving = true
	r.join("g:acme:team", true, left)
	// The index still tells of a group that ann has left.
	r.principals("g:acme:former")
	r.join("g:acme:former", true, in("u:acme:ann", principal.GroupMember))
	out := in("u:acme:ann", principal.GroupMember)
	out.Leaving = true
	r.join("g:acme:former", false, out)
	r.item("c:acme:item", 1, principal.Public, members...)
	return r
}

func TestLists(t *testing.T) {
	r := listRoom(t)
	var public, all []string
	for i := range 12 {
		name := fmt.Sprintf("m%02d", i)
		all = append(all, name)
		if i%3 != 0 {
			public = append(public, name)
		}
	}
	with := func(names []string, role string, before, after []string) []string {
		list := append([]string{}, before...)
		for _, n := range names {
			list = append(list, n+" "+role)
		}
		return append(list, after...)
	}
	for _, c := range []struct {
		name   string
		list   lister
		viewer func() *principal.Viewer
		want   []string
	}{
		{"members, anonymous", r.members("c:acme:item"), anonymous, with(public, "VIEWER", []string{"ann MANAGER"}, nil)},
		{"members, administrator", r.members("c:acme:item"), root, with(all, "VIEWER", []string{"ann MANAGER"}, nil)},
		{"group members, anonymous", r.groupMembers("g:acme:team"), anonymous, with(public, "MEMBER", []string{"ann MANAGER"}, nil)},
		{"group members, administrator", r.groupMembers("g:acme:team"), root, with(all, "MEMBER", []string{"ann MANAGER"}, nil)},
		{"groups, anonymous", r.groups("u:acme:ann"), anonymous, with(public, "MEMBER", nil, []string{"team MANAGER"})},
		{"groups, itself", r.groups("u:acme:ann"), ann, with(all, "MEMBER", nil, []string{"team MANAGER"})},
	} {
		for _, size := range []int{1, 3, 20} {
			t.Run(fmt.Sprintf("%s, pages of %d", c.name, size), func(t *testing.T) {
				r.t = t
				if diff := cmp.Diff(c.want, r.walkList(c.list, c.viewer(), size)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestListArguments(t *testing.T) {
	r := listRoom(t)
	r.principal("u:acme:shy", principal.Private)
	r.principal("g:acme:shy", principal.Private)
	r.item("c:acme:shy", 1, principal.Private, has("u:acme:shy", library.Manages))
	lists := map[string]func(id string) lister{
		"members":       func(id string) lister { return r.members(library.ContentID("c:" + id)) },
		"group members": func(id string) lister { return r.groupMembers(principal.ID("g:" + id)) },
		"groups":        func(id string) lister { return r.groups(principal.ID("u:" + id)) },
	}
	things := map[string]string{"members": "acme:item", "group members": "acme:team", "groups": "acme:ann"}
	n := func(n int) *int { return &n }
	for kind, list := range lists {
		for _, c := range []struct {
			name   string
			id     string
			args   cursor.PageArgs
			code   fault.Code
			reason fault.Reason
		}{
			{"invisible", "acme:shy", cursor.PageArgs{}, fault.NotFound, ""},
			{"absent", "acme:none", cursor.PageArgs{}, fault.NotFound, ""},
			{"too many", things[kind], first(101), fault.Invalid, fault.ReasonBadInput},
			{"negative", things[kind], first(-1), fault.Invalid, fault.ReasonBadInput},
			{"backwards", things[kind], cursor.PageArgs{Last: n(1)}, fault.Invalid, fault.ReasonBadInput},
			{"empty cursor", things[kind], firstAfter(1, ptrTo("")), fault.Invalid, fault.ReasonBadCursor},
			{"no cursor", things[kind], firstAfter(1, ptrTo("abc")), fault.Invalid, fault.ReasonBadCursor},
		} {
			t.Run(kind+", "+c.name, func(t *testing.T) {
				r.t = t
				_, _, _, err := list(c.id)(anonymous(), c.args)
				wantReason(t, err, c.code, c.reason)
			})
		}
		t.Run(kind+", none asked for", func(t *testing.T) {
			r.t = t
			rows, _, info, err := list(things[kind])(anonymous(), first(0))
			if err != nil || len(rows) > 0 || !info.HasNextPage || info.EndCursor() != nil {
				t.Errorf("%v, %+v, %v", rows, info, err)
			}
		})
	}
	t.Run("a user has no members, a group no groups", func(t *testing.T) {
		_, err := r.svc.GroupMembers(t.Context(), ann(), "u:acme:ann", cursor.PageArgs{})
		wantReason(t, err, fault.NotFound, "")
		_, err = r.svc.Groups(t.Context(), ann(), "g:acme:team", cursor.PageArgs{})
		wantReason(t, err, fault.NotFound, "")
	})
}

// TestListBudget: very many principals that may not be seen end a page, and
// the next one goes on from there.
func TestListBudget(t *testing.T) {
	const budget = 1000
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:zoe")
	var members []library.Member
	for i := range budget {
		p := principal.ID(fmt.Sprintf("u:acme:h%04d", i))
		r.principal(p, principal.Private)
		members = append(members, has(p, library.Viewing))
	}
	store := func(id library.ContentID, members ...library.Member) {
		r.change(id, func(h *library.Header) { h.Position, h.Visibility = 1, principal.Public }, members...)
	}
	store("c:acme:hidden", members...)
	store("c:acme:one-more", append(members, has("u:acme:zoe", library.Viewing))...)

	rows, _, info, err := r.members("c:acme:hidden")(anonymous(), first(5))
	if err != nil || len(rows) > 0 || info.HasNextPage || info.EndCursor() != nil {
		t.Errorf("%v, %+v, %v", rows, info, err)
	}
	rows, _, info, err = r.members("c:acme:one-more")(anonymous(), first(5))
	if err != nil || len(rows) > 0 || !info.HasNextPage || info.EndCursor() == nil {
		t.Fatalf("%v, %+v, %v", rows, info, err)
	}
	rows, _, info, err = r.members("c:acme:one-more")(anonymous(), firstAfter(5, info.EndCursor()))
	if diff := cmp.Diff([]string{"zoe VIEWER"}, rows); diff != "" || err != nil || info.HasNextPage {
		t.Errorf("%s, %+v, %v", diff, info, err)
	}
}
