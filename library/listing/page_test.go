package listing_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// mixedLibraries stores libraries of ann and of the group staff, which ann is
// in through the group team, and sam, of another tenant, directly. Each holds
// items of both tenants and all visibilities.
func mixedLibraries(t *testing.T) *domaintest.Rows {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:other:eve", "u:other:sam", "g:acme:staff", "g:acme:team")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	r.Join("g:acme:staff", true, domaintest.GroupMember("g:acme:team", principal.GroupMember),
		domaintest.GroupMember("u:other:sam", principal.GroupManager))
	at := clock.Instant(1)
	for _, tenant := range []string{"acme", "other"} {
		for _, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
			id := library.ContentID(fmt.Sprintf("c:%s:%s-%s", tenant, tenant, vis))
			r.Item(id, at, vis, domaintest.ContentMember("u:acme:ann", library.Viewing), domaintest.ContentMember("g:acme:staff", library.Manages))
			at++
		}
	}
	return r
}

func TestLibrary_BucketDependsOnTheViewer(t *testing.T) {
	r := mixedLibraries(t)
	public := []string{"acme-PUBLIC", "other-PUBLIC"}
	loggedIn := []string{"acme-PUBLIC", "acme-LOGGEDIN", "other-PUBLIC"}
	all := []string{"acme-PUBLIC", "acme-LOGGEDIN", "acme-PRIVATE", "other-PUBLIC", "other-LOGGEDIN", "other-PRIVATE"}
	notTheirs := []string{"acme-PUBLIC", "acme-LOGGEDIN", "acme-PRIVATE", "other-PUBLIC"}
	sam := func() *principal.Viewer { return &principal.Viewer{User: "u:other:sam"} }
	for _, c := range []struct {
		name   string
		viewer func() *principal.Viewer
		owner  principal.ID
		bucket library.Bucket
		count  int
		want   []string
	}{
		{"anonymous of a user", domaintest.Anonymous, "u:acme:ann", principal.Public, 2, public},
		{"another tenant of a user", domaintest.Eve, "u:acme:ann", principal.Public, 2, public},
		{"administrator of another tenant", domaintest.OtherRoot, "u:acme:ann", principal.Public, 2, public},
		{"same tenant of a user", domaintest.Bob, "u:acme:ann", principal.LoggedIn, 3, loggedIn},
		{"the user itself", domaintest.Ann, "u:acme:ann", principal.Private, 6, all},
		{"administrator of the tenant", domaintest.Root, "u:acme:ann", principal.Private, 6, notTheirs},
		{"global administrator", domaintest.Globe, "u:acme:ann", principal.Private, 6, all},
		{"anonymous of a group", domaintest.Anonymous, "g:acme:staff", principal.Public, 2, public},
		{"same tenant of a group", domaintest.Bob, "g:acme:staff", principal.LoggedIn, 3, loggedIn},
		{"another tenant of a group", domaintest.Eve, "g:acme:staff", principal.Public, 2, public},
		{"indirect member", domaintest.Ann, "g:acme:staff", principal.Private, 6, all},
		{"direct member from another tenant", sam, "g:acme:staff", principal.Private, 6, all},
		{"not the member of a member group", sam, "g:acme:team", principal.Public, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			conn := r.Read(c.viewer(), c.owner, library.LibraryQuery{})
			r.WantNames(conn, c.want...)
			if conn.Bucket != c.bucket {
				t.Errorf("bucket %v, want %v", conn.Bucket, c.bucket)
			}
			count, err := r.Listing.LibraryCount(t.Context(), conn)
			if want := (library.Count{Value: c.count, Exact: true}); err != nil || count != want {
				t.Errorf("count %v, %v; want %v", count, err, want)
			}
		})
	}
	if asked := r.Repairs.Take(); asked != nil {
		t.Errorf("repairs of libraries that are right: %v", asked)
	}
}

func TestLibrary_HiddenOwnerIsNotFound(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principal("u:acme:ann", principal.Private)
	r.Principal("g:acme:team", principal.LoggedIn)
	r.Applied(r.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{
		ID: "u:acme:void", Header: principal.Header{ID: "u:acme:void", State: commit.Void, Seq: 1, MTS: 1, Visibility: principal.Public},
	}))
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		owner  principal.ID
		found  bool
	}{
		{"private user, same tenant", domaintest.Bob(), "u:acme:ann", false},
		{"private user, anonymous", domaintest.Anonymous(), "u:acme:ann", false},
		{"private user, itself", domaintest.Ann(), "u:acme:ann", true},
		{"private user, administrator", domaintest.Root(), "u:acme:ann", true},
		{"private user, administrator of another tenant", domaintest.OtherRoot(), "u:acme:ann", false},
		{"private user, global administrator", domaintest.Globe(), "u:acme:ann", true},
		{"logged-in group, anonymous", domaintest.Anonymous(), "g:acme:team", false},
		{"logged-in group, other tenant", domaintest.Eve(), "g:acme:team", false},
		{"logged-in group, same tenant", domaintest.Bob(), "g:acme:team", true},
		{"a fence is no principal", domaintest.Globe(), "u:acme:void", false},
		{"absent", domaintest.Globe(), "u:acme:nobody", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Listing.Library(t.Context(), c.viewer, c.owner, library.LibraryQuery{})
			if c.found && err != nil {
				t.Errorf("not read: %v", err)
			}
			if !c.found {
				domaintest.WantReason(t, err, fault.NotFound, "")
			}
		})
	}
}

