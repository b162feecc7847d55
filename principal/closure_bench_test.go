package principal_test

import (
	"fmt"
	"testing"

	"carrel/domain/domaintest"
	"carrel/principal"
)

// BenchmarkResolvingGroups resolves 2,000 groups: 1,000 direct ones, each in
// another one.
func BenchmarkResolvingGroups(b *testing.B) {
	r := domaintest.NewRows(b)
	r.Principals("u:acme:ann")
	for i := range 1000 {
		low, high := principal.GroupID("acme", fmt.Sprint("low", i)), principal.GroupID("acme", fmt.Sprint("high", i))
		r.Principals(low, high)
		r.Join(low, true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
		r.Join(high, true, domaintest.GroupMember(low, principal.GroupMember))
	}
	for b.Loop() {
		if role, err := r.People.GroupRoleOf(b.Context(), domaintest.Ann(), "g:acme:high999"); err != nil || role == principal.NotInGroup {
			b.Fatal(role, err)
		}
	}
}
