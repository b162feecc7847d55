package library_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// viewers of the table: who asks.
var (
	anonymous = func() *principal.Viewer { return &principal.Viewer{} }
	ann       = func() *principal.Viewer { return &principal.Viewer{User: "u:acme:ann"} }
	bob       = func() *principal.Viewer { return &principal.Viewer{User: "u:acme:bob"} }
	eve       = func() *principal.Viewer { return &principal.Viewer{User: "u:other:eve"} }
	root      = func() *principal.Viewer { return &principal.Viewer{User: "u:acme:root", Admin: true} }
	otherRoot = func() *principal.Viewer { return &principal.Viewer{User: "u:other:root", Admin: true} }
	globe     = func() *principal.Viewer { return &principal.Viewer{User: "u:third:globe", GlobalAdmin: true} }
)

// mixedLibraries stores libraries of ann and of the group staff, which ann is
// in through the group team, and sam, of another tenant, directly. Each holds
// items of both tenants and all visibilities.
func mixedLibraries(t *testing.T) *room {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:bob", "u:other:eve", "u:other:sam", "g:acme:staff", "g:acme:team")
	r.join("g:acme:team", true, in("u:acme:ann", principal.GroupMember))
	r.join("g:acme:staff", true, in("g:acme:team", principal.GroupMember), in("u:other:sam", principal.GroupManager))
	at := clock.Instant(1)
	for _, tenant := range []string{"acme", "other"} {
		for _, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
			id := library.ContentID(fmt.Sprintf("c:%s:%s-%s", tenant, tenant, vis))
			r.item(id, at, vis, has("u:acme:ann", library.Viewing), has("g:acme:staff", library.Manages))
			at++
		}
	}
	return r
}

func TestBucketByViewer(t *testing.T) {
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
		{"anonymous of a user", anonymous, "u:acme:ann", principal.Public, 2, public},
		{"another tenant of a user", eve, "u:acme:ann", principal.Public, 2, public},
		{"administrator of another tenant", otherRoot, "u:acme:ann", principal.Public, 2, public},
		{"same tenant of a user", bob, "u:acme:ann", principal.LoggedIn, 3, loggedIn},
		{"the user itself", ann, "u:acme:ann", principal.Private, 6, all},
		{"administrator of the tenant", root, "u:acme:ann", principal.Private, 6, notTheirs},
		{"global administrator", globe, "u:acme:ann", principal.Private, 6, all},
		{"anonymous of a group", anonymous, "g:acme:staff", principal.Public, 2, public},
		{"same tenant of a group", bob, "g:acme:staff", principal.LoggedIn, 3, loggedIn},
		{"another tenant of a group", eve, "g:acme:staff", principal.Public, 2, public},
		{"indirect member", ann, "g:acme:staff", principal.Private, 6, all},
		{"direct member from another tenant", sam, "g:acme:staff", principal.Private, 6, all},
		{"not the member of a member group", sam, "g:acme:team", principal.Public, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			conn := r.read(c.viewer(), c.owner, library.LibraryQuery{})
			r.wantNames(conn, c.want...)
			if conn.Bucket != c.bucket {
				t.Errorf("bucket %v, want %v", conn.Bucket, c.bucket)
			}
			count, err := r.svc.LibraryCount(t.Context(), conn)
			if want := (library.Count{Value: c.count, Exact: true}); err != nil || count != want {
				t.Errorf("count %v, %v; want %v", count, err, want)
			}
		})
	}
	if asked := r.repairs.take(); asked != nil {
		t.Errorf("repairs of libraries that are right: %v", asked)
	}
}

