package principal_test

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/cursor"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// TestFind_ManyHiddenPrincipalsEndThePage checks that very many hidden principals end a page, and
// that the next one continues from there. No header is read of principals whose rows show that they
// are hidden.
func TestFind_ManyHiddenPrincipalsEndThePage(t *testing.T) {
	reads := &countingReads{}
	h := domaintest.New(t, func(s *domain.Store) { reads.Store, s.Principals = s.Principals, reads })
	for i := range 1000 {
		_, err := h.People.Upkeep.ImportUser(t.Context(), principal.ImportUser{ID: fmt.Sprintf("u:acme:h%04d", i),
			DisplayName: "hidden", Visibility: principal.Private})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.WantFound(domaintest.As("u:acme:who"), "hid")
	h.UserNamed("u:acme:zoe", "Hidden no more", principal.Public)
	reads.headers = 0
	c, err := domaintest.Search(h.Services, "acme", domaintest.Ptr("hid"))(t.Context(), domaintest.As("u:acme:who"), cursor.PageArgs{})
	if err != nil || len(c.Edges) > 0 || !c.PageInfo.HasNextPage || c.PageInfo.EndCursor() == nil || reads.headers > 0 {
		t.Fatalf("%+v, %v, %d headers", c, err, reads.headers)
	}
	c, err = domaintest.Search(h.Services, "acme", domaintest.Ptr("hid"))(t.Context(), domaintest.As("u:acme:who"),
		cursor.PageArgs{After: c.PageInfo.EndCursor()})
	if err != nil || len(c.Edges) != 1 || c.Edges[0].Node.PrincipalID() != "u:acme:zoe" || c.PageInfo.HasNextPage {
		t.Errorf("%+v, %v", c, err)
	}
}

// countingReads counts the headers that are read many at a time.
type countingReads struct {
	principal.Store
	headers int
}

func (c *countingReads) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	c.headers += len(ids)
	return c.Store.ReadPrincipals(ctx, ids)
}
