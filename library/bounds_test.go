package library_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// hangs is a store and a source of names of which one call never returns by itself.
type hangs struct {
	commit.RegisterStore
	principal.Store
	library.ContentStore
	library.LibraryStore
	call string
	on   atomic.Bool
}

// around returns s with the changes.
func (h *hangs) around(s domain.Store) domain.Store {
	h.RegisterStore, h.Store, h.ContentStore, h.LibraryStore, s.Registers, s.Principals, s.Contents, s.Libraries = s.Registers,
		s.Principals, s.Contents, s.Libraries, h, h, h, h
	return s
}

func (h *hangs) hang(ctx context.Context, call string) error {
	if call != h.call || !h.on.Load() {
		return nil
	}
	<-ctx.Done()
	return fault.Unavailablef(ctx.Err(), "the store hangs")
}

func (h *hangs) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if err := h.hang(ctx, "ReadPrincipals"); err != nil {
		return nil, err
	}
	return h.Store.ReadPrincipals(ctx, ids)
}

func (h *hangs) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	if err := h.hang(ctx, "ReadPrincipal"); err != nil {
		return nil, err
	}
	return h.Store.ReadPrincipal(ctx, id, q)
}

func (h *hangs) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	if err := h.hang(ctx, "ReadMany"); err != nil {
		return nil, err
	}
	return h.ContentStore.ReadMany(ctx, ids, members)
}

func (h *hangs) OpenLibrary(ctx context.Context, s library.Slice, newest bool) (*library.Opening, error) {
	if err := h.hang(ctx, "OpenLibrary"); err != nil {
		return nil, err
	}
	return h.LibraryStore.OpenLibrary(ctx, s, newest)
}

func (h *hangs) Changes(ctx context.Context, p principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	if err := h.hang(ctx, "Changes"); err != nil {
		return nil, err
	}
	return h.LibraryStore.Changes(ctx, p, after, limit)
}

func (h *hangs) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	if err := h.hang(ctx, "PutCreationIfAbsent"); err != nil {
		return commit.Creation{}, fault.Uncertain(err)
	}
	return h.RegisterStore.PutCreationIfAbsent(ctx, c, replace)
}

func (h *hangs) ContentName(ctx context.Context) (string, error) {
	return "host/1", h.hang(ctx, "ContentName")
}

// hasty is a Runtime whose deadlines pass at once when the store hangs, and which records how
// long they were.
type hasty struct {
	*sched.Real
	store *hangs

	mu   sync.Mutex
	last time.Duration
}

func (h *hasty) Deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if !h.store.on.Load() {
		return h.Real.Deadline(ctx, d)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = d
	// The calls that do not hang have this long.
	return h.Real.Deadline(ctx, 250*time.Millisecond)
}

// boundedStep is a call of a store that hangs during a request.
type boundedStep struct {
	name, call string
	do         func(ctx context.Context, svc *domain.Services) error
	within     time.Duration
}

func stepsOfMutations() []boundedStep {
	ann := domaintest.As("u:acme:ann")
	keyed := domaintest.Ptr("a key")
	creation := library.CreateContent{Kind: library.Note, Title: "x", Visibility: principal.Public}
	return []boundedStep{
		{"who creates", "ReadPrincipals", func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.CreateContent(ctx, ann, creation)
			return err
		}, 2 * time.Second},
		{"a generated name", "ContentName", func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.CreateContent(ctx, ann, creation)
			return err
		}, 2 * time.Second},
		{"a keyed creation", "PutCreationIfAbsent", func(ctx context.Context, svc *domain.Services) error {
			in := creation
			in.IdempotencyKey = keyed
			_, err := svc.Library.CreateContent(ctx, ann, in)
			return err
		}, 2 * time.Second},
		{"the name of a keyed creation", "ContentName", func(ctx context.Context, svc *domain.Services) error {
			in := creation
			in.IdempotencyKey = keyed
			_, err := svc.Library.CreateContent(ctx, ann, in)
			return err
		}, 2 * time.Second},
		{"a keyed user", "ReadPrincipal", func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.CreateUser(ctx, domaintest.As("u:acme:eve"), principal.CreateUser{Tenant: "acme", Name: "eve",
				DisplayName: "Eve", Email: "e@x.example", Visibility: principal.Public, IdempotencyKey: keyed})
			return err
		}, 2 * time.Second},
		{"the key of a group", "PutCreationIfAbsent", func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.CreateGroup(ctx, ann, principal.CreateGroup{Tenant: "acme", Name: "eves", DisplayName: "Eves",
				Visibility: principal.Public, IdempotencyKey: keyed})
			return err
		}, 2 * time.Second},
		{"a group without a key", "ReadPrincipal", func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.CreateGroup(ctx, ann, principal.CreateGroup{Tenant: "acme", Name: "eves", DisplayName: "Eves",
				Visibility: principal.Public})
			return err
		}, 5 * time.Second},
	}
}

