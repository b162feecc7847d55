// Package id defines the format of global ids and the letters in use. Most ids have the form
// <letter>:<tenant>:<name>; a lease has l:<32 hexadecimal digits>, a paste
// p:<32 hexadecimal digits>, and a suggestion such digits alone. It does not know what the ids name.
package id

import (
	"strings"

	"carrel/core/fault"
)

// Limits of the parts of an id, from the API contract.
const (
	MaxTenantLength = 32
	MaxNameLength   = 128
)

// maxLength is the most characters of an id.
const maxLength = len("u:") + MaxTenantLength + len(":") + MaxNameLength

// RandomDigits is how many hexadecimal digits a random id has: 128 bits.
const RandomDigits = 32

// Kind is the letter that a global id begins with. It says what the id names.
type Kind byte

// The kinds of global ids. Malformed is the kind of a text that is not an id.
const (
	Malformed Kind = 0
	User      Kind = 'u'
	Group     Kind = 'g'
	Content   Kind = 'c'
	Lease     Kind = 'l'
	Paste     Kind = 'p'
	// Suggestion is the kind of ids of 32 hexadecimal digits without a letter.
	Suggestion Kind = 's'
)

// kinds are the kinds of ids that begin with a letter. A new one needs a row here.
var kinds = [...]struct {
	kind Kind
	// folded ids are written in lower case, and read in any case.
	folded bool
	// check checks the form of an id of the kind, except for its letter.
	check func(s string) error
}{
	{User, true, Check},
	{Group, true, Check},
	{Content, false, Check},
	{Lease, false, checkRandom},
	{Paste, false, checkRandom},
}

// KindOf returns the kind of a well-formed global id, or Malformed for other texts.
func KindOf(s string) Kind {
	kind, _ := Parse(s)
	return kind
}

// Parse returns the kind of a well-formed global id. The error, with code Invalid, says what is wrong
// with the parts of an id that begins like one of a kind; it is nil for a text that does not.
func Parse(s string) (Kind, error) {
	if isRandom(s) {
		return Suggestion, nil
	}
	if len(s) < 2 || s[1] != ':' {
		return Malformed, nil
	}
	if len(s) > maxLength {
		return Malformed, fault.TooLongf(nil, "an id has at most %d characters", maxLength)
	}
	for _, k := range kinds {
		letter, text := s[:1], s
		if k.folded {
			letter = Lower(letter)
		}
		if letter[0] != byte(k.kind) {
			continue
		}
		if k.folded {
			text = Lower(s)
		}
		if err := k.check(text); err != nil {
			return Malformed, err
		}
		return k.kind, nil
	}
	return Malformed, nil
}

// Check checks the form "<letter>:<tenant>:<name>" of an id, except for the letter.
// Its error has code Invalid.
func Check(s string) error {
	rest := s[2:]
	cut := strings.IndexByte(rest, ':')
	if cut < 0 {
		return fault.Invalidf(nil, "an id has three parts: a letter, a tenant and a name, with colons between them")
	}
	if err := CheckTenant(rest[:cut]); err != nil {
		return err
	}
	return CheckName(rest[cut+1:])
}

// checkRandom checks the form "<letter>:<32 lower-case hexadecimal digits>" of a random
// id, except for the letter. Its error has code Invalid.
func checkRandom(s string) error {
	if !isRandom(s[2:]) {
		return fault.Invalidf(nil, "such an id is a letter, a colon and %d digits of 0-9 and a-f", RandomDigits)
	}
	return nil
}

// isRandom reports whether s is a random number: 32 lower-case hexadecimal digits.
func isRandom(s string) bool {
	ok := len(s) == RandomDigits
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
	}
	return ok
}

// CheckTenant checks the form of a tenant, [a-z0-9][a-z0-9-]{0,31}. Its error has
// code Invalid.
func CheckTenant(t string) error {
	if t == "" || len(t) > MaxTenantLength || t[0] == '-' {
		return fault.Invalidf(nil, "a tenant has 1 to 32 characters of a-z, 0-9 and -, and does not start with -")
	}
	for i := 0; i < len(t); i++ {
		c := t[i]
		if c >= 'A' && c <= 'Z' {
			return fault.Invalidf(nil, "a tenant is written in lower case")
		}
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return fault.Invalidf(nil, "a tenant has 1 to 32 characters of a-z, 0-9 and -, and does not start with -")
		}
	}
	return nil
}

// CheckName checks the form of a name, 1 to 128 of A-Za-z0-9._~@/-. Its error has
// code Invalid.
func CheckName(n string) error {
	const length = "a name has 1 to 128 characters"
	if n == "" {
		return fault.Emptyf(nil, length)
	}
	if len(n) > MaxNameLength {
		return fault.TooLongf(nil, length)
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

// Lower returns s with only A to Z converted to lower case. Unicode has other letters whose
// lower case is an ASCII letter (the Kelvin sign); they must not become part of an id. A text that is
// too long for an id stays as it is; every check refuses it.
func Lower(s string) string {
	if len(s) > maxLength {
		return s
	}
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

// Tenant returns the tenant part of a well-formed id.
func Tenant(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	tenant, _, _ := strings.Cut(rest, ":")
	return tenant
}

// Name returns the last part of a well-formed id.
func Name(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	_, name, _ := strings.Cut(rest, ":")
	return name
}
