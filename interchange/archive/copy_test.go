package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/interchange/archive"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/pebblestore"
	"carrel/principal"
)

// source returns a store as one that can be copied.
func source(s *pebblestore.Store) archive.Source {
	return archive.Source{Store: s, Journal: s.Journal, Registers: s.Registers}
}

// newStore returns an empty store in memory.
func newStore(t *testing.T) *pebblestore.Store {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatalf("opening a store: %v", err)
	}
	return store
}

func closeStore(t *testing.T, s *pebblestore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("closing a store: %v", err)
	}
}

// serviceOn returns the Service on the target of a copy.
func serviceOn(t *testing.T, store domain.Store) *domain.Services {
	t.Helper()
	runtime := sched.NewReal()
	t.Cleanup(runtime.Close)
	svc := domaintest.Open(t, domain.Config{
		Store: store, Runtime: runtime, Journal: journal.New(t.Context(), store.Journal, runtime, nil), Names: &domaintest.CountingNames{},
	})
	return svc
}

func noProgress(archive.Progress) {}

// complete derives rows, audits and completes a copy, as the command does after copying the rows.
func complete(t *testing.T, to *pebblestore.Store) *domain.Services {
	t.Helper()
	svc := serviceOn(t, to.Store)
	if err := svc.Repair.DeriveAll(t.Context(), func(int, int) {}); err != nil {
		t.Fatalf("writing derived rows: %v", err)
	}
	report, err := svc.Repair.Audit(t.Context())
	if err != nil || !report.Clean() {
		t.Fatalf("the audit of the target found %+v, %v", report, err)
	}
	if err := archive.Finish(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	return svc
}

// wantSameLibraries compares every bucket of two stores. Entries of a copy may have the timestamp
// of a later state, because a change writes only the libraries that it concerns.
func wantSameLibraries(t *testing.T, a, b domain.Store) {
	t.Helper()
	ids, err := a.Principals.ScanPrincipals(t.Context(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if diff := cmp.Diff(derivedOf(t, a, id), derivedOf(t, b, id)); diff != "" {
			t.Fatalf("derived rows of %s (-source +target):\n%s", id, diff)
		}
	}
}

// derivedOf returns all derived rows of a principal.
func derivedOf(t *testing.T, s domain.Store, p principal.ID) []string {
	t.Helper()
	var all []string
	for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
		es, err := s.Libraries.PageLibrary(t.Context(), library.Slice{Owner: p, Bucket: b, Limit: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			all = append(all, fmt.Sprint(b, e.Position, e.Content, e.Role))
		}
	}
	shared, err := s.Libraries.SharedWith(t.Context(), p, "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Principals.Memberships(t.Context(), p, "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	built, err := s.Libraries.Built(t.Context(), p, library.ByChange)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, fmt.Sprint(shared), fmt.Sprint(in), fmt.Sprint(built))
}

// finish completes the work that random operations left pending: moves of hot items that are not
// due yet.
func finish(t *testing.T, store domain.Store) {
	t.Helper()
	runtime := sched.NewReal()
	defer runtime.Close()
	j := journal.New(t.Context(), store.Journal, runtime, nil)
	svc := domaintest.Open(t, domain.Config{Store: store, Runtime: runtime, Journal: j, Names: &domaintest.CountingNames{}})
	if err := errors.Join(j.Recover(t.Context(), svc.Background()), j.Drain(t.Context(), svc.Background())); err != nil {
		t.Fatalf("finishing the pending work: %v", err)
	}
}

// saveLongDraft saves a long draft of ann, and returns it with its text.
func saveLongDraft(t *testing.T, h *domaintest.Fixture) (note.Text, note.DraftRow) {
	t.Helper()
	_, err := h.Notes.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: "c:acme:n1", Title: "draft",
		Body: strings.Repeat("x", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	drafts, err := h.Store.Texts.ListDrafts(t.Context(), "u:acme:ann")
	if err != nil || len(drafts) != 1 {
		t.Fatalf("drafts %+v, %v", drafts, err)
	}
	rows, err := h.Store.Texts.ReadDrafts(t.Context(), "u:acme:ann", []string{drafts[0].Name}, false)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := h.Store.Texts.ReadTexts(t.Context(), []note.TextID{rows[0].Token})
	if err != nil || texts[0].Body == "" {
		t.Fatalf("the text of the draft: %+v, %v", texts, err)
	}
	return texts[0], rows[0]
}

func TestCopy_ServesTheSameAsItsSource(t *testing.T) {
	h := domaintest.Town(t)
	for n := range 5 {
		h.Note(fmt.Sprintf("n%d", n), principal.Public, "g:acme:team=VIEWER")
	}
	ann := domaintest.As("u:acme:ann")
	key := domaintest.Ptr("a key of ann's")
	create := library.CreateContent{Kind: library.Note, Title: "keyed", Visibility: principal.Public, IdempotencyKey: key}
	created, err := h.Library.CreateContent(t.Context(), ann, create)
	if err != nil {
		t.Fatal(err)
	}
	rename := library.UpdateContent{ID: "c:acme:n0", Title: input.Some(domaintest.Ptr("renamed")), IdempotencyKey: domaintest.Ptr("another")}
	if _, err := h.Library.UpdateContent(t.Context(), ann, rename); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Library.DeleteContent(t.Context(), ann, library.DeleteContent{ID: "c:acme:n4"}); err != nil {
		t.Fatal(err)
	}
	expires := clock.Of(h.Runtime.Now()).Add(time.Hour)
	if _, err := h.Library.UpdateContent(t.Context(), ann,
		library.UpdateContent{ID: "c:acme:n1", ExpiresAt: input.Some(&expires)}); err != nil {
		t.Fatal(err)
	}
	first, err := h.Listing.Library(t.Context(), ann, "g:acme:team", library.LibraryQuery{PageArgs: cursor.PageArgs{First: domaintest.Ptr(2)}})
	if err != nil {
		t.Fatal(err)
	}
	rest := func(svc *domain.Services) []string {
		rest, err := svc.Listing.Library(t.Context(), ann, "g:acme:team",
			library.LibraryQuery{PageArgs: cursor.PageArgs{After: first.PageInfo.EndCursor()}})
		if err != nil {
			t.Fatalf("continuing from a cursor: %v", err)
		}
		var titles []string
		for _, n := range rest.Nodes() {
			titles = append(titles, n.Title)
		}
		return titles
	}
	held, err := h.Leases.Acquire(t.Context(), ann, lease.Acquire{Documents: []lease.Document{{Key: "k"}}, TTLMs: domaintest.Ptr(3_600_000)})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long ", 1000)
	pasted := createPaste(t, h, long)
	h.Quiet()
	from, to := h.Embedded, newStore(t)
	defer closeStore(t, to)
	text, draft := saveLongDraft(t, h)
	names, err := naming.New(from, "host", 10)
	if err != nil {
		t.Fatal(err)
	}
	given, err := names.ContentName(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := archive.Copy(t.Context(), h.Runtime, source(from), to, noProgress)
	if err != nil {
		t.Fatal(err)
	}
	// 6 items, 11 members, 2 requests; 6 users, a group with its member; the cursor keys; a text; a draft; a lease with
	// two reminders and the list of its owner; a paste with its body and a reminder.
	if want := (map[string]int64{"settings": 1, "blocks": 1, "creations": 1, "principals": 8, "contents": 17, "dues": 4,
		"texts": 1, "drafts": 1, "leases": 2, "pastes": 1, "bodies": 1}); !cmp.Equal(want, rows) {
		t.Errorf("rows: %v, want %v", rows, want)
	}
	if texts, err := to.Texts.ReadTexts(t.Context(), []note.TextID{text.ID}); err != nil || texts[0] != text {
		t.Errorf("the text is %+v, %v", texts, err)
	}
	if drafts, err := to.Texts.ReadDrafts(t.Context(), draft.User, []string{draft.Name}, false); err != nil || !cmp.Equal(drafts[0], draft) {
		t.Errorf("the draft is %+v, %v", drafts, err)
	}
	svc := complete(t, to)
	wantSameLibraries(t, from.Store, to.Store)
	if c, err := to.Claims.ReadClaim(t.Context(), claim.Leased("acme", "k"), true); err != nil || c.Record != string(held.Lease.ID) {
		t.Errorf("the claim of the lease's key is %+v, %v", c, err)
	}
	wantPaste(t, to.Store, pasted, long)
	if diff := cmp.Diff(rest(h.Services), rest(svc)); diff != "" {
		t.Errorf("the cursor of the source has another position in the target:\n%s", diff)
	}
	again, err := svc.Library.CreateContent(t.Context(), ann, create)
	if err != nil || again.ID != created.ID {
		t.Errorf("the repetition of a keyed creation: %v, %v", again, err)
	}
	if out, err := svc.Library.UpdateContent(t.Context(), ann, rename); err != nil || out.Content.Version != 2 {
		t.Errorf("the repetition of a keyed update: %+v, %v", out, err)
	}
	_, err = svc.Library.CreateContent(t.Context(), ann, library.CreateContent{Name: domaintest.Ptr("n4"), Kind: library.Note,
		Title: "x", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TAKEN name")
	more, err := naming.New(to, "host", 10)
	if err != nil {
		t.Fatal(err)
	}
	if next, err := more.ContentName(t.Context()); err != nil || next == given {
		t.Errorf("the name %s is generated twice: %v", next, err)
	}
	if dues, err := to.Journal.DueReminders(t.Context(), expires.Add(2*time.Minute), 10); err != nil || len(dues) != 4 {
		t.Errorf("dues: %v, %v", dues, err)
	}
}

// stumbling is an archive of which one call fails, before or after it has taken effect, and which
// returns few rows at once.
type stumbling struct {
	*pebblestore.Store
	calls, failAt int
	after         bool
}

var errStumbled = errors.New("stumbled")

func (s *stumbling) stumble(do func() error) error {
	s.calls++
	if s.calls == s.failAt && !s.after {
		return errStumbled
	}
	if err := do(); err != nil {
		return err
	}
	if s.calls == s.failAt {
		return errStumbled
	}
	return nil
}

func (s *stumbling) ReadRows(ctx context.Context, c archive.Chapter, after []byte, limit int) (rows []archive.Row, next []byte, err error) {
	err = s.stumble(func() error {
		rows, next, err = s.Store.ReadRows(ctx, c, after, min(limit, 7))
		return err
	})
	return rows, next, err
}

func (s *stumbling) PutRows(ctx context.Context, rows []archive.Row) error {
	return s.stumble(func() error { return s.Store.PutRows(ctx, rows) })
}

func (s *stumbling) PutCopyNote(ctx context.Context, note []byte) error {
	return s.stumble(func() error { return s.Store.PutCopyNote(ctx, note) })
}

func TestCopy_ContinuesAfterAnInterruption(t *testing.T) {
	h := domaintest.Town(t)
	for n := range 6 {
		h.Note(fmt.Sprintf("n%d", n), principal.Public, "g:acme:team=VIEWER", "u:acme:ben=EDITOR")
	}
	h.Quiet()
	from := h.Embedded
	broken := 0
	for failAt, done := 1, false; !done; failAt++ {
		for _, after := range []bool{false, true} {
			to := newStore(t)
			target := &stumbling{Store: to, failAt: failAt, after: after}
			from := source(from)
			from.Store = &stumbling{Store: h.Embedded} // pages are small at both ends
			_, err := archive.Copy(t.Context(), h.Runtime, from, target, noProgress)
			if done = err == nil; !done {
				broken++
				if !errors.Is(err, errStumbled) {
					t.Fatalf("call %d failed, and the copy with: %v", failAt, err)
				}
				if _, err := archive.Copy(t.Context(), h.Runtime, from, target, noProgress); err != nil {
					t.Fatalf("continuing after call %d failed: %v", failAt, err)
				}
			}
			complete(t, to)
			wantSameLibraries(t, h.Store, to.Store)
			closeStore(t, to)
		}
	}
	if broken < 40 {
		t.Errorf("only %d copies were interrupted", broken)
	}
}

// TestCopy_ResumesWithoutPuttingRowsAgain: a resumed copy does not put rows again that the target
// has.
func TestCopy_ResumesWithoutPuttingRowsAgain(t *testing.T) {
	h := domaintest.Town(t)
	for n := range 20 {
		h.Note(fmt.Sprintf("n%d", n), principal.Public)
	}
	h.Quiet()
	to := newStore(t)
	defer closeStore(t, to)
	from := source(h.Embedded)
	from.Store = &stumbling{Store: h.Embedded}
	ctx, cancel := context.WithCancel(t.Context())
	var reached int64
	_, err := archive.Copy(ctx, h.Runtime, from, to, func(p archive.Progress) {
		if p.Doing == "copying" && p.Rows > p.Of/2 {
			reached = p.Rows
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || reached == 0 {
		t.Fatalf("interrupted at row %d: %v", reached, err)
	}
	least := int64(-1)
	if _, err := archive.Copy(t.Context(), h.Runtime, from, to, func(p archive.Progress) {
		if p.Doing == "copying" && least < 0 {
			least = p.Rows
		}
	}); err != nil {
		t.Fatal(err)
	}
	if least < reached-7 {
		t.Errorf("it had reached row %d and continued from row %d", reached, least)
	}
	complete(t, to)
}

// createPaste creates a paste of ann.
func createPaste(t *testing.T, h *domaintest.Fixture, body string) *paste.Created {
	t.Helper()
	made, err := h.Pastes.Create(t.Context(), domaintest.As("u:acme:ann"), paste.Create{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// wantPaste checks that a store has a paste as it was created, and that its secret is accepted.
func wantPaste(t *testing.T, store domain.Store, made *paste.Created, body string) {
	t.Helper()
	rt := sched.NewReal()
	defer rt.Close()
	services := domaintest.Open(t, domain.Config{Store: store, Runtime: rt, Journal: journal.New(t.Context(), store.Journal, rt, nil),
		Names: &domaintest.CountingNames{}})
	page, err := services.Pastes.Latest(t.Context(), domaintest.First(2))
	if err != nil || len(page.Edges) != 1 || page.Edges[0].Node.ID != made.Paste.ID {
		t.Fatalf("the newest pastes are %+v, %v", page, err)
	}
	if bodies, err := services.Pastes.Bodies(t.Context(), page.Nodes()); err != nil || bodies[0] == nil || *bodies[0] != body {
		t.Errorf("the body: %v", err)
	}
	if _, err := services.Pastes.Update(t.Context(), paste.Update{ID: string(made.Paste.ID), Secret: made.Secret,
		ClearExpiry: true}); err != nil {
		t.Errorf("with the secret: %v", err)
	}
}

// A store with changes in flight cannot be copied. Changes that have ended and linger do not matter.
func TestCopy_SourceWithChangesInFlightIsRefused(t *testing.T) {
	runtime := sched.NewReal()
	defer runtime.Close()
	ended := commit.Entry{Kind: commit.Principal, Key: "u:acme:ann", Decided: true, Ended: true}
	pending := commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "u:acme:ben"}
	for _, c := range []struct {
		entries []commit.Entry
		refused bool
	}{{nil, false}, {[]commit.Entry{ended}, false}, {[]commit.Entry{ended, pending}, true}} {
		from, to := newStore(t), newStore(t)
		block, err := commit.Encode(c.entries)
		if err = errors.Join(err, from.Journal.PutInFlightList(t.Context(), commit.InFlightList{ID: "list", Stamp: 1,
			Block: block})); err != nil {
			t.Fatal(err)
		}
		_, err = archive.Copy(t.Context(), runtime, source(from), to, noProgress)
		if refused := fault.CodeOf(err) == fault.Conflict; refused != c.refused || !refused && err != nil {
			t.Errorf("with the changes %+v: %v", c.entries, err)
		}
		closeStore(t, from)
		closeStore(t, to)
	}
}
