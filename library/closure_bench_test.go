package library_test

import (
	"fmt"
	"testing"

	"carrel/principal"
)

// BenchmarkResolvingGroups resolves 2,000 groups: 1,000 direct ones, each in
// another one.
func BenchmarkResolvingGroups(b *testing.B) {
	r := newRoom(b)
	r.principals("u:acme:ann")
	for i := range 1000 {
		low, high := principal.GroupID("acme", fmt.Sprint("low", i)), principal.GroupID("acme", fmt.Sprint("high", i))
		r.principals(low, high)
		r.join(low, true, in("u:acme:ann", principal.GroupMember))
		r.join(high, true, in(low, principal.GroupMember))
	}
	for b.Loop() {
		if role, err := r.svc.GroupRoleOf(b.Context(), ann(), "g:acme:high999"); err != nil || role == principal.NotInGroup {
			b.Fatal(role, err)
		}
	}
}
