package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// These tests change derived rows as an operator might, with the time of the operator's machine as
// the timestamp, which is later than those of the states that the rows were derived from.

// fixture is a Service on its own keyspace.
type fixture struct {
	t       *testing.T
	store   *Store
	journal *journal.Journal
	svc     *domain.Services
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := &fixture{t: t, store: open(t, options(t))}
	rt := sched.NewReal()
	d.journal = journal.New(t.Context(), d.store.Journal, rt, nil)
	names, err := naming.New(d.store, "host-1", naming.DefaultBlockSize)
	if err != nil {
		t.Fatal(err)
	}
	d.svc = domaintest.Open(t, domain.Config{Store: d.store.Store, Runtime: rt, Journal: d.journal, Names: names})
	t.Cleanup(func() {
		d.svc.Engine.End()
		rt.Close()
	})
	return d
}

func viewer(p principal.ID) *principal.Viewer { return &principal.Viewer{User: p} }

func (d *fixture) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// byHand runs a statement as an operator would. It repeats one that times out: a busy node may take
// longer for a TRUNCATE than the driver waits.
func (d *fixture) byHand(stmt string, args ...any) {
	d.t.Helper()
	err := gocql.ErrTimeoutNoResponse
	for range 10 {
		if err = d.store.session.Driver().Query(stmt, args...).WithContext(d.t.Context()).Exec(); !errors.Is(err, gocql.ErrTimeoutNoResponse) {
			break
		}
	}
	d.ok(err)
}

const crew principal.ID = "g:t:crew"

// in returns the fixture for a subtest.
func (d *fixture) in(t *testing.T) *fixture {
	mine := *d
	mine.t = t
	return &mine
}

// seed creates ann and bob, a group of both, and items of ann's. All are shared with the group, and
// every third with bob.
func (d *fixture) seed(items int) {
	d.t.Helper()
	ctx := d.t.Context()
	for _, p := range []principal.ID{ann, bob} {
		_, err := d.svc.People.CreateUser(ctx, viewer(p), principal.CreateUser{Tenant: "t", Name: p.Name(), DisplayName: p.Name(),
			Email: p.Name() + "@example.com", Visibility: principal.Public})
		d.ok(err)
	}
	_, err := d.svc.People.CreateGroup(ctx, viewer(ann), principal.CreateGroup{Tenant: "t", Name: crew.Name(),
		DisplayName: "crew", Visibility: principal.Private})
	d.ok(err)
	member := principal.GroupMember
	_, err = d.svc.People.SetGroupMembers(ctx, viewer(ann), principal.SetGroupMembers{Group: string(crew),
		Members: []principal.GroupMemberChange{{Principal: string(bob), Role: &member}}})
	d.ok(err)
	for n := range items {
		viewing, name := library.Viewing, fmt.Sprintf("%03d", n)
		in := library.CreateContent{Tenant: ptr("t"), Name: &name, Kind: library.Note, Title: name, Visibility: principal.Visibility(1 + n%3),
			Members: []library.ContentMemberChange{{Principal: string(crew), Role: &viewing}}}
		if n%3 == 0 {
			in.Members = append(in.Members, library.ContentMemberChange{Principal: string(bob), Role: &viewing})
		}
		_, err := d.svc.Library.CreateContent(ctx, viewer(ann), in)
		d.ok(err)
	}
	d.awaitIdle()
}

// awaitIdle waits until all changes have finished and the in-flight list is empty.
func (d *fixture) awaitIdle() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Minute)
	defer cancel()
	for d.journal.Stats().Entries > 0 && ctx.Err() == nil {
		d.ok(d.journal.DoDue(ctx, d.svc.Background()))
	}
	d.ok(d.journal.Beat(ctx))
}

func ptr[T any](v T) *T { return &v }

// shown is what readers see in all libraries: the items of every page, with their roles, and the
// cursors.
type shown map[string][]string

