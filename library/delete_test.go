package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// stuck is a store that fails to list memberships while it is down, so that a removal stops there.
type stuck struct {
	principal.Store
	down atomic.Bool
}

func (s *stuck) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	if s.down.Load() && p != "u:acme:cat" {
		return nil, domaintest.ErrDown
	}
	return s.Store.Memberships(ctx, p, after, limit)
}

// GroupMembersPage fails for a removal of member rows, which reads serially.
func (s *stuck) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	if s.down.Load() && serial {
		return nil, domaintest.ErrDown
	}
	return s.Store.GroupMembersPage(ctx, group, after, limit, serial)
}

// stuckTown returns a fixture with two items of ann that are shared with others. While its store is
// down, the removal of a deleted user or group stops before it has removed anything.
func stuckTown(t *testing.T) (*domaintest.Fixture, *stuck) {
	s := &stuck{}
	h := domaintest.Staff(t, func(store *domain.Store) { s.Store, store.Principals = store.Principals, s })
	h.Note("secret", principal.Private, "u:acme:bob=EDITOR", "g:acme:crew=VIEWER", "u:acme:dan=VIEWER")
	h.Note("open", principal.Public, "u:acme:bob=EDITOR")
	return h, s
}

func remove(t *testing.T, h *domaintest.Fixture, v *principal.Viewer, id string) *principal.Deletion {
	t.Helper()
	var d *principal.Deletion
	var err error
	if principal.ID(id).IsGroup() {
		d, err = h.People.DeleteGroup(t.Context(), v, principal.DeleteGroup{ID: id})
	} else {
		d, err = h.People.DeleteUser(t.Context(), v, principal.DeleteUser{ID: id})
	}
	if err != nil {
		t.Fatalf("deleting %s: %v", id, err)
	}
	return d
}

// sees fails unless v sees the item, or does not.
func sees(t *testing.T, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID, want bool) {
	t.Helper()
	cs, err := h.Library.Contents(t.Context(), v, []library.ContentID{id})
	if err != nil || (cs[0] != nil) != want {
		t.Errorf("%s sees %s: %v, %v; want %t", v.User, id, cs, err, want)
	}
}

