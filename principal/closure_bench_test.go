package principal_test

import (
	"fmt"
	"testing"

	"carrel/backend/backendtest"
	"carrel/principal"
)

// BenchmarkResolvingGroups resolves 2,000 groups: 1,000 direct ones, each in
// another one.
func BenchmarkResolvingGroups(b *testing.B) {
	r := backendtest.NewRows(b)
	r.Principals("u:acme:ann")
	for i := range 1000 {
		low, high := principal.GroupID("acme", fmt.Sprint("low", i)), principal.GroupID("acme", fmt.Sprint("high", i))
		r.Principals(low, high)
		r.Join(low, true, backendtest.GroupMember("u:acme:ann", principal.GroupMember))
		r.Join(high, true, backendtest.GroupMember(low, principal.GroupMember))
	}
	for b.Loop() {
		if role, err := r.People.GroupRoleOf(b.Context(), backendtest.Ann(), "g:acme:high999"); err != nil || role == principal.NotInGroup {
			b.Fatal(role, err)
		}
	}
}
