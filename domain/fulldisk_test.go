package domain_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/pebblestore"
	"carrel/pebblestore/files"
	"carrel/principal"
)

// smallDisk is a fixture on a disk whose free space the test sets.
type smallDisk struct {
	*domaintest.Fixture
	mem   *vfs.MemFS
	store *pebblestore.Store
	later atomic.Int64 // how far the clocks are ahead, in nanoseconds
	log   *bytes.Buffer
}

// laterRuntime is a runtime whose wall clock is ahead.
type laterRuntime struct {
	*sched.Real
	by *atomic.Int64
}

// Now implements sched.Runtime.
func (l laterRuntime) Now() time.Time { return l.Real.Now().Add(time.Duration(l.by.Load())) }

// newSmallDisk returns the Services of a process, connected as a gateway connects them.
func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	d := &smallDisk{mem: vfs.NewMem(), log: &bytes.Buffer{}}
	runtime := sched.NewReal()
	rt := laterRuntime{runtime, &d.later}
	d.free(1 << 40)
	var err error
	d.store, err = pebblestore.Open("", pebblestore.Options{
		FS: d.mem, Now: func() clock.Instant { return clock.Of(rt.Now()) }, Log: slog.New(slog.NewTextHandler(d.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		runtime.Close()
		if err := d.store.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Fixture = &domaintest.Fixture{T: t, Store: d.store.Store, Runtime: runtime, Journal: journal.New(t.Context(), d.store.Journal, rt, nil)}
	services := domaintest.Open(t, domain.Config{
		Store: d.store.Store, Runtime: rt, Journal: d.Journal, Names: &domaintest.CountingNames{}, Room: d.store.Room,
	})
	d.Services = services
	return d
}

// free sets the free space of the disk. The store notices it within a second, which passes.
func (d *smallDisk) free(bytes uint64) {
	d.mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: bytes, TotalBytes: 1 << 40})
	d.later.Add(int64(2 * time.Second))
}

// wants makes an optional field of an input.
func wants[T any](v T) input.Optional[*T] { return input.Optional[*T]{Set: true, Value: &v} }

// paste creates a paste.
func (d *smallDisk) paste(title string, expires time.Duration) *paste.Created {
	d.T.Helper()
	in := paste.Create{Title: &title, Body: strings.Repeat(title, 5000)}
	if expires > 0 {
		at := clock.Of(d.Runtime.Now()).Add(time.Duration(d.later.Load()) + expires)
		in.ExpiresAt = &at
	}
	made, err := d.Pastes.Create(d.T.Context(), domaintest.Anonymous(), in)
	if err != nil {
		d.T.Fatal(err)
	}
	return made
}

// filled is a small disk with what the mutations of the test change.
type filled struct {
	*smallDisk
	doomed, item, other  library.ContentID
	first, second, third *paste.Created
	held                 *lease.Acquired
	draft                note.SaveDraft
}

// newFilled returns users, groups, items, pastes, a lease and a draft on a disk with space.
func newFilled(t *testing.T) *filled {
	t.Helper()
	d := &filled{smallDisk: newSmallDisk(t)}
	ctx := t.Context()
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan"} {
		d.User(u, principal.Public)
	}
	for _, g := range []string{"g:acme:team", "g:acme:club"} {
		d.Group(g, "u:acme:ann", principal.Public)
	}
	d.MustSet(domaintest.Ann(), "g:acme:team", "u:acme:bob=MEMBER", "u:acme:cat=MANAGER", "u:acme:dan=MEMBER")
	d.doomed = d.Note("doomed", principal.Public)
	d.item = d.Note("item", principal.Public, "u:acme:bob=VIEWER", "u:acme:cat=MANAGER", "u:acme:dan=VIEWER", "g:acme:club=VIEWER")
	d.other = d.Note("other", principal.LoggedIn)
	expiring := clock.Of(d.Runtime.Now()).Add(time.Hour)
	if _, err := d.Library.UpdateContent(ctx, domaintest.Ann(), library.UpdateContent{ID: string(d.other),
		ExpiresAt: wants(expiring)}); err != nil {
		t.Fatal(err)
	}
	d.first, d.second, d.third = d.paste("one", 0), d.paste("two", 0), d.paste("three", time.Hour)
	held, err := d.Leases.Acquire(ctx, domaintest.Ann(), lease.Acquire{Documents: []lease.Document{{Key: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	d.held = held
	d.draft = note.SaveDraft{ContentID: string(d.item), Title: "title", Body: strings.Repeat("text ", 5000)}
	if _, err := d.Notes.SaveDraft(ctx, domaintest.Ann(), d.draft); err != nil {
		t.Fatal(err)
	}
	return d
}

// call is a mutation with the words by which the test names it.
type call struct {
	name string
	call func() error
}

// members, group, update and updatePaste return calls.

func (d *filled) members(changes ...string) func() error {
	return func() error {
		_, err := d.Library.SetContentMembers(d.T.Context(), domaintest.Ann(),
			library.SetContentMembers{Content: string(d.item), Members: domaintest.MemberChanges(changes...)})
		return err
	}
}

func (d *filled) group(changes ...string) func() error {
	return func() error { _, err := d.Set(domaintest.Ann(), "g:acme:team", changes...); return err }
}

func (d *filled) update(in library.UpdateContent) func() error {
	return func() error { _, err := d.Library.UpdateContent(d.T.Context(), domaintest.Ann(), in); return err }
}

func (d *filled) updatePaste(in paste.Update) func() error {
	return func() error { _, err := d.Pastes.Update(d.T.Context(), in); return err }
}

// growing returns a mutation of each kind that lets the store grow or gives access.
func (d *filled) growing() []call {
	ctx := d.T.Context()
	title, body := "title", strings.Repeat("longer", 5000)
	return []call{
		{"createPaste", func() error {
			_, err := d.Pastes.Create(ctx, domaintest.Anonymous(), paste.Create{Body: "b"})
			return err
		}},
		{"createPaste, long", func() error {
			_, err := d.Pastes.Create(ctx, domaintest.Anonymous(), paste.Create{Body: body})
			return err
		}},
		{"updatePaste, title", d.updatePaste(paste.Update{ID: string(d.first.Paste.ID), Secret: d.first.Secret, Title: wants(title)})},
		{"updatePaste, body", d.updatePaste(paste.Update{ID: string(d.first.Paste.ID), Secret: d.first.Secret, Body: wants(body)})},
		{"createContent", func() error {
			_, err := d.Library.CreateContent(ctx, domaintest.Ann(), library.CreateContent{Kind: library.Note, Title: "t",
				Visibility: principal.Private})
			return err
		}},
		{"updateContent, title", d.update(library.UpdateContent{ID: string(d.item), Title: wants(title)})},
		{"updateContent, wider", d.update(library.UpdateContent{ID: string(d.other), Visibility: wants(principal.Public)})},
		{"setContentMembers, stronger", d.members("u:acme:bob=MANAGER")},
		{"setContentMembers, one less and one more", d.members("u:acme:bob=NONE", "g:acme:team=VIEWER")},
		{"setContentMembers, one more and one less", d.members("g:acme:team=VIEWER", "u:acme:bob=NONE")},
		{"shareContent", func() error { _, err := d.Share("u:acme:ann", d.item, "g:acme:team"); return err }},
		{"setGroupMembers, stronger", d.group("u:acme:bob=MANAGER")},
		{"setGroupMembers, one less and one more", d.group("u:acme:bob=NONE", "g:acme:club=MEMBER")},
		{"setGroupMembers, one more and one less", d.group("g:acme:club=MEMBER", "u:acme:bob=NONE")},
		{"createUser", func() error {
			_, err := d.People.CreateUser(ctx, domaintest.Root(), principal.CreateUser{Tenant: "acme", Name: "eve",
				DisplayName: "E", Email: "e@e.example", Visibility: principal.Private})
			return err
		}},
		{"updateUser", func() error {
			_, err := d.People.UpdateUser(ctx, domaintest.Ann(), principal.UpdateUser{ID: "u:acme:ann", DisplayName: wants("Anne")})
			return err
		}},
		{"createGroup", func() error {
			_, err := d.People.CreateGroup(ctx, domaintest.Ann(), principal.CreateGroup{Tenant: "acme", Name: "new",
				DisplayName: "N", Visibility: principal.Private})
			return err
		}},
		{"acquireLease", func() error {
			_, err := d.Leases.Acquire(ctx, domaintest.Ann(), lease.Acquire{Documents: []lease.Document{{Key: "other"}}})
			return err
		}},
		{"saveDraft", func() error { _, err := d.Notes.SaveDraft(ctx, domaintest.Ann(), d.draft); return err }},
		{"saveRevision", func() error {
			_, err := d.Notes.SaveRevision(ctx, domaintest.Ann(), note.SaveRevision{ContentID: string(d.item), Title: "t", Body: body})
			return err
		}},
		{"suggestRevision", func() error {
			_, err := d.Notes.SuggestRevision(ctx, domaintest.Bob(), note.SuggestRevision{ContentID: string(d.item), Title: "t", Body: body})
			return err
		}},
	}
}

// withdrawing returns a mutation of each kind that only frees space or withdraws access.
func (d *filled) withdrawing() []call {
	ctx := d.T.Context()
	return []call{
		{"deletePaste", func() error {
			_, err := d.Pastes.Delete(ctx, paste.Delete{ID: string(d.first.Paste.ID), Secret: d.first.Secret})
			return err
		}},
		{"updatePaste, private", d.updatePaste(paste.Update{ID: string(d.second.Paste.ID), Secret: d.second.Secret, IsPrivate: wants(true)})},
		{"deleteContent", func() error {
			_, err := d.Library.DeleteContent(ctx, domaintest.Ann(), library.DeleteContent{ID: string(d.doomed),
				IdempotencyKey: domaintest.Ptr("a key of this request")})
			return err
		}},
		{"updateContent, narrower", d.update(library.UpdateContent{ID: string(d.item), Visibility: wants(principal.LoggedIn)})},
		{"updateContent, narrower again", d.update(library.UpdateContent{ID: string(d.item), Visibility: wants(principal.Private),
			Title: wants("title")})},
		{"setContentMembers, weaker", d.members("u:acme:cat=VIEWER")},
		{"setContentMembers, removed", d.members("u:acme:bob=NONE", "u:acme:cat=NONE")},
		{"removeFromLibrary", func() error {
			_, err := d.Library.RemoveFromLibrary(ctx, domaintest.As("u:acme:dan"),
				library.RemoveFromLibrary{Principal: "u:acme:dan", Content: string(d.item)})
			return err
		}},
		{"setGroupMembers, weaker", d.group("u:acme:cat=MEMBER")},
		{"setGroupMembers, removed", d.group("u:acme:bob=NONE", "u:acme:cat=NONE")},
		{"updateGroup, narrower", func() error {
			_, err := d.People.UpdateGroup(ctx, domaintest.Ann(), principal.UpdateGroup{ID: "g:acme:team", Visibility: wants(principal.Private)})
			return err
		}},
		{"updateUser, narrower", func() error {
			_, err := d.People.UpdateUser(ctx, domaintest.Ann(), principal.UpdateUser{ID: "u:acme:ann", Visibility: wants(principal.LoggedIn)})
			return err
		}},
		{"cancelLease", func() error {
			_, err := d.Leases.Cancel(ctx, lease.End{ID: string(d.held.Lease.ID), Token: d.held.Token})
			return err
		}},
		{"discardDraft", func() error {
			gone, err := d.Notes.DiscardDraft(ctx, domaintest.Ann(), note.DiscardDraft{ContentID: string(d.item)})
			if !gone {
				d.T.Error("the draft is not discarded")
			}
			return err
		}},
		{"deleteGroup", func() error {
			gone, err := d.People.DeleteGroup(ctx, domaintest.Ann(), principal.DeleteGroup{ID: "g:acme:club"})
			if err == nil && !gone.Complete {
				d.T.Error("not everything of the group is removed")
			}
			return err
		}},
		{"deleteUser", func() error {
			gone, err := d.People.DeleteUser(ctx, domaintest.Root(), principal.DeleteUser{ID: "u:acme:dan"})
			if err == nil && !gone.Complete {
				d.T.Error("not everything of the user is removed")
			}
			return err
		}},
		{"expiry", func() error {
			d.later.Add(int64(2 * time.Hour))
			return d.Journal.ExpireDue(ctx, d.Services.Background())
		}},
	}
}

// regrowing returns mutations that give back what the withdrawing ones took, or change what they
// left.
func (d *filled) regrowing() []call {
	second := paste.Update{ID: string(d.second.Paste.ID), Secret: d.second.Secret}
	titled, public := second, second
	titled.Title, titled.IsPrivate, public.IsPrivate = wants("title"), wants(true), wants(false)
	return []call{
		{"setContentMembers, a former member", d.members("u:acme:cat=VIEWER")},
		{"setGroupMembers, a former member", d.group("u:acme:cat=MEMBER")},
		{"updateContent, wider again", d.update(library.UpdateContent{ID: string(d.item), Visibility: wants(principal.Public)})},
		{"updatePaste, the title of a private one", d.updatePaste(titled)},
		{"updatePaste, public again", d.updatePaste(public)},
	}
}

// TestFullDisk_OnlyWithdrawalsAreMade calls each kind of mutation on an almost full disk. Those that
// only free space or withdraw access are made, and all others are refused with the cause.
func TestFullDisk_OnlyWithdrawalsAreMade(t *testing.T) {
	d := newFilled(t)
	ctx := t.Context()
	d.free(files.DefaultReserve - 1)
	for _, c := range d.growing() {
		if err := c.call(); fault.ReasonOf(err) != fault.ReasonFull || !strings.Contains(err.Error(), "the disk of the store is almost full") {
			t.Errorf("%s on an almost full disk: %v", c.name, err)
		}
	}
	for _, c := range d.withdrawing() {
		if err := c.call(); err != nil {
			t.Errorf("%s on an almost full disk: %v", c.name, err)
		}
	}
	for _, c := range d.regrowing() {
		if err := c.call(); fault.ReasonOf(err) != fault.ReasonFull {
			t.Errorf("%s on an almost full disk: %v", c.name, err)
		}
	}
	rows, err := d.store.Contents.ReadMany(ctx, []library.ContentID{d.doomed, d.other}, nil)
	if err != nil || rows[0].Header.State != commit.Deleted || rows[1].Header.State != commit.Deleted {
		t.Errorf("the items that were deleted or have expired: %+v, %v", rows, err)
	}
	if p, err := d.Pastes.Paste(ctx, string(d.third.Paste.ID)); err != nil || p != nil {
		t.Errorf("the expired paste: %+v, %v", p, err)
	}
	if bodies, err := d.store.Pastes.ListBodies(ctx, d.third.Paste.ID); err != nil || len(bodies) > 0 {
		t.Errorf("the expired paste has %d bodies, %v", len(bodies), err)
	}
	if n := strings.Count(d.log.String(), "the disk of the store is almost full"); n != 1 {
		t.Errorf("the log has %d lines about the disk:\n%s", n, d.log)
	}
	d.free(files.DefaultReserve)
	if _, err := d.Pastes.Create(context.WithoutCancel(ctx), domaintest.Anonymous(),
		paste.Create{Body: strings.Repeat("longer", 5000)}); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	if n := strings.Count(d.log.String(), "has space again"); n != 1 {
		t.Errorf("the log has %d lines about the space:\n%s", n, d.log)
	}
}
