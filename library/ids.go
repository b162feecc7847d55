package library

import (
	"strings"

	"carrel/core/fault"
	"carrel/core/id"
)

// PrincipalID names a user or a group: "u:<tenant>:<name>" or
// "g:<tenant>:<name>", always in lower case.
type PrincipalID string

// ContentID names a content: "c:<tenant>:<name>". The name keeps its case.
type ContentID string

// ParsePrincipalID lower-cases and checks the id of a user or a group. Its
// error has code Invalid.
func ParsePrincipalID(s string) (PrincipalID, error) {
	s = id.Lower(s)
	if len(s) < 2 || (s[:2] != "u:" && s[:2] != "g:") {
		return "", fault.Invalidf(nil, "not the id of a user or a group: it has the form u:<tenant>:<name> or g:<tenant>:<name>")
	}
	if err := id.Check(s); err != nil {
		return "", err
	}
	return PrincipalID(s), nil
}

// ParseContentID checks the id of a content. Its error has code Invalid.
func ParseContentID(s string) (ContentID, error) {
	if len(s) < 2 || s[:2] != "c:" {
		return "", fault.Invalidf(nil, "not the id of a content: it has the form c:<tenant>:<name>")
	}
	if err := id.Check(s); err != nil {
		return "", err
	}
	return ContentID(s), nil
}

// UserID is the id of the user of that name; it is not checked.
func UserID(tenant, name string) PrincipalID {
	return PrincipalID("u:" + id.Lower(tenant) + ":" + id.Lower(name))
}

// OwnGroups is the range of the ids of all groups of p's tenant: from is before
// the first one, to after the last one.
func OwnGroups(p PrincipalID) (from, to PrincipalID) {
	prefix := "g:" + p.Tenant()
	return PrincipalID(prefix + ":"), PrincipalID(prefix + ";")
}

// GroupID is the id of the group of that name; it is not checked.
func GroupID(tenant, name string) PrincipalID {
	return PrincipalID("g:" + id.Lower(tenant) + ":" + id.Lower(name))
}

// Tenant is the tenant part of the id.
func (p PrincipalID) Tenant() string { return id.Tenant(string(p)) }

// Name is the last part of the id.
func (p PrincipalID) Name() string { return id.Name(string(p)) }

// IsGroup tells whether the id names a group.
func (p PrincipalID) IsGroup() bool { return strings.HasPrefix(string(p), "g:") }

// IsUser tells whether the id names a user.
func (p PrincipalID) IsUser() bool { return strings.HasPrefix(string(p), "u:") }

// Tenant is the tenant part of the id.
func (c ContentID) Tenant() string { return id.Tenant(string(c)) }

// Name is the last part of the id.
func (c ContentID) Name() string { return id.Name(string(c)) }
