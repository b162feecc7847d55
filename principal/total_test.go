package principal_test

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/cursor"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// TestTotal_IsNullBeyondAThousandRows checks that the total is exact for up to 1,000 rows, visible
// or not, and null for more.
func TestTotal_IsNullBeyondAThousandRows(t *testing.T) {
	h := domaintest.Town(t)
	for rows, want := range map[int]string{0: "0", 3: "1", 1000: "1", 1001: "none"} {
		reads := 0
		list := h.People.NewList(domaintest.Ann(), cursor.OfGroupMembers, "g:acme:big",
			func(_ context.Context, after principal.ListPosition, limit int) (page []principal.Listed, ended bool, err error) {
				reads++
				for n := range rows {
					id := principal.ID(fmt.Sprintf("u:acme:x%04d", n))
					if n == rows-1 {
						id = "u:acme:zed"
					}
					if n == 0 {
						id = "u:acme:ann" // the one that is seen
					}
					if at := principal.ListPosition(id); at > after && len(page) < limit {
						page = append(page, principal.Listed{At: at, ID: id, Active: true})
					}
				}
				return page, len(page) < limit, nil
			})
		total, err := list.Total(t.Context())
		got := "none"
		if total != nil {
			got = fmt.Sprint(*total)
		}
		if err != nil || got != want || reads > 20 {
			t.Errorf("%d rows: %s, want %s, after %d reads, %v", rows, got, want, reads, err)
		}
	}
}
