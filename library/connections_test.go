package library_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// lister reads a page of one of the lists of principals.
type lister func(v *principal.Viewer, args cursor.PageArgs) (rows []string, cursors []string, info cursor.PageInfo, err error)

func listMembers(r *domaintest.Rows, id library.ContentID) lister {
	return func(v *principal.Viewer, args cursor.PageArgs) (rows, cursors []string, info cursor.PageInfo, err error) {
		c, err := r.Library.Members(r.T.Context(), v, id, args)
		if err != nil {
			return nil, nil, info, err
		}
		for _, e := range c.Edges {
			rows, cursors = append(rows, e.Node.PrincipalID().Name()+" "+e.Role.String()), append(cursors, e.Cursor())
		}
		return rows, cursors, c.PageInfo, nil
	}
}

func listGroupMembers(r *domaintest.Rows, id principal.ID) lister {
	return func(v *principal.Viewer, args cursor.PageArgs) (rows, cursors []string, info cursor.PageInfo, err error) {
		c, err := r.People.GroupMembers(r.T.Context(), v, id, args)
		if err != nil {
			return nil, nil, info, err
		}
		for _, e := range c.Edges {
			rows, cursors = append(rows, e.Node.PrincipalID().Name()+" "+e.Role.String()), append(cursors, e.Cursor())
		}
		return rows, cursors, c.PageInfo, nil
	}
}

func listGroups(r *domaintest.Rows, id principal.ID) lister {
	return func(v *principal.Viewer, args cursor.PageArgs) (rows, cursors []string, info cursor.PageInfo, err error) {
		c, err := r.People.Groups(r.T.Context(), v, id, args)
		if err != nil {
			return nil, nil, info, err
		}
		for _, e := range c.Edges {
			rows, cursors = append(rows, e.Node.ID.Name()+" "+e.Role.String()), append(cursors, e.Cursor())
		}
		return rows, cursors, c.PageInfo, nil
	}
}

// wantEmptyPageAfter checks that a client can continue from the end of a list: the empty page after
// it has cursors of the same position.
func wantEmptyPageAfter(r *domaintest.Rows, list lister, v *principal.Viewer, end *string) {
	r.T.Helper()
	if end == nil {
		return // an empty list, read without a cursor
	}
	rows, _, info, err := list(v, domaintest.FirstAfter(3, end))
	r.Must(err)
	if len(rows) != 0 || info.StartCursor() == nil || info.EndCursor() == nil || *info.EndCursor() != *end || *info.StartCursor() != *end {
		r.T.Errorf("after the end there are %v, from %v to %v", rows, info.StartCursor(), info.EndCursor())
	}
}

// walkList pages through a list and checks what must be true of every page.
func walkList(r *domaintest.Rows, list lister, v *principal.Viewer, size int) []string {
	r.T.Helper()
	var all []string
	var cursor *string
	for range 1000 {
		rows, cursors, info, err := list(v, domaintest.FirstAfter(size, cursor))
		r.Must(err)
		if info.HasPreviousPage != (len(all) > 0) {
			r.T.Errorf("hasPreviousPage is %v after %d rows", info.HasPreviousPage, len(all))
		}
		all = append(all, rows...)
		end := info.EndCursor()
		if len(rows) > 0 && (*end != cursors[len(cursors)-1] || *info.StartCursor() != cursors[0]) {
			r.T.Error("the page's cursors are not those of its edges")
		}
		if !info.HasNextPage {
			wantEmptyPageAfter(r, list, v, end)
			return all
		}
		if len(rows) != size {
			r.T.Errorf("a page of %d has %d rows and says that there are more", size, len(rows))
		}
		cursor = end
	}
	r.T.Fatal("the walk does not end")
	return nil
}