func stepsOfSubscriptions() []boundedStep {
	ann := domaintest.As("u:acme:ann")
	return []boundedStep{
		{"whose library is followed", "ReadPrincipals", func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Feed.Follow(ctx, domaintest.As("u:acme:ben"), "u:acme:ann", nil)
			return err
		}, 5 * time.Second},
		{"what a follower has missed", "Changes", func(ctx context.Context, svc *domain.Services) error {
			page, err := svc.Listing.Library(ctx, ann, "u:acme:ann", library.LibraryQuery{})
			if err != nil {
				return err
			}
			_, err = svc.Feed.Follow(ctx, ann, "u:acme:ann", page.PageInfo.EndCursor())
			return err
		}, 5 * time.Second},
		{"an event", "ReadMany", func(ctx context.Context, svc *domain.Services) error {
			f, err := svc.Feed.Follow(ctx, ann, "u:acme:ann", nil)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := svc.Library.UpdateContent(ctx, ann,
				library.UpdateContent{ID: "c:acme:a", Title: input.Some(domaintest.Ptr("b"))}); err != nil {
				return err
			}
			_, err = f.Next(ctx)
			return err
		}, 5 * time.Second},
	}
}

// TestMutation_EveryStepBeforeTheDecisionIsBounded: whatever hangs before a compare-and-set was
// sent, the caller gets an error, and no step waits for longer than the protocol allows.
func TestMutation_EveryStepBeforeTheDecisionIsBounded(t *testing.T) {
	for _, tc := range append(stepsOfMutations(), stepsOfSubscriptions()...) {
		t.Run(tc.name, func(t *testing.T) {
			h := domaintest.Town(t)
			h.Note("a", principal.Public)
			h.Quiet()
			store := &hangs{call: tc.call}
			rt := &hasty{Real: h.Runtime, store: store}
			svc := domaintest.Open(t, domain.Config{Store: store.around(h.Store), Runtime: rt, Journal: h.Journal, Names: store})
			store.on.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := tc.do(ctx, svc)
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != fault.Unavailable || e.Reason != "" || e.RetryAfter == 0 {
				t.Errorf("the caller gets %v", err)
			}
			// Part of the time for all steps is used up already.
			if rt.last > tc.within || rt.last < tc.within/2 {
				t.Errorf("what hangs is bounded by %s, want %s", rt.last, tc.within)
			}
		})
	}
}

// TestMutation_ClockFarAheadIsRefused: a gateway whose clock is far ahead of that of its store
// refuses all mutations, and still serves reads.
func TestMutation_ClockFarAheadIsRefused(t *testing.T) {
	h := domaintest.Town(t)
	h.Note("a", principal.Public)
	h.Quiet()
	var ahead atomic.Int64
	svc := domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{},
		Ahead: func() time.Duration { return time.Duration(ahead.Load()) },
	})
	ann := domaintest.As("u:acme:ann")
	title := 0
	update := func() error {
		title++
		_, err := svc.Library.UpdateContent(t.Context(), ann,
			library.UpdateContent{ID: "c:acme:a", Title: input.Some(domaintest.Ptr(string(rune('a' + title))))})
		return err
	}
	mutations := map[string]func() error{
		"update": update,
		"create": func() error {
			_, err := svc.Library.CreateContent(t.Context(), ann, library.CreateContent{Kind: library.Note, Title: "x",
				Visibility: principal.Public})
			return err
		},
		"update of a user": func() error {
			_, err := svc.People.UpdateUser(t.Context(), ann,
				principal.UpdateUser{ID: "u:acme:ann", DisplayName: input.Some(domaintest.Ptr("Another"))})
			return err
		},
		"fence": func() error {
			_, err := svc.Background().Resume(t.Context(), commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: "c:acme:none",
				Reach: commit.Reach{Scope: commit.ScopeAll}})
			return err
		},
		"fence of a principal": func() error {
			_, err := svc.Background().Resume(t.Context(), commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "u:acme:none"})
			return err
		},
	}
	ahead.Store(int64(10*time.Second + time.Microsecond))
	for name, mutate := range mutations {
		err := mutate()
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.Unavailable || e.Reason != "" || e.RetryAfter == 0 || fault.MayHaveCommitted(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if page, err := svc.Listing.Library(t.Context(), ann, "u:acme:ann", library.LibraryQuery{}); err != nil || len(page.Nodes()) != 1 {
		t.Errorf("reading: %v, %v", page, err)
	}
	ahead.Store(int64(10 * time.Second))
	for name, mutate := range mutations {
		if err := mutate(); err != nil {
			t.Errorf("%s by a clock within the bound: %v", name, err)
		}
	}
	h.Quiet()
}
