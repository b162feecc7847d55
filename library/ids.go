package library

import (
	"strings"

	"carrel/core/fault"
)

// Limits of the parts of an id, from the API contract.
const (
	maxTenantLength = 32
	maxNameLength   = 128
)

// PrincipalID names a user or a group: "u:<tenant>:<name>" or
// "g:<tenant>:<name>", always in lower case.
type PrincipalID string

// ContentID names a content: "c:<tenant>:<name>". The name keeps its case.
type ContentID string

// ParsePrincipalID lower-cases and checks the id of a user or a group. Its
// error has code Invalid.
func ParsePrincipalID(s string) (PrincipalID, error) {
	s = lowerASCII(s)
	if len(s) < 2 || (s[:2] != "u:" && s[:2] != "g:") {
		return "", fault.Invalidf(nil, "not the id of a user or a group: it has the form u:<tenant>:<name> or g:<tenant>:<name>")
	}
	if err := checkID(s); err != nil {
		return "", err
	}
	return PrincipalID(s), nil
}

// ParseContentID checks the id of a content. Its error has code Invalid.
func ParseContentID(s string) (ContentID, error) {
	if len(s) < 2 || s[:2] != "c:" {
		return "", fault.Invalidf(nil, "not the id of a content: it has the form c:<tenant>:<name>")
	}
	if err := checkID(s); err != nil {
		return "", err
	}
	return ContentID(s), nil
}

// UserID is the id of the user of that name; it is not checked.
func UserID(tenant, name string) PrincipalID {
	return PrincipalID("u:" + lowerASCII(tenant) + ":" + lowerASCII(name))
}

// OwnGroups is the range of the ids of all groups of p's tenant: from is before
// the first one, to after the last one.
func OwnGroups(p PrincipalID) (from, to PrincipalID) {
	prefix := "g:" + p.Tenant()
	return PrincipalID(prefix + ":"), PrincipalID(prefix + ";")
}

// GroupID is the id of the group of that name; it is not checked.
func GroupID(tenant, name string) PrincipalID {
	return PrincipalID("g:" + lowerASCII(tenant) + ":" + lowerASCII(name))
}

// IDKind tells what a global id names.
type IDKind byte

// The kinds of global ids. IDMalformed has none of the three forms.
const (
	IDMalformed IDKind = 0
	IDUser      IDKind = 'u'
	IDGroup     IDKind = 'g'
	IDContent   IDKind = 'c'
)

// KindOfID tells what a well-formed global id names, IDMalformed otherwise.
func KindOfID(s string) IDKind {
	if len(s) < 2 {
		return IDMalformed
	}
	switch s[:2] {
	case "c:":
		if checkID(s) == nil {
			return IDContent
		}
	case "u:", "g:", "U:", "G:":
		if lower := lowerASCII(s); checkID(lower) == nil {
			return IDKind(lower[0])
		}
	}
	return IDMalformed
}

// checkID checks "<letter>:<tenant>:<name>".
func checkID(s string) error {
	rest := s[2:]
	cut := strings.IndexByte(rest, ':')
	if cut < 0 {
		return fault.Invalidf(nil, "an id has three parts: a letter, a tenant and a name, with colons between them")
	}
	if err := CheckTenant(rest[:cut]); err != nil {
		return err
	}
	return checkName(rest[cut+1:])
}

// CheckTenant checks the form of a tenant: [a-z0-9][a-z0-9-]{0,31}.
func CheckTenant(t string) error {
	if t == "" || len(t) > maxTenantLength || t[0] == '-' {
		return fault.Invalidf(nil, "a tenant has 1 to 32 characters of a-z, 0-9 and -, and does not start with -")
	}
	for i := 0; i < len(t); i++ {
		c := t[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return fault.Invalidf(nil, "a tenant has 1 to 32 characters of a-z, 0-9 and -, and does not start with -")
		}
	}
	return nil
}

// checkName checks the form of a name: 1 to 128 of A-Za-z0-9._~@/-.
func checkName(n string) error {
	if n == "" || len(n) > maxNameLength {
		return fault.Invalidf(nil, "a name has 1 to 128 characters")
	}
	for i := 0; i < len(n); i++ {
		c := n[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '_' || c == '~' || c == '@' || c == '/' || c == '-'
		if !ok {
			return fault.Invalidf(nil, "a name is made of A-Z, a-z, 0-9 and . _ ~ @ / -")
		}
	}
	return nil
}

// lowerASCII lower-cases A to Z alone. Unicode has other letters whose lower
// case is an ASCII one (the Kelvin sign); they must not become part of an id.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// Tenant is the tenant part of the id.
func (p PrincipalID) Tenant() string { return tenantOf(string(p)) }

// Name is the last part of the id.
func (p PrincipalID) Name() string { return nameOf(string(p)) }

// IsGroup tells whether the id names a group.
func (p PrincipalID) IsGroup() bool { return strings.HasPrefix(string(p), "g:") }

// IsUser tells whether the id names a user.
func (p PrincipalID) IsUser() bool { return strings.HasPrefix(string(p), "u:") }

// Tenant is the tenant part of the id.
func (c ContentID) Tenant() string { return tenantOf(string(c)) }

// Name is the last part of the id.
func (c ContentID) Name() string { return nameOf(string(c)) }

func tenantOf(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	tenant, _, _ := strings.Cut(rest, ":")
	return tenant
}

func nameOf(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	_, name, _ := strings.Cut(rest, ":")
	return name
}