func TestLibrary_IncludeSharedAddsItemsWithARole(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:other:eve", "g:acme:team")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:bob", principal.GroupMember))
	owner := domaintest.ContentMember("u:acme:ann", library.Manages)
	r.Item("c:acme:public", 1, principal.Public, owner)
	r.Item("c:acme:hidden", 2, principal.Private, owner)
	r.Item("c:acme:with-bob", 3, principal.Private, owner, domaintest.ContentMember("u:acme:bob", library.Viewing))
	r.Item("c:acme:loggedin", 4, principal.LoggedIn, owner)
	r.Item("c:acme:with-team", 5, principal.Private, owner, domaintest.ContentMember("g:acme:team", library.Editing))
	r.Item("c:other:seen-by-eve", 6, principal.LoggedIn, owner)
	r.Item("c:other:with-eve", 7, principal.LoggedIn, owner, domaintest.ContentMember("u:other:eve", library.Viewing))
	r.Item("c:acme:left", 8, principal.Private, owner, library.Member{Principal: "u:acme:bob", Role: library.Viewing, Leaving: true})

	for _, c := range []struct {
		name   string
		viewer func() *principal.Viewer
		plain  []string
		shared []string
	}{
		{"anonymous", domaintest.Anonymous, []string{"public"}, []string{"public"}},
		{"same tenant with roles", domaintest.Bob, []string{"public", "loggedin"}, []string{"public", "with-bob", "loggedin", "with-team"}},
		{"a role counts, not mere visibility", domaintest.Eve, []string{"public"}, []string{"public", "with-eve"}},
		{"the owner reads all of it anyway", domaintest.Ann,
			[]string{"public", "hidden", "with-bob", "loggedin", "with-team", "seen-by-eve", "with-eve", "left"},
			[]string{"public", "hidden", "with-bob", "loggedin", "with-team", "seen-by-eve", "with-eve", "left"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			plain := r.Read(c.viewer(), "u:acme:ann", library.LibraryQuery{})
			r.WantNames(plain, c.plain...)
			shared := r.Read(c.viewer(), "u:acme:ann", library.LibraryQuery{IncludeShared: true})
			r.WantNames(shared, c.shared...)
			if plain.Bucket != shared.Bucket {
				t.Errorf("bucket %v, with includeShared %v", plain.Bucket, shared.Bucket)
			}
			// A walk in pages of one shows the same.
			got := walkAll(r, c.viewer(), "u:acme:ann", library.LibraryQuery{IncludeShared: true, OtherSide: true}, 1, true)
			wantSame(r, c.shared, got)
		})
	}
}

func TestLibrary_PermissionsOfEdgesAreTheViewers(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "g:acme:team")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:bob", principal.GroupMember))
	owner := domaintest.ContentMember("u:acme:ann", library.Viewing)
	r.Item("c:acme:nothing", 1, principal.Public, owner)
	r.Item("c:acme:own", 2, principal.Public, owner, domaintest.ContentMember("u:acme:bob", library.Editing))
	r.Item("c:acme:group", 3, principal.Public, owner, domaintest.ContentMember("g:acme:team", library.Manages),
		domaintest.ContentMember("u:acme:bob", library.Viewing))
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		want   []library.Permissions
	}{
		{"direct and through groups", domaintest.Bob(), []library.Permissions{
			{CanShare: true},
			{Role: library.Editing, CanShare: true, CanEdit: true},
			{Role: library.Manages, CanShare: true, CanEdit: true, CanManage: true},
		}},
		{"owner", domaintest.Ann(), []library.Permissions{
			{Role: library.Viewing, CanShare: true}, {Role: library.Viewing, CanShare: true}, {Role: library.Viewing, CanShare: true},
		}},
		{"anonymous", domaintest.Anonymous(), []library.Permissions{{}, {}, {}}},
		{"a token without a user", &principal.Viewer{User: "u:acme:ghost"}, []library.Permissions{{}, {}, {}}},
		{"an administrator without a user", domaintest.Root(), []library.Permissions{
			{CanShare: true, CanEdit: true, CanManage: true}, {CanShare: true, CanEdit: true, CanManage: true},
			{CanShare: true, CanEdit: true, CanManage: true},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			conn := r.Read(c.viewer, "u:acme:ann", library.LibraryQuery{WithPermissions: true})
			var ids []library.ContentID
			for i, e := range conn.Edges {
				ids = append(ids, e.Node.ID)
				if *e.Permissions != c.want[i] {
					t.Errorf("%s: %+v, want %+v", e.Node.ID, *e.Permissions, c.want[i])
				}
				if e.Role != library.Viewing {
					t.Errorf("%s: the owner's role is %v", e.Node.ID, e.Role)
				}
			}
			// PermissionsOf returns the same.
			alone, err := r.Library.PermissionsOf(t.Context(), c.viewer, ids)
			r.Must(err)
			for i := range alone {
				if *alone[i] != c.want[i] {
					t.Errorf("PermissionsOf of %s: %+v, want %+v", ids[i], *alone[i], c.want[i])
				}
			}
		})
	}
}

