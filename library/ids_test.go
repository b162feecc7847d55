package library_test

import (
	"regexp"
	"strings"
	"testing"

	"carrel/core/fault"
	"carrel/core/id"
	"carrel/library"
	"carrel/principal"
)

// idForm is the form of ids as the contract has it.
var idForm = regexp.MustCompile(`^([ugc]):([a-z0-9][a-z0-9-]{0,31}):([A-Za-z0-9._~@/-]{1,128})$`)

// FuzzID: exactly the ids of the contract's form are taken, and those of users
// and groups come out in lower case.
func FuzzID(f *testing.F) {
	for _, s := range []string{
		"u:acme:ann", "U:ACME:Ann", "g:acme:team/one", "c:acme:host-1/42", "c:Acme:x", "C:acme:x", "u:acme:", "u::x", "u:acme:a:b", "x:a:b",
		"", ":", "u", "u:", "u:-a:b", "u:a-:b", "c:acme:ü", "c:acme:a b", "u:\u212A:x", "u:acme:\u212A", "\u0130:a:b", "c:acme:a\x00",
		"u:" + strings.Repeat("a", 32) + ":" + strings.Repeat("b", 128), "u:" + strings.Repeat("a", 33) + ":b", "c:a:" + strings.Repeat("b", 129),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lower := asciiLower(s)
		isPrincipal := idForm.MatchString(lower) && lower[0] != 'c'
		p, err := principal.ParseID(s)
		if isPrincipal != (err == nil) {
			t.Fatalf("principal.ParseID(%q) = %q, %v", s, p, err)
		}
		if err == nil && (string(p) != lower || p.IsUser() == p.IsGroup()) {
			t.Errorf("principal.ParseID(%q) = %q", s, p)
		}
		if err != nil && fault.CodeOf(err) != fault.Invalid {
			t.Errorf("principal.ParseID(%q): %v", s, err)
		}
		isContent := idForm.MatchString(s) && s[0] == 'c'
		c, err := library.ParseContentID(s)
		if isContent != (err == nil) || err == nil && string(c) != s {
			t.Fatalf("ParseContentID(%q) = %q, %v", s, c, err)
		}
		kind := id.KindOf(s)
		switch {
		case isContent && kind != id.Content, isPrincipal && kind != id.Kind(lower[0]), !isContent && !isPrincipal && kind != id.Malformed:
			t.Errorf("KindOf(%q) = %q", s, kind)
		}
		if isPrincipal {
			parts := strings.SplitN(lower, ":", 3)
			if p.Tenant() != parts[1] || p.Name() != parts[2] {
				t.Errorf("%q has tenant %q and name %q", p, p.Tenant(), p.Name())
			}
		}
	})
}

// asciiLower lower-cases A to Z alone: no other letter becomes part of an id.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
