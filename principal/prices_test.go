package principal_test

import (
	"fmt"
	"testing"

	"carrel/domain/domaintest"
	"carrel/principal"
)

// TestMeter_HiddenRowsCostNothing: what a viewer pays and what is read for it does not depend on hidden groups:
// neither those in a list of members or groups, nor those of a new member.
func TestMeter_HiddenRowsCostNothing(t *testing.T) {
	pay := func(hidden int) (prices []int, reads []int) {
		h, store := newRoundsFixture(t)
		for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:eve"} {
			h.User(u, principal.Public)
		}
		h.Group("g:acme:open", "u:acme:ann", principal.Public)
		h.Group("g:acme:eves", "u:acme:eve", principal.Public)
		h.Group("g:acme:low", "u:acme:bob", principal.Public)
		for i := range hidden {
			group := storeGroup(h, "acme", fmt.Sprint("hidden", i), principal.Private, principal.GroupManager, "u:acme:bob")
			h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:open", string(group)+"=MEMBER")
			h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:low", string(group)+"=MEMBER")
		}
		for _, call := range []func(v *principal.Viewer) error{
			func(v *principal.Viewer) error {
				c, err := h.People.GroupMembers(t.Context(), v, "g:acme:open", domaintest.First(10))
				if err == nil {
					_, err = c.TotalCount(t.Context())
				}
				return err
			},
			func(v *principal.Viewer) error {
				_, err := h.People.Groups(t.Context(), v, "u:acme:bob", domaintest.First(10))
				return err
			},
			func(v *principal.Viewer) error {
				_, err := h.Set(v, "g:acme:eves", "u:acme:bob=MEMBER", "g:acme:low=MEMBER")
				return err
			},
		} {
			v := domaintest.As("u:acme:eve")
			store.reset()
			if err := call(v); err != nil {
				t.Fatal(err)
			}
			resolutions, libraries := v.Resolved()
			prices, reads = append(prices, resolutions, libraries), append(reads, store.memberships)
		}
		return prices, reads[:2]
	}
	none, noReads := pay(0)
	some, someReads := pay(3)
	if fmt.Sprint(none) != fmt.Sprint(some) || none[0] != 1 || none[2] != 1 || none[4] < 3 {
		t.Errorf("charged %v without hidden groups, and %v with some", none, some)
	}
	if fmt.Sprint(noReads) != fmt.Sprint(someReads) || noReads[0] == 0 {
		t.Errorf("%v readings of memberships without hidden groups, and %v with some", noReads, someReads)
	}
}