func TestLibrary_WrongPageArgumentsAreRefused(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	for i := range 30 {
		r.Item(library.ContentID(fmt.Sprintf("c:acme:n%02d", i)), clock.Instant(i+1), principal.Public,
			domaintest.ContentMember("u:acme:ann", library.Viewing))
	}
	n, from := func(n int) *int { return &n }, func(s string) *string { return &s }
	edge := from(r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.First(30)}).Edges[25].Cursor())
	for _, c := range []struct {
		name   string
		args   cursor.PageArgs
		reason fault.Reason
		edges  int
	}{
		{"nothing", cursor.PageArgs{}, "", 20},
		{"first", cursor.PageArgs{First: n(25)}, "", 25},
		{"first none", cursor.PageArgs{First: n(0)}, "", 0},
		{"last none", cursor.PageArgs{Last: n(0)}, "", 0},
		{"most", cursor.PageArgs{First: n(100)}, "", 30},
		{"last", cursor.PageArgs{Last: n(5)}, "", 5},
		{"after alone", cursor.PageArgs{After: edge}, "", 4},
		{"before alone is the last 20 before it", cursor.PageArgs{Before: edge}, "", 20},
		{"both sizes", cursor.PageArgs{First: n(1), Last: n(1)}, fault.ReasonBadInput, 0},
		{"negative", cursor.PageArgs{First: n(-1)}, fault.ReasonBadInput, 0},
		{"negative last", cursor.PageArgs{Last: n(-1)}, fault.ReasonBadInput, 0},
		{"over 100", cursor.PageArgs{First: n(101)}, fault.ReasonBadInput, 0},
		{"last over 100", cursor.PageArgs{Last: n(101)}, fault.ReasonBadInput, 0},
		{"after with last", cursor.PageArgs{After: edge, Last: n(1)}, fault.ReasonBadInput, 0},
		{"before with first", cursor.PageArgs{Before: edge, First: n(1)}, fault.ReasonBadInput, 0},
		{"both cursors", cursor.PageArgs{Before: edge, After: edge}, fault.ReasonBadInput, 0},
		{"empty cursor", cursor.PageArgs{After: from("")}, fault.ReasonBadCursor, 0},
		{"garbage cursor", cursor.PageArgs{Before: from("garbage")}, fault.ReasonBadCursor, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := r.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: c.args})
			if c.reason != "" {
				domaintest.WantReason(t, err, fault.Invalid, c.reason)
				_, err = r.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: c.args, NoEntries: true})
				domaintest.WantReason(t, err, fault.Invalid, c.reason)
				return
			}
			if err != nil || len(conn.Edges) != c.edges {
				t.Fatalf("%d edges, %v; want %d", len(conn.Edges), err, c.edges)
			}
		})
	}
}

func TestLibraryCount_StopsAtTheLimit(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	for i := range library.MaxCount {
		r.Item(library.ContentID(fmt.Sprintf("c:acme:n%d", i)), clock.Instant(i+1), principal.Public,
			domaintest.ContentMember("u:acme:ann", library.Viewing))
	}
	conn := r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{NoEntries: true})
	if conn.Edges != nil {
		t.Errorf("entries that were not requested: %v", domaintest.NamesOf(conn))
	}
	count, err := r.Listing.LibraryCount(t.Context(), conn)
	if want := (library.Count{Value: library.MaxCount, Exact: true}); err != nil || count != want {
		t.Errorf("count %v, %v; want %v", count, err, want)
	}
	r.Item("c:acme:one-more", 1, principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
	count, err = r.Listing.LibraryCount(t.Context(), conn)
	if want := (library.Count{Value: library.MaxCount}); err != nil || count != want {
		t.Errorf("count %v, %v; want %v", count, err, want)
	}
}
