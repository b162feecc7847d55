package nemesis

import (
	"context"
	"testing"

	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

var users = subject{table: "principal", prefix: "u:acme:", make: makeUser, look: (*fixture).lookAtUser,
	before: seen{Version: 1, Title: "before", Visibility: principal.Public}}

// userOperations are mutations of users, made by themselves. A new user has a library,
// which is marked as complete, besides its entries in the directory of names.
var userOperations = []operation{
	{name: "create a user", of: &users, steps: []step{stepReserve, stepRead, stepList, stepDecide, stepSnapshot, stepMark, stepApply},
		do: makeUser, creates: true},
	{name: "hide a user", of: &users, steps: []step{stepRead, stepList, stepDecide, stepSnapshot, stepApply},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			private := principal.Private
			_, err := s.People.UpdateUser(ctx, &principal.Viewer{User: principal.ID(id)},
				principal.UpdateUser{ID: id, Visibility: input.Some(&private), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Visibility = principal.Private }},
}

// lookAtUser reads a user as it sees itself, and its library. A library that is not
// marked as complete would have to be rebuilt first.
func (r *fixture) lookAtUser(t *testing.T, name string) seen {
	t.Helper()
	id := principal.ID(name)
	v := &principal.Viewer{User: id}
	found, err := r.healthy.service.People.Principals(t.Context(), v, []principal.ID{id})
	if err != nil {
		t.Fatal(err)
	}
	if found[0] == nil {
		return seen{}
	}
	built, err := r.healthy.store.Libraries.Built(t.Context(), id, library.ByChange)
	if err != nil {
		t.Fatal(err)
	}
	h := found[0].Head()
	s := seen{Version: 1, Title: h.DisplayName, Visibility: h.Visibility}
	if !built {
		s.Title += ", without a library"
	}
	return s
}
