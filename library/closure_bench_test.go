package library_test

import (
	"fmt"
	"testing"

	"carrel/library"
)

// BenchmarkResolvingGroups resolves 2,000 groups: 1,000 direct ones, each in
// another one.
func BenchmarkResolvingGroups(b *testing.B) {
	r := newRoom(b)
	r.principals("u:acme:ann")
	for i := range 1000 {
		low, high := library.GroupID("acme", fmt.Sprint("low", i)), library.GroupID("acme", fmt.Sprint("high", i))
		r.principals(low, high)
		r.join(low, true, in("u:acme:ann", library.GroupMember))
		r.join(high, true, in(low, library.GroupMember))
	}
	for b.Loop() {
		if role, err := r.svc.GroupRoleOf(b.Context(), ann(), "g:acme:high999"); err != nil || role == library.NotInGroup {
			b.Fatal(role, err)
		}
	}
}
