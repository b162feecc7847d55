package library_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// slow is a store each call of which takes some time, at most as long as its caller waits.
type slow struct {
	commit.JournalStore
	commit.RegisterStore
	principal.Store
	library.ContentStore
	each atomic.Int64 // a time.Duration
	// commits counts the compare-and-sets that were sent.
	commits atomic.Int64
}

func (s *slow) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(s.each.Load())):
		return nil
	}
}

func (s *slow) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.ReadPrincipals(ctx, ids)
}

func (s *slow) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.ReadPrincipal(ctx, id, q)
}

func (s *slow) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.ContentStore.Read(ctx, id, q)
}

func (s *slow) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	if err := s.wait(ctx); err != nil {
		return commit.Creation{}, err
	}
	return s.RegisterStore.PutCreationIfAbsent(ctx, c, replace)
}

func (s *slow) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.JournalStore.PutInFlightList(ctx, l)
}

func (s *slow) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	s.commits.Add(1)
	return s.ContentStore.Commit(ctx, c)
}

func (s *slow) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	s.commits.Add(1)
	return s.Store.CommitPrincipal(ctx, c)
}

// TestBudget_RefusalIsInTime checks that each step of a mutation has time of its own to wait for
// the store, and all of them together at most 5 s.
func TestBudget_RefusalIsInTime(t *testing.T) {
	ann := func() *principal.Viewer { return domaintest.As("u:acme:ann") }
	key := domaintest.Ptr("a key")
	for name, mutate := range map[string]func(ctx context.Context, svc *domain.Services) error{
		"createContent": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.CreateContent(ctx, ann(), library.CreateContent{Kind: library.Note, Title: "x",
				Visibility: principal.Public, IdempotencyKey: key})
			return err
		},
		"updateContent": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.UpdateContent(ctx, ann(), library.UpdateContent{ID: "c:acme:a", Title: input.Some(domaintest.Ptr("b")),
				IdempotencyKey: key})
			return err
		},
		"deleteContent": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.DeleteContent(ctx, ann(), library.DeleteContent{ID: "c:acme:a"})
			return err
		},
		"shareContent": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.ShareContent(ctx, ann(), library.ShareContent{Content: "c:acme:a", Principals: []string{"u:acme:ben"},
				Role: library.Viewing})
			return err
		},
		"setContentMembers": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.SetContentMembers(ctx, ann(), library.SetContentMembers{Content: "c:acme:a",
				Members: domaintest.MemberChanges("u:acme:ben=EDITOR")})
			return err
		},
		"removeFromLibrary": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.Library.RemoveFromLibrary(ctx, domaintest.As("u:acme:cleo"),
				library.RemoveFromLibrary{Principal: "u:acme:cleo", Content: "c:acme:a"})
			return err
		},
		"createUser": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.CreateUser(ctx, domaintest.As("u:acme:eve"), principal.CreateUser{Tenant: "acme", Name: "eve",
				DisplayName: "Eve", Email: "e@x.example", Visibility: principal.Public, IdempotencyKey: key})
			return err
		},
		"updateUser": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.UpdateUser(ctx, ann(), principal.UpdateUser{ID: "u:acme:ann", DisplayName: input.Some(domaintest.Ptr("A"))})
			return err
		},
		"createGroup": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.CreateGroup(ctx, ann(), principal.CreateGroup{Tenant: "acme", Name: "g", DisplayName: "G",
				Visibility: principal.Public, IdempotencyKey: key})
			return err
		},
		"updateGroup": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.UpdateGroup(ctx, domaintest.As("u:acme:cleo"), principal.UpdateGroup{ID: "g:acme:team",
				DisplayName: input.Some(domaintest.Ptr("T"))})
			return err
		},
		"setGroupMembers": func(ctx context.Context, svc *domain.Services) error {
			_, err := svc.People.SetGroupMembers(ctx, domaintest.As("u:acme:cleo"), principal.SetGroupMembers{Group: "g:acme:team",
				Members: []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:ben=MEMBER")}})
			return err
		},
	} {
		for _, each := range []time.Duration{1200 * time.Millisecond, 1900 * time.Millisecond, 4 * time.Second, time.Hour} {
			t.Run(fmt.Sprintf("%s, calls of %v", name, each), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { refusedInTime(t, each, mutate) })
			})
		}
	}
}

// refusedInTime makes a mutation on a store whose calls take some time. Unless it is decided,
// it must be refused in time, with nothing sent.
func refusedInTime(t *testing.T, each time.Duration, mutate func(ctx context.Context, svc *domain.Services) error) {
	store := &slow{}
	h := domaintest.New(t, func(s *domain.Store) {
		store.JournalStore, store.RegisterStore, store.Store, store.ContentStore, s.Journal, s.Registers, s.Principals,
			s.Contents = s.Journal, s.Registers, s.Principals, s.Contents, store, store, store, store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo"} {
		h.User(id, principal.Public)
	}
	h.Group("g:acme:team", "u:acme:cleo", principal.Public)
	h.Note("a", principal.Public, "u:acme:cleo=VIEWER")
	h.Quiet()
	store.commits.Store(0)
	store.each.Store(int64(each))
	start := time.Now()
	err := mutate(t.Context(), h.Services)
	took := time.Since(start)
	if store.commits.Load() == 0 && (fault.CodeOf(err) != fault.Unavailable || fault.MayHaveCommitted(err) || took > 5*time.Second) {
		t.Errorf("refused after %v: %v", took, err)
	}
	if each == time.Hour && store.commits.Load() > 0 {
		t.Error("a store that hangs is sent a change")
	}
	store.each.Store(0)
	h.Quiet()
}