func TestOwnersThatMayNotBeSeen(t *testing.T) {
	r := newRoom(t)
	r.principal("u:acme:ann", principal.Private)
	r.principal("g:acme:team", principal.LoggedIn)
	r.applied(r.store.CommitPrincipal(t.Context(), &principal.Commit{
		ID: "u:acme:void", Header: principal.Header{ID: "u:acme:void", State: commit.Void, Seq: 1, MTS: 1, Visibility: principal.Public},
	}))
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		owner  principal.ID
		found  bool
	}{
		{"private user, same tenant", bob(), "u:acme:ann", false},
		{"private user, anonymous", anonymous(), "u:acme:ann", false},
		{"private user, itself", ann(), "u:acme:ann", true},
		{"private user, administrator", root(), "u:acme:ann", true},
		{"private user, administrator of another tenant", otherRoot(), "u:acme:ann", false},
		{"private user, global administrator", globe(), "u:acme:ann", true},
		{"logged-in group, anonymous", anonymous(), "g:acme:team", false},
		{"logged-in group, other tenant", eve(), "g:acme:team", false},
		{"logged-in group, same tenant", bob(), "g:acme:team", true},
		{"a fence is nobody", globe(), "u:acme:void", false},
		{"absent", globe(), "u:acme:nobody", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.svc.Library(t.Context(), c.viewer, c.owner, library.LibraryQuery{})
			if c.found && err != nil {
				t.Errorf("not read: %v", err)
			}
			if !c.found {
				wantReason(t, err, fault.NotFound, "")
			}
		})
	}
}

func TestIncludeShared(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:bob", "u:other:eve", "g:acme:team")
	r.join("g:acme:team", true, in("u:acme:bob", principal.GroupMember))
	owner := has("u:acme:ann", library.Manages)
	r.item("c:acme:public", 1, principal.Public, owner)
	r.item("c:acme:hidden", 2, principal.Private, owner)
	r.item("c:acme:with-bob", 3, principal.Private, owner, has("u:acme:bob", library.Viewing))
	r.item("c:acme:loggedin", 4, principal.LoggedIn, owner)
	r.item("c:acme:with-team", 5, principal.Private, owner, has("g:acme:team", library.Editing))
	r.item("c:other:seen-by-eve", 6, principal.LoggedIn, owner)
	r.item("c:other:with-eve", 7, principal.LoggedIn, owner, has("u:other:eve", library.Viewing))
	r.item("c:acme:left", 8, principal.Private, owner, library.Member{Principal: "u:acme:bob", Role: library.Viewing, Leaving: true})

	for _, c := range []struct {
		name   string
		viewer func() *principal.Viewer
		plain  []string
		shared []string
	}{
		{"anonymous", anonymous, []string{"public"}, []string{"public"}},
		{"same tenant with roles", bob, []string{"public", "loggedin"}, []string{"public", "with-bob", "loggedin", "with-team"}},
		{"a role counts, not mere visibility", eve, []string{"public"}, []string{"public", "with-eve"}},
		{"the owner reads all of it anyway", ann,
			[]string{"public", "hidden", "with-bob", "loggedin", "with-team", "seen-by-eve", "with-eve", "left"},
			[]string{"public", "hidden", "with-bob", "loggedin", "with-team", "seen-by-eve", "with-eve", "left"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			plain := r.read(c.viewer(), "u:acme:ann", library.LibraryQuery{})
			r.wantNames(plain, c.plain...)
			shared := r.read(c.viewer(), "u:acme:ann", library.LibraryQuery{IncludeShared: true})
			r.wantNames(shared, c.shared...)
			if plain.Bucket != shared.Bucket {
				t.Errorf("bucket %v, with includeShared %v", plain.Bucket, shared.Bucket)
			}
			// Its pages are as whole as others.
			got := r.walkAll(c.viewer(), "u:acme:ann", library.LibraryQuery{IncludeShared: true, OtherSide: true}, 1, true)
			r.wantSame(c.shared, got)
		})
	}
}