// page reads the page after a cursor. While the library is being rebuilt it retries as the error
// says.
func (d *fixture) page(v *principal.Viewer, owner principal.ID, descending bool, after *string) *library.LibraryConnection {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Minute)
	defer cancel()
	size := 7
	for {
		c, err := d.svc.Listing.Library(ctx, v, owner, library.LibraryQuery{Descending: descending,
			PageArgs: cursor.PageArgs{First: &size, After: after}})
		if err == nil {
			return c
		}
		if f := fault.ListOf(err); len(f) != 1 || f[0].Code != fault.Unavailable || f[0].RetryAfter == 0 || ctx.Err() != nil {
			d.t.Fatalf("a page of %s: %v", owner, err)
		}
	}
}

func (d *fixture) walk(v *principal.Viewer, owner principal.ID, descending bool) (items []string) {
	d.t.Helper()
	var after *string
	for {
		c := d.page(v, owner, descending, after)
		for _, e := range c.Edges {
			items = append(items, fmt.Sprintf("%s %s at %s", e.Node.ID, e.Role, e.Node.LastModified))
		}
		if !c.PageInfo.HasNextPage {
			return items
		}
		after = c.PageInfo.EndCursor()
	}
}

func (d *fixture) everything() shown {
	d.t.Helper()
	all := shown{}
	for _, owner := range []principal.ID{ann, bob, crew} {
		for _, v := range []*principal.Viewer{viewer(ann), viewer(bob), {}} {
			for _, descending := range []bool{false, true} {
				if owner != crew || v.SignedIn() {
					all[fmt.Sprintf("%s for %s, descending %v", owner, v.User, descending)] = d.walk(v, owner, descending)
				}
			}
		}
	}
	return all
}

// wantClean checks that the audit finds nothing.
func (d *fixture) wantClean() {
	d.t.Helper()
	d.awaitIdle()
	report, err := d.svc.Repair.Audit(d.t.Context())
	d.ok(err)
	if !report.Clean() || report.Contents == 0 {
		d.t.Errorf("the audit found %+v", report)
	}
}

// scrub runs the scrubber over everything once and returns the number of mismatches.
func (d *fixture) scrub() (mismatches int) {
	d.t.Helper()
	_, mismatches, err := d.svc.Repair.ScrubAll(d.t.Context())
	d.ok(err)
	return mismatches
}

// TestReaders_DeletedLibrariesAreRebuilt: whichever derived partitions are deleted, readers are
// asked to retry or get the whole library, and in the end everything is as before.
func TestReaders_DeletedLibrariesAreRebuilt(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.seed(16)
	before := d.everything()
	for _, c := range []struct {
		name   string
		delete []string
	}{
		{"the library", []string{"library_by_principal"}},
		{"the library and the record of what was shared", []string{"library_by_principal", "content_by_principal"}},
		{"the record, and later the library", []string{"content_by_principal", "", "library_by_principal"}},
	} {
		for _, p := range []principal.ID{ann, bob, crew} {
			t.Run(c.name+" of "+string(p), func(t *testing.T) {
				d := d.in(t)
				first := d.page(viewer(ann), p, false, nil)
				rest := d.page(viewer(ann), p, false, first.PageInfo.EndCursor())
				for _, table := range c.delete {
					if table == "" {
						// New shares do not complete a record that was lost.
						d.shareAgain(p)
						continue
					}
					d.byHand("DELETE FROM "+table+" WHERE principal_id = ?", string(p))
				}
				// A walk continues where it was.
				if diff := cmp.Diff(idsOf(rest), idsOf(d.page(viewer(ann), p, false, first.PageInfo.EndCursor()))); diff != "" {
					t.Errorf("the next page (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(before, d.everything()); diff != "" {
					t.Errorf("(-before +after):\n%s", diff)
				}
				d.wantClean()
				if n := d.scrub(); n != 0 {
					t.Errorf("the scrubber found %d rows to repair", n)
				}
			})
		}
	}
	// Restored items can be changed like all others.
	for n := range 16 {
		_, err := d.svc.Library.UpdateContent(t.Context(), viewer(ann), library.UpdateContent{ID: fmt.Sprintf("c:t:%03d", n),
			Title: input.Some(ptr("changed"))})
		d.ok(err)
	}
	d.awaitIdle()
	if got := d.walk(viewer(bob), crew, false); len(got) != 16 {
		t.Errorf("after updates the group's library has %d items", len(got))
	}
	d.wantClean()
}

// shareAgain removes p's role on an item and restores it. If p manages all items, it shares another
// one.
func (d *fixture) shareAgain(p principal.ID) {
	d.t.Helper()
	if p == ann {
		return
	}
	viewing := library.Viewing
	for _, role := range []*library.ContentRole{nil, &viewing} {
		_, err := d.svc.Library.SetContentMembers(d.t.Context(), viewer(ann), library.SetContentMembers{Content: "c:t:003",
			Members: []library.ContentMemberChange{{Principal: string(p), Role: role}}})
		d.ok(err)
	}
}

func idsOf(c *library.LibraryConnection) (ids []library.ContentID) {
	for _, e := range c.Edges {
		ids = append(ids, e.Node.ID)
	}
	return ids
}

// TestReaders_PagesAreWholeDuringADeletion: every page that is returned is one of the whole
// library, even while it is being deleted repeatedly.
func TestReaders_PagesAreWholeDuringADeletion(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.seed(12)
	want := d.walk(viewer(ann), crew, false)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				size := 50
				c, err := d.svc.Listing.Library(t.Context(), viewer(ann), crew, library.LibraryQuery{PageArgs: cursor.PageArgs{First: &size}})
				switch {
				case fault.CodeOf(err) == fault.Unavailable:
				case err != nil:
					t.Error(err)
				case len(c.Edges) != len(want):
					t.Errorf("a page of %d items instead of %d", len(c.Edges), len(want))
				}
			}
		})
	}
	for range 5 {
		d.byHand("DELETE FROM library_by_principal WHERE principal_id = ?", string(crew))
		if got := d.walk(viewer(ann), crew, false); !slices.Equal(got, want) {
			t.Errorf("after a deletion: %v", got)
		}
	}
	stop()
	readers.Wait()
	d.wantClean()
}

