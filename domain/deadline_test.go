package domain_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"carrel/core/cursor"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/paste"
	"carrel/principal"
)

// Two interfaces with the name Store, for a type that embeds both.
type (
	pastes = paste.Store
	people = principal.Store
)

// deadlines is a store that notes which reads had a deadline.
type deadlines struct {
	pastes
	people
	mu    sync.Mutex
	reads map[string]bool
}

func (d *deadlines) note(ctx context.Context, call string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, limited := ctx.Deadline()
	d.reads[call] = d.reads[call] || limited
}

func (d *deadlines) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	d.note(ctx, "ReadPastes")
	return d.pastes.ReadPastes(ctx, refs)
}

func (d *deadlines) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	d.note(ctx, "ReadBodies")
	return d.pastes.ReadBodies(ctx, refs)
}

func (d *deadlines) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	d.note(ctx, "GroupMembersPage")
	return d.people.GroupMembersPage(ctx, group, after, limit, serial)
}

// TestQueries_OnlyTheCallerLimitsTheirTime: a query that is slow takes as long as the edge allows.
func TestQueries_OnlyTheCallerLimitsTheirTime(t *testing.T) {
	store := &deadlines{reads: map[string]bool{}}
	h := domaintest.New(t, func(s *domain.Store) {
		store.pastes, store.people, s.Pastes, s.Principals = s.Pastes, s.Principals, store, store
	})
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	h.Group("g:acme:team", "u:acme:ann", principal.Public)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:bob=MEMBER")
	made, err := h.Pastes.Create(t.Context(), domaintest.Anonymous(), paste.Create{Body: strings.Repeat("long ", 10_000)})
	if err != nil {
		t.Fatal(err)
	}
	clear(store.reads)
	if _, err := h.Pastes.Latest(t.Context(), cursor.PageArgs{}); err != nil {
		t.Error(err)
	}
	ps, err := h.Pastes.Pastes(t.Context(), []paste.ID{made.Paste.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Pastes.Bodies(t.Context(), ps); err != nil {
		t.Error(err)
	}
	members, err := h.People.GroupMembers(t.Context(), domaintest.As("u:acme:ann"), "g:acme:team", domaintest.First(1))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := members.TotalCount(t.Context()); err != nil || n == nil || *n != 2 {
		t.Errorf("%v members, %v", n, err)
	}
	for _, call := range []string{"ReadPastes", "ReadBodies", "GroupMembersPage"} {
		if limited, read := store.reads[call]; limited || !read {
			t.Errorf("%s: called %v, with a deadline of its own %v", call, read, limited)
		}
	}
}
