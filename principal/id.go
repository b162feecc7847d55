package principal

import (
	"strings"

	"carrel/core/fault"
	"carrel/core/id"
)

// ID names a user or a group: "u:<tenant>:<name>" or
// "g:<tenant>:<name>", always in lower case.
type ID string

// IDs returns texts as ids.
func IDs(texts []string) []ID {
	ps := make([]ID, len(texts))
	for i, p := range texts {
		ps[i] = ID(p)
	}
	return ps
}

// ParseID lower-cases and checks the id of a user or a group. Its error has code Invalid.
func ParseID(s string) (ID, error) {
	s = id.Lower(s)
	if len(s) < 2 || (s[:2] != "u:" && s[:2] != "g:") {
		return "", fault.Invalidf(nil, "not the id of a user or a group: it has the form u:<tenant>:<name> or g:<tenant>:<name>")
	}
	if err := id.Check(s); err != nil {
		return "", err
	}
	return ID(s), nil
}

// UserID returns the id of the user of that name; it is not checked.
func UserID(tenant, name string) ID {
	return ID("u:" + id.Lower(tenant) + ":" + id.Lower(name))
}

// OwnGroups returns the range of the ids of all groups of p's tenant: from is before the first
// one, to after the last one.
func OwnGroups(p ID) (from, to ID) {
	prefix := "g:" + p.Tenant()
	return ID(prefix + ":"), ID(prefix + ";")
}

// GroupID returns the id of the group of that name; it is not checked.
func GroupID(tenant, name string) ID {
	return ID("g:" + id.Lower(tenant) + ":" + id.Lower(name))
}

// Tenant returns the tenant of the id.
func (p ID) Tenant() string { return id.Tenant(string(p)) }

// Name returns the last part of the id.
func (p ID) Name() string { return id.Name(string(p)) }

// IsGroup reports whether the id names a group.
func (p ID) IsGroup() bool { return strings.HasPrefix(string(p), "g:") }

// IsUser reports whether the id names a user.
func (p ID) IsUser() bool { return strings.HasPrefix(string(p), "u:") }
