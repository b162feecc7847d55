package principal

import (
	"cmp"
	"slices"
	"strconv"

	"carrel/core/fault"
)

// Roles are the roles that a list of changes gives: Roles[i] to Principals[i]. The zero role removes the principal.
type Roles[R any] struct {
	Principals []ID
	Roles      []R
}

// ParseRoles reads the field members of an input. check returns what is wrong with a well-formed id, of which again
// reports that it was named before, and what is wrong with a role.
func ParseRoles[R any](changes []RoleChange[R], faults *fault.List,
	check func(p ID, again bool, role *R) (badID, badRole error)) Roles[R] {
	given := Roles[R]{make([]ID, len(changes)), make([]R, len(changes))}
	for i, c := range changes {
		at := strconv.Itoa(i)
		p, malformed := ParseID(c.Principal)
		badID, badRole := check(p, slices.Contains(given.Principals[:i], p), c.Role)
		faults.Add(cmp.Or(malformed, badID), "members", at, "principalId")
		faults.Add(badRole, "members", at, "role")
		given.Principals[i] = p
		if c.Role != nil {
			given.Roles[i] = *c.Role
		}
	}
	return given
}