// TestRebuildAll_RepairsItemsAfterManualChanges changes and deletes rows that items require. The audit
// reports them, and a rebuild repairs them.
func TestRebuildAll_RepairsItemsAfterManualChanges(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.seed(9)
	before := d.everything()
	position := func(id library.ContentID) int64 {
		rows, err := d.store.Contents.Read(t.Context(), id, library.ContentQuery{})
		d.ok(err)
		return int64(rows.Header.Position)
	}
	for _, c := range []struct {
		name string
		do   func(d *fixture)
		rows int // minimal number of wrong rows
	}{
		{"another role in a library", func(d *fixture) {
			d.byHand(`INSERT INTO library_by_principal (principal_id, bucket, position, content_id, mts, role) VALUES (?, 1, ?, 'c:t:003', 5, 3)`,
				string(bob), position("c:t:003"))
		}, 1},
		{"another role in the record", func(d *fixture) {
			d.byHand("UPDATE content_by_principal SET role = 3 WHERE principal_id = ? AND content_id = 'c:t:003'", string(bob))
		}, 1},
		{"an entry deleted", func(d *fixture) {
			d.byHand(`DELETE FROM library_by_principal WHERE principal_id = ? AND bucket = 1 AND position = ? AND content_id = 'c:t:004'`,
				string(crew), position("c:t:004"))
		}, 1},
		{"a bucket deleted", func(d *fixture) {
			d.byHand("DELETE FROM library_by_principal WHERE principal_id = ? AND bucket = 3", string(ann))
		}, 3},
		{"the record deleted", func(d *fixture) { d.byHand("DELETE FROM content_by_principal WHERE principal_id = ?", string(crew)) }, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := d.in(t)
			c.do(d)
			if report, err := d.svc.Repair.Audit(t.Context()); err != nil || report.Mismatches == 0 {
				t.Fatalf("the audit does not find it: %+v, %v", report, err)
			}
			if r, err := d.svc.Repair.RebuildAll(t.Context(), func(int, int) {}); err != nil || r.Repaired < c.rows {
				t.Errorf("the rebuild repaired %+v, %v, want at least %d", r, err, c.rows)
			}
			d.wantClean()
			if n := d.scrub(); n != 0 {
				t.Errorf("the scrubber found %d", n)
			}
			if diff := cmp.Diff(before, d.everything()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}