// listFixture has an item, a group and a user whose lists have 12 principals, of which every
// third is PRIVATE, and one that is leaving.
func listFixture(t *testing.T) *domaintest.Rows {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:team", "u:acme:left")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:ann", principal.GroupManager))
	members := []library.Member{domaintest.ContentMember("u:acme:ann", library.Manages),
		{Principal: "u:acme:left", Role: library.Viewing, Leaving: true}}
	for i := range 12 {
		vis := principal.Public
		if i%3 == 0 {
			vis = principal.Private
		}
		user := principal.ID(fmt.Sprintf("u:acme:m%02d", i))
		group := principal.ID(fmt.Sprintf("g:acme:m%02d", i))
		r.Principal(user, vis)
		r.Principal(group, vis)
		members = append(members, domaintest.ContentMember(user, library.Viewing))
		r.Join("g:acme:team", true, domaintest.GroupMember(user, principal.GroupMember))
		r.Join(group, true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	}
	left := domaintest.GroupMember("u:acme:left", principal.GroupMember)
	left.Leaving = true
	r.Join("g:acme:team", true, left)
	// The index still lists a group that ann has left.
	r.Principals("g:acme:former")
	r.Join("g:acme:former", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	out := domaintest.GroupMember("u:acme:ann", principal.GroupMember)
	out.Leaving = true
	r.Join("g:acme:former", false, out)
	r.Item("c:acme:item", 1, principal.Public, members...)
	return r
}

func TestConnections_ListWhomTheViewerMaySee(t *testing.T) {
	r := listFixture(t)
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
		{"members, anonymous", listMembers(r, "c:acme:item"), domaintest.Anonymous, with(public, "VIEWER", []string{"ann MANAGER"}, nil)},
		{"members, administrator", listMembers(r, "c:acme:item"), domaintest.Root, with(all, "VIEWER", []string{"ann MANAGER"}, nil)},
		{"group members, anonymous", listGroupMembers(r, "g:acme:team"), domaintest.Anonymous,
			with(public, "MEMBER", []string{"ann MANAGER"}, nil)},
		{"group members, a member", listGroupMembers(r, "g:acme:team"), func() *principal.Viewer { return domaintest.As("u:acme:m01") },
			with(public, "MEMBER", []string{"ann MANAGER"}, nil)},
		{"group members, manager", listGroupMembers(r, "g:acme:team"), domaintest.Ann, with(all, "MEMBER", []string{"ann MANAGER"}, nil)},
		{"group members, administrator", listGroupMembers(r, "g:acme:team"), domaintest.Root, with(all, "MEMBER", []string{"ann MANAGER"}, nil)},
		{"groups, anonymous", listGroups(r, "u:acme:ann"), domaintest.Anonymous, with(public, "MEMBER", nil, []string{"team MANAGER"})},
		{"groups, itself", listGroups(r, "u:acme:ann"), domaintest.Ann, with(all, "MEMBER", nil, []string{"team MANAGER"})},
	} {
		for _, size := range []int{1, 3, 20} {
			t.Run(fmt.Sprintf("%s, pages of %d", c.name, size), func(t *testing.T) {
				r.T = t
				if diff := cmp.Diff(c.want, walkList(r, c.list, c.viewer(), size)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestConnections_WrongArgumentsAreRefused(t *testing.T) {
	r := listFixture(t)
	r.Principal("u:acme:shy", principal.Private)
	r.Principal("g:acme:shy", principal.Private)
	r.Item("c:acme:shy", 1, principal.Private, domaintest.ContentMember("u:acme:shy", library.Manages),
		domaintest.ContentMember("u:acme:ann", library.Viewing))
	lists := map[string]func(id string) lister{
		"members":       func(id string) lister { return listMembers(r, library.ContentID("c:"+id)) },
		"group members": func(id string) lister { return listGroupMembers(r, principal.ID("g:"+id)) },
		"groups":        func(id string) lister { return listGroups(r, principal.ID("u:"+id)) },
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
			{"too many", things[kind], domaintest.First(101), fault.Invalid, fault.ReasonBadInput},
			{"negative", things[kind], domaintest.First(-1), fault.Invalid, fault.ReasonBadInput},
			{"backwards", things[kind], cursor.PageArgs{Last: n(1)}, fault.Invalid, fault.ReasonBadInput},
			{"empty cursor", things[kind], domaintest.FirstAfter(1, domaintest.Ptr("")), fault.Invalid, fault.ReasonBadCursor},
			{"not a cursor", things[kind], domaintest.FirstAfter(1, domaintest.Ptr("abc")), fault.Invalid, fault.ReasonBadCursor},
		} {
			t.Run(kind+", "+c.name, func(t *testing.T) {
				r.T = t
				_, _, _, err := list(c.id)(domaintest.Anonymous(), c.args)
				domaintest.WantReason(t, err, c.code, c.reason)
			})
		}
		for _, unseen := range []string{"acme:shy", "acme:none"} {
			t.Run(kind+" of "+unseen, func(t *testing.T) {
				r.T = t
				rows, _, info, err := list(unseen)(domaintest.Anonymous(), cursor.PageArgs{})
				if kind != "members" {
					domaintest.WantReason(t, err, fault.NotFound, "")
				} else if err != nil || len(rows) > 0 || info.HasNextPage || info.EndCursor() != nil {
					t.Errorf("%v, %+v, %v", rows, info, err)
				}
			})
		}
		t.Run(kind+", none requested", func(t *testing.T) {
			r.T = t
			rows, _, info, err := list(things[kind])(domaintest.Anonymous(), domaintest.First(0))
			if err != nil || len(rows) > 0 || !info.HasNextPage || info.EndCursor() != nil {
				t.Errorf("%v, %+v, %v", rows, info, err)
			}
		})
	}
	t.Run("a user has no members, a group no groups", func(t *testing.T) {
		_, err := r.People.GroupMembers(t.Context(), domaintest.Ann(), "u:acme:ann", cursor.PageArgs{})
		domaintest.WantReason(t, err, fault.NotFound, "")
		_, err = r.People.Groups(t.Context(), domaintest.Ann(), "g:acme:team", cursor.PageArgs{})
		domaintest.WantReason(t, err, fault.NotFound, "")
	})
}

// TestConnections_ManyHiddenPrincipalsEndThePage: very many principals that may not be seen end a
// page, and the next one continues from there.
func TestConnections_ManyHiddenPrincipalsEndThePage(t *testing.T) {
	const budget = 250
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:zoe")
	var members []library.Member
	for i := range budget {
		p := principal.ID(fmt.Sprintf("u:acme:h%04d", i))
		r.Principal(p, principal.Private)
		members = append(members, domaintest.ContentMember(p, library.Viewing))
	}
	store := func(id library.ContentID, members ...library.Member) {
		r.Change(id, func(h *library.Header) { h.Position, h.Visibility = 1, principal.Public }, members...)
	}
	store("c:acme:hidden", members...)
	store("c:acme:one-more", append(members, domaintest.ContentMember("u:acme:zoe", library.Viewing))...)

	rows, _, info, err := listMembers(r, "c:acme:hidden")(domaintest.Anonymous(), domaintest.First(5))
	if err != nil || len(rows) > 0 || info.HasNextPage || info.EndCursor() != nil {
		t.Errorf("%v, %+v, %v", rows, info, err)
	}
	rows, _, info, err = listMembers(r, "c:acme:one-more")(domaintest.Anonymous(), domaintest.First(5))
	if err != nil || len(rows) > 0 || !info.HasNextPage || info.EndCursor() == nil {
		t.Fatalf("%v, %+v, %v", rows, info, err)
	}
	rows, _, info, err = listMembers(r, "c:acme:one-more")(domaintest.Anonymous(), domaintest.FirstAfter(5, info.EndCursor()))
	if diff := cmp.Diff([]string{"zoe VIEWER"}, rows); diff != "" || err != nil || info.HasNextPage {
		t.Errorf("%s, %+v, %v", diff, info, err)
	}
}
