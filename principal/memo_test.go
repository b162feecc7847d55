package principal_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// principalReads records which principals are read.
type principalReads struct {
	principal.Store
	mu  sync.Mutex
	ids []principal.ID
}

func (p *principalReads) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	p.mu.Lock()
	p.ids = append(p.ids, ids...)
	p.mu.Unlock()
	return p.Store.ReadPrincipals(ctx, ids)
}

// take returns what was read since the last call.
func (p *principalReads) take() []principal.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := p.ids
	p.ids = nil
	return ids
}

// TestMemo_ReadsAPrincipalOncePerRequest checks a request that looks a user up, reads its library
// and then the creators of the items in it: it reads each principal once. The next request reads
// them again, and so does a read after a change.
func TestMemo_ReadsAPrincipalOncePerRequest(t *testing.T) {
	var reads *principalReads
	h := domaintest.New(t, func(s *domain.Store) {
		reads = &principalReads{Store: s.Principals}
		s.Principals = reads
	})
	const ann, bob, hidden = "u:acme:ann", "u:acme:bob", "u:acme:hidden"
	h.User(ann, principal.Public)
	h.User(bob, principal.Public)
	h.User(hidden, principal.Private)
	ask := func(v *principal.Viewer, ids ...principal.ID) []principal.Principal {
		t.Helper()
		ps, err := h.People.Principals(t.Context(), v, ids)
		if err != nil {
			t.Fatal(err)
		}
		return ps
	}
	wantRead := func(want ...principal.ID) {
		t.Helper()
		if got := reads.take(); !slices.Equal(got, want) {
			t.Errorf("%v were read, want %v", got, want)
		}
	}
	for range 2 {
		reads.take()
		v := domaintest.As(bob)
		ask(v, ann)
		if _, err := h.Listing.Library(t.Context(), v, ann, library.LibraryQuery{}); err != nil {
			t.Fatal(err)
		}
		ps := ask(v, bob, hidden, ann, bob)
		if ps[0].PrincipalID() != bob || ps[1] != nil || ps[2].PrincipalID() != ann || ps[3].PrincipalID() != bob {
			t.Errorf("%v were shown", ps)
		}
		wantRead(ann, bob, hidden, bob)
		ask(v, hidden, ann)
		wantRead(hidden)
		if u, err := h.People.ViewerUser(t.Context(), v); err != nil || u.ID != bob {
			t.Errorf("the viewer's user is %v, %v", u, err)
		}
		wantRead()
	}
	v := domaintest.As(ann)
	name := "Ann"
	if got := ask(v, ann); got[0].Head().DisplayName == name {
		t.Fatalf("her name is %s already", name)
	}
	if _, err := h.People.UpdateUser(t.Context(), v, principal.UpdateUser{ID: ann, DisplayName: input.Some(&name)}); err != nil {
		t.Fatal(err)
	}
	if got := ask(v, ann); got[0].Head().DisplayName != name {
		t.Errorf("after the change her name is %s", got[0].Head().DisplayName)
	}
}

// TestMemo_KeepsManyPrincipals checks that a request that reads many principals keeps all of them,
// including the first few.
func TestMemo_KeepsManyPrincipals(t *testing.T) {
	var reads *principalReads
	h := domaintest.New(t, func(s *domain.Store) {
		reads = &principalReads{Store: s.Principals}
		s.Principals = reads
	})
	var ids []principal.ID
	for n := range 60 {
		id := principal.UserID("acme", fmt.Sprintf("user%02d", n))
		h.User(string(id), principal.Public)
		ids = append(ids, id)
	}
	v := domaintest.As(string(ids[0]))
	reads.take()
	for _, n := range []int{20, 24, 25, 60} {
		ps, err := h.People.Principals(t.Context(), v, ids[:n])
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range ps {
			if p.PrincipalID() != ids[i] {
				t.Errorf("%s is shown for %s", p.PrincipalID(), ids[i])
			}
		}
	}
	if read := reads.take(); !slices.Equal(read, ids) {
		t.Errorf("%v were read, want each of %d once", read, len(ids))
	}
}