func memberIDs(t *testing.T, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) string {
	t.Helper()
	c, err := h.Library.Members(t.Context(), v, id, cursor.PageArgs{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, p := range c.Nodes() {
		text += " " + p.PrincipalID().Name()
	}
	return text
}

// TestDeleteUser_IsEffectiveAtOnce: before anything is removed, the user is shown to nobody and has
// no rights.
func TestDeleteUser_IsEffectiveAtOnce(t *testing.T) {
	h, s := stuckTown(t)
	bob := func() *principal.Viewer { return domaintest.Bob() }
	if _, err := h.Notes.SaveDraft(t.Context(), bob(), note.SaveDraft{ContentID: "c:acme:open", Body: "mine"}); err != nil {
		t.Fatal(err)
	}
	follower := h.Follow(domaintest.Ann(), "u:acme:bob", "")
	s.down.Store(true)
	if d := remove(t, h, bob(), "u:acme:bob"); d.Complete {
		t.Error("the removal is said to be complete")
	}
	sees(t, h, bob(), "c:acme:secret", false)
	sees(t, h, bob(), "c:acme:open", true) // as anybody who is signed in
	if got := memberIDs(t, h, domaintest.Ann(), "c:acme:secret"); got != " crew ann dan" {
		t.Errorf("members:%s", got)
	}
	ps, err := h.People.Principals(t.Context(), domaintest.Root(), []principal.ID{"u:acme:bob"})
	if err != nil || ps[0] != nil {
		t.Errorf("the user is shown: %v, %v", ps, err)
	}
	if u, err := h.People.ViewerUser(t.Context(), bob()); err != nil || u != nil {
		t.Errorf("viewer is %v, %v", u, err)
	}
	_, err = h.Listing.Library(t.Context(), domaintest.Root(), "u:acme:bob", library.LibraryQuery{})
	domaintest.WantFaults(t, err, "NOT_FOUND")
	permissions, err := h.Library.PermissionsOf(t.Context(), bob(), []library.ContentID{"c:acme:open"})
	if err != nil || *permissions[0] != (library.Permissions{}) {
		t.Errorf("permissions: %+v, %v", permissions[0], err)
	}
	if groups, err := h.People.GroupsOf(t.Context(), bob()); err != nil || len(groups.All()) != 0 {
		t.Errorf("groups: %v, %v", groups.All(), err)
	}
	if d, err := h.Notes.Draft(t.Context(), bob(), "c:acme:open", 1, ""); err != nil || d != nil {
		t.Errorf("a draft: %v, %v", d, err)
	}
	if c, err := h.Notes.Drafts(t.Context(), bob(), "u:acme:bob", cursor.PageArgs{}); err != nil || len(c.Edges) != 0 {
		t.Errorf("drafts: %v, %v", c, err)
	}
	_, err = h.Share("u:acme:ann", "c:acme:open", "u:acme:bob")
	domaintest.WantFaults(t, err, "NOT_FOUND principalIds.0")
	_, err = h.Set(domaintest.Ann(), "g:acme:staff", "u:acme:bob=MANAGER", "u:acme:dan=MEMBER")
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a role in a group: %v", err)
	}
	_, err = h.Library.CreateContent(t.Context(), bob(), library.CreateContent{Kind: library.Note, Title: "t", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "FORBIDDEN")
	_, err = h.People.CreateUser(t.Context(), bob(), principal.CreateUser{Tenant: "acme", Name: "bob", DisplayName: "b",
		Email: "b@example.com", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TAKEN name")
	s.down.Store(false)
	h.Quiet()
	if got := follower.NextEvent(); got != "![NOT_FOUND]" {
		t.Errorf("the follower of the library got %s", got)
	}
	h.WantAudited()
	sees(t, h, bob(), "c:acme:secret", false)
	if drafts, err := h.Store.Texts.ListDrafts(t.Context(), "u:acme:bob"); err != nil || len(drafts) != 0 {
		t.Errorf("drafts that are left: %v, %v", drafts, err)
	}
	_, err = h.People.CreateUser(t.Context(), domaintest.Root(), principal.CreateUser{Tenant: "acme", Name: "bob",
		DisplayName: "b", Email: "b@example.com", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TAKEN name")
	// The address is free.
	_, err = h.People.CreateUser(t.Context(), domaintest.Root(), principal.CreateUser{Tenant: "acme", Name: "new",
		DisplayName: "b", Email: domaintest.EmailOf("u:acme:bob"), Visibility: principal.Public})
	domaintest.WantFaults(t, err)
	_, err = h.People.Upkeep.ImportUser(t.Context(), principal.ImportUser{ID: "u:acme:bob", DisplayName: "b", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TAKEN id")
}

// TestDeleteGroup_IsEffectiveAtOnce: rights that rest on the group end before anything is removed.
func TestDeleteGroup_IsEffectiveAtOnce(t *testing.T) {
	h, s := stuckTown(t)
	cat := func() *principal.Viewer { return domaintest.As("u:acme:cat") }
	sees(t, h, cat(), "c:acme:secret", true)
	s.down.Store(true)
	if d := remove(t, h, cat(), "g:acme:crew"); d.Complete {
		t.Error("the removal is said to be complete")
	}
	sees(t, h, cat(), "c:acme:secret", false)
	if groups, err := h.People.GroupsOf(t.Context(), cat()); err != nil || len(groups.All()) != 0 {
		t.Errorf("groups: %v, %v", groups.All(), err)
	}
	c, err := h.People.Groups(t.Context(), cat(), "u:acme:cat", cursor.PageArgs{})
	if err != nil || len(c.Edges) != 0 {
		t.Errorf("groups of cat: %v, %v", c, err)
	}
	_, err = h.People.GroupMembers(t.Context(), domaintest.Root(), "g:acme:crew", cursor.PageArgs{})
	domaintest.WantFaults(t, err, "NOT_FOUND")
	s.down.Store(false)
	h.Quiet()
	h.WantAudited()
	if got := h.Members("g:acme:crew"); len(got) != 0 {
		t.Errorf("rows that are left: %v", got)
	}
}

// TestDeleteUser_ItemsItManagedAloneRemain with nobody but administrators to manage them.
func TestDeleteUser_ItemsItManagedAloneRemain(t *testing.T) {
	h, _ := stuckTown(t)
	remove(t, h, domaintest.Ann(), "u:acme:ann")
	h.Quiet()
	h.WantAudited()
	head := h.Content("c:acme:secret")
	if head.Managers != 0 || head.Members != 3 || head.State != commit.Live {
		t.Errorf("the item is %+v", head)
	}
	h.WantTitles(domaintest.Bob(), "u:acme:bob", "secret", "open")
	in := library.SetContentMembers{Content: "c:acme:secret", Members: domaintest.MemberChanges("u:acme:dan=EDITOR")}
	_, err := h.Library.SetContentMembers(t.Context(), domaintest.Bob(), in)
	domaintest.WantFaults(t, err, "FORBIDDEN contentId")
	_, err = h.Library.SetContentMembers(t.Context(), domaintest.Root(), in)
	domaintest.WantFaults(t, err)
	_, err = h.Set(domaintest.Root(), "g:acme:staff", "u:acme:dan=MEMBER")
	domaintest.WantFaults(t, err)
	h.WantAudited()
}

// TestDeleteUser_RepetitionIsAnswered even if the caller is the user that was deleted.
func TestDeleteUser_RepetitionIsAnswered(t *testing.T) {
	h, s := stuckTown(t)
	s.down.Store(true)
	call := func(key *string) (*principal.Deletion, error) {
		return h.People.DeleteUser(t.Context(), domaintest.Bob(), principal.DeleteUser{ID: "u:acme:bob", IdempotencyKey: key})
	}
	key := "k"
	for range 2 {
		if d, err := call(&key); err != nil || d.ID != "u:acme:bob" || d.Complete {
			t.Errorf("%+v, %v", d, err)
		}
	}
	_, err := call(nil)
	domaintest.WantFaults(t, err, "FORBIDDEN")
	s.down.Store(false)
	h.Quiet()
	if d, err := call(&key); err != nil || !d.Complete {
		t.Errorf("once everything is removed: %+v, %v", d, err)
	}
	_, err = h.People.DeleteUser(t.Context(), domaintest.Root(), principal.DeleteUser{ID: "u:acme:bob"})
	domaintest.WantFaults(t, err, "NOT_FOUND id")
}

// late is a store that calls a function of a test before one write of derived rows.
type late struct {
	principal.Store
	library.ContentStore
	item, group atomic.Pointer[func()]
}

func (l *late) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	if do := l.item.Swap(nil); do != nil {
		(*do)()
	}
	return l.ContentStore.ApplyIndex(ctx, e)
}

func (l *late) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) error {
	if do := l.group.Swap(nil); do != nil {
		(*do)()
	}
	return l.Store.ApplyGroupIndex(ctx, e)
}

// TestDeleteUser_BesideAChangeThatAddsItLeavesNoRows: the change is decided before the deletion,
// and its derived rows are written after the removal has ended.
func TestDeleteUser_BesideAChangeThatAddsItLeavesNoRows(t *testing.T) {
	for name, change := range map[string]func(h *domaintest.Fixture, l *late, do *func()) error{
		"shareContent": func(h *domaintest.Fixture, l *late, do *func()) error {
			l.item.Store(do)
			_, err := h.Share("u:acme:ann", "c:acme:n", "u:acme:bob")
			return err
		},
		"createContent by itself": func(h *domaintest.Fixture, l *late, do *func()) error {
			l.item.Store(do)
			_, err := h.Library.CreateContent(h.T.Context(), domaintest.Bob(), library.CreateContent{Kind: library.Note,
				Title: "t", Visibility: principal.Public})
			return err
		},
		"setGroupMembers": func(h *domaintest.Fixture, l *late, do *func()) error {
			l.group.Store(do)
			_, err := h.Set(domaintest.Root(), "g:acme:secret", "u:acme:bob=MANAGER")
			return err
		},
		"createGroup by itself": func(h *domaintest.Fixture, l *late, do *func()) error {
			l.group.Store(do)
			_, err := h.People.CreateGroup(h.T.Context(), domaintest.Bob(), principal.CreateGroup{Tenant: "acme", Name: "bobs",
				DisplayName: "b", Visibility: principal.Public})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &late{}
			h := domaintest.Staff(t, func(s *domain.Store) {
				l.Store, l.ContentStore, s.Principals, s.Contents = s.Principals, s.Contents, l, l
			})
			h.Note("n", principal.Public)
			removed := false
			do := func() {
				removed = remove(t, h, domaintest.Root(), "u:acme:bob").Complete
			}
			if err := change(h, l, &do); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Log(err)
			}
			if !removed {
				t.Error("the user was not removed before the rows were written")
			}
			h.Quiet()
			h.WantAudited()
		})
	}
}

// TestDeletion_RemainingRowsAreFoundAndRemoved: the principal was marked as deleted by a program
// that did not remove its rows.
func TestDeletion_RemainingRowsAreFoundAndRemoved(t *testing.T) {
	for _, id := range []principal.ID{"u:acme:bob", "g:acme:crew"} {
		for name, repair := range map[string]func(h *domaintest.Fixture) error{
			"scrubber": func(h *domaintest.Fixture) error {
				_, _, err := h.Repair.ScrubAll(h.T.Context())
				return err
			},
			"rebuild": func(h *domaintest.Fixture) error {
				_, err := h.Repair.RebuildAll(h.T.Context(), func(int, int) {})
				return err
			},
			"copy": func(h *domaintest.Fixture) error { return h.Repair.DeriveAll(h.T.Context(), func(int, int) {}) },
		} {
			t.Run(fmt.Sprint(name, " of ", id), func(t *testing.T) {
				h, _ := stuckTown(t)
				head := h.Header(string(id))
				base := head.Seq
				head.State, head.Managers, head.Members, head.Seq, head.MTS = commit.Deleted, 0, 0, base+1, head.MTS+1
				v, err := h.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: id, Base: base, Header: head})
				if err != nil || !v.Applied {
					t.Fatal(v, err)
				}
				r, err := h.Repair.Audit(t.Context())
				if err != nil || r.Mismatches < 3 || r.Deleted != 1 {
					t.Errorf("the audit finds %+v, %v", r, err)
				}
				if err := repair(h); err != nil {
					t.Fatal(err)
				}
				h.WantAudited()
			})
		}
	}
}

// TestDeleteUser_GetsNoRoleMeanwhile: while the rows of a deleted user are being removed, it is
// still a member. A manager may remove it, and may not give it another role.
func TestDeleteUser_GetsNoRoleMeanwhile(t *testing.T) {
	h, s := stuckTown(t)
	s.down.Store(true)
	remove(t, h, domaintest.Root(), "u:acme:bob")
	set := func(changes ...string) error {
		in := library.SetContentMembers{Content: "c:acme:secret", Members: domaintest.MemberChanges(changes...)}
		_, err := h.Library.SetContentMembers(t.Context(), domaintest.Ann(), in)
		return err
	}
	domaintest.WantFaults(t, set("u:acme:bob=MANAGER"), "NOT_FOUND members.0.principalId")
	_, err := h.Set(domaintest.Ann(), "g:acme:staff", "u:acme:bob=MANAGER")
	domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
	domaintest.WantFaults(t, set("u:acme:bob="))
	_, err = h.Set(domaintest.Ann(), "g:acme:staff", "u:acme:bob=")
	domaintest.WantFaults(t, err)
	s.down.Store(false)
	h.Quiet()
	h.WantAudited()
}