func TestStandingOfEdges(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:bob", "g:acme:team")
	r.join("g:acme:team", true, in("u:acme:bob", principal.GroupMember))
	owner := has("u:acme:ann", library.Viewing)
	r.item("c:acme:nothing", 1, principal.Public, owner)
	r.item("c:acme:own", 2, principal.Public, owner, has("u:acme:bob", library.Editing))
	r.item("c:acme:group", 3, principal.Public, owner, has("g:acme:team", library.Manages), has("u:acme:bob", library.Viewing))
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		want   []library.Standing
	}{
		{"direct and through groups", bob(), []library.Standing{
			{CanShare: true},
			{Role: library.Editing, CanShare: true, CanEdit: true},
			{Role: library.Manages, CanShare: true, CanEdit: true, CanManage: true},
		}},
		{"owner", ann(), []library.Standing{
			{Role: library.Viewing, CanShare: true}, {Role: library.Viewing, CanShare: true}, {Role: library.Viewing, CanShare: true},
		}},
		{"anonymous", anonymous(), []library.Standing{{}, {}, {}}},
		{"a token without a user", &principal.Viewer{User: "u:acme:ghost"}, []library.Standing{{}, {}, {}}},
		{"an administrator without a user", root(), []library.Standing{
			{CanShare: true, CanEdit: true, CanManage: true}, {CanShare: true, CanEdit: true, CanManage: true}, {CanShare: true, CanEdit: true, CanManage: true},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			conn := r.read(c.viewer, "u:acme:ann", library.LibraryQuery{WithStanding: true})
			var ids []library.ContentID
			for i, e := range conn.Edges {
				ids = append(ids, e.Node.ID)
				if *e.Standing != c.want[i] {
					t.Errorf("%s: %+v, want %+v", e.Node.ID, *e.Standing, c.want[i])
				}
				if e.Role != library.Viewing {
					t.Errorf("%s: the owner's role is %v", e.Node.ID, e.Role)
				}
			}
			// The other way of asking says the same.
			alone, err := r.svc.Standings(t.Context(), c.viewer, ids)
			r.must(err)
			for i := range alone {
				if *alone[i] != c.want[i] {
					t.Errorf("Standings of %s: %+v, want %+v", ids[i], *alone[i], c.want[i])
				}
			}
		})
	}
}

func TestPageArguments(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	for i := range 30 {
		r.item(library.ContentID(fmt.Sprintf("c:acme:n%02d", i)), clock.Instant(i+1), principal.Public, has("u:acme:ann", library.Viewing))
	}
	n, from := func(n int) *int { return &n }, func(s string) *string { return &s }
	edge := from(r.read(ann(), "u:acme:ann", library.LibraryQuery{PageArgs: first(30)}).Edges[25].Cursor())
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
			conn, err := r.svc.Library(t.Context(), ann(), "u:acme:ann", library.LibraryQuery{PageArgs: c.args})
			if c.reason != "" {
				wantReason(t, err, fault.Invalid, c.reason)
				_, err = r.svc.Library(t.Context(), ann(), "u:acme:ann", library.LibraryQuery{PageArgs: c.args, NoEntries: true})
				wantReason(t, err, fault.Invalid, c.reason)
				return
			}
			if err != nil || len(conn.Edges) != c.edges {
				t.Fatalf("%d edges, %v; want %d", len(conn.Edges), err, c.edges)
			}
		})
	}
}

func TestCountStopsAtTheLimit(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	for i := range library.MaxCount {
		r.item(library.ContentID(fmt.Sprintf("c:acme:n%d", i)), clock.Instant(i+1), principal.Public, has("u:acme:ann", library.Viewing))
	}
	conn := r.read(ann(), "u:acme:ann", library.LibraryQuery{NoEntries: true})
	if conn.Edges != nil {
		t.Errorf("entries nobody asked for: %v", names(conn))
	}
	count, err := r.svc.LibraryCount(t.Context(), conn)
	if want := (library.Count{Value: library.MaxCount, Exact: true}); err != nil || count != want {
		t.Errorf("count %v, %v; want %v", count, err, want)
	}
	r.item("c:acme:one-more", 1, principal.Public, has("u:acme:ann", library.Viewing))
	count, err = r.svc.LibraryCount(t.Context(), conn)
	if want := (library.Count{Value: library.MaxCount}); err != nil || count != want {
		t.Errorf("count %v, %v; want %v", count, err, want)
	}
}

func TestLostLibraryIsRebuiltOnTheFly(t *testing.T) {
	r := newRoom(t)
	r.applied(r.store.CommitPrincipal(t.Context(), &principal.Commit{
		ID:     "u:acme:ann",
		Header: principal.Header{ID: "u:acme:ann", Visibility: principal.Public, State: commit.Live, Seq: 1, MTS: 1},
	}))
	r.item("c:acme:one", 1, principal.Public, has("u:acme:ann", library.Viewing))
	var es []library.BucketEntry
	for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
		got, err := r.store.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ann", Bucket: b, Limit: 10})
		r.must(err)
		for _, e := range got {
			es = append(es, library.BucketEntry{Bucket: b, Entry: e})
		}
	}
	r.must(r.store.DropEntries(t.Context(), "u:acme:ann", es))
	r.wantNames(r.read(anonymous(), "u:acme:ann", library.LibraryQuery{}), "one")
}
