package paste_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/paste"
	"carrel/principal"
)

// pastes is a fixture with the Service of pastes.
type pastes struct {
	*domaintest.Fixture
	faults         *faulty
	anonymous, ann *principal.Viewer
}

// Two interfaces with the name Store, for a type that embeds both.
type (
	pasteStore = paste.Store
	feedStore  = feed.Store
)

// faulty is a store whose calls a test can replace. A nil function calls the store.
type faulty struct {
	pasteStore
	feedStore
	mu          sync.Mutex
	commitPaste func(r paste.Row, next func() (paste.Row, error)) (paste.Row, error)
	putEntry    func(c feed.Change, next func() error) error
	readBodies  func()
	readPastes  func() // before rows are read
	listEntries func() error
	calls       map[string]int
	refs        []paste.Ref // of the last ReadPastes
}

// on returns s with the changes.
func (f *faulty) on(s domain.Store) domain.Store {
	f.pasteStore, f.feedStore, s.Pastes, s.Feeds = s.Pastes, s.Feeds, f, f
	return s
}

func (f *faulty) count(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
}

func (f *faulty) CommitRow(ctx context.Context, r paste.Row) (paste.Row, error) {
	f.mu.Lock()
	do := f.commitPaste
	f.mu.Unlock()
	next := func() (paste.Row, error) { return f.pasteStore.CommitRow(ctx, r) }
	if do == nil {
		return next()
	}
	return do(r, next)
}

func (f *faulty) PutEntry(ctx context.Context, c feed.Change) error {
	f.count("PutEntry")
	f.mu.Lock()
	do := f.putEntry
	f.mu.Unlock()
	next := func() error { return f.feedStore.PutEntry(ctx, c) }
	if do == nil {
		return next()
	}
	return do(c, next)
}

func (f *faulty) ListEntries(ctx context.Context, p feed.Partition, s feed.Slice) ([]feed.Entry, error) {
	f.count("ListEntries")
	f.mu.Lock()
	do := f.listEntries
	f.mu.Unlock()
	if do != nil {
		if err := do(); err != nil {
			return nil, err
		}
	}
	return f.feedStore.ListEntries(ctx, p, s)
}

func (f *faulty) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	f.count("ReadPastes")
	f.mu.Lock()
	f.refs = refs
	do := f.readPastes
	f.mu.Unlock()
	if do != nil {
		do()
	}
	return f.pasteStore.ReadPastes(ctx, refs)
}

func (f *faulty) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	f.mu.Lock()
	do := f.readBodies
	f.mu.Unlock()
	if do != nil {
		do()
	}
	return f.pasteStore.ReadBodies(ctx, refs)
}

// set changes the functions.
func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

var errUnknown = fault.Uncertain(errors.New("the node was lost"))

func newPastes(t *testing.T) pastes {
	t.Helper()
	f := &faulty{calls: map[string]int{}}
	h := domaintest.New(t, func(s *domain.Store) { *s = f.on(*s) })
	h.User("u:acme:ann", principal.Public)
	return pastes{h, f, &principal.Viewer{}, domaintest.As("u:acme:ann")}
}

// create stores a paste, and fails the test on error.
func (h pastes) create(in paste.Create) *paste.Created {
	h.T.Helper()
	made, err := h.Pastes.Create(h.T.Context(), h.anonymous, in)
	if err != nil {
		h.T.Fatalf("creating a paste: %v", err)
	}
	return made
}

// titled returns the input of a public paste.
func titled(title string) paste.Create { return paste.Create{Title: &title, Body: "body of " + title} }

// setPrivate makes a paste private or public.
func (h pastes) setPrivate(made *paste.Created, private bool) error {
	_, err := h.Pastes.Update(h.T.Context(), paste.Update{ID: string(made.Paste.ID), Secret: made.Secret, IsPrivate: input.Some(&private)})
	return err
}

// wantLatest compares the titles of the newest pastes.
func (h pastes) wantLatest(svc *paste.Service, want ...string) {
	h.T.Helper()
	page, err := svc.Latest(h.T.Context(), domaintest.First(100))
	if err != nil {
		h.T.Fatalf("listing pastes: %v", err)
	}
	if diff := cmp.Diff(want, titlesOf(page)); diff != "" {
		h.T.Errorf("the newest pastes (-want +got):\n%s", diff)
	}
}

func titlesOf(page *paste.Connection) []string {
	var all []string
	for _, p := range page.Nodes() {
		all = append(all, *p.Title)
	}
	return all
}

// wantBody reads a paste and compares its body; "" means that there must be no paste.
func (h pastes) wantBody(svc *paste.Service, id paste.ID, want string) {
	h.T.Helper()
	p, err := svc.Paste(h.T.Context(), string(id))
	if err != nil {
		h.T.Fatalf("reading %s: %v", id, err)
	}
	if p == nil || want == "" {
		if (p == nil) != (want == "") {
			h.T.Errorf("the paste is %v, want the body %.20q", p, want)
		}
		return
	}
	bodies, err := svc.Bodies(h.T.Context(), []*paste.Paste{p})
	if err != nil || bodies[0] == nil || *bodies[0] != want {
		h.T.Errorf("the body is %v, %v, want %.20q", bodies, err, want)
	}
}

// entries returns all stored entries of the feed.
func (h pastes) entries() []feed.Entry {
	h.T.Helper()
	feeds := feed.New(feed.Config{Store: h.faults.feedStore, Runtime: h.Runtime})
	es, err := feeds.Since(h.T.Context(), "pastes", feed.Entry{Created: clock.Min}, 10_000)
	if err != nil {
		h.T.Fatalf("listing the feed: %v", err)
	}
	return es
}
