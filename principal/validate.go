package principal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/urlname"
)

// Limits of texts that people write, in characters (Unicode code points).
const (
	maxDisplayName = 200
	maxEmail       = 254 // the maximum in a path of SMTP (RFC 5321, 4.5.3.1.3)
	maxEmailLocal  = 64  // octets, of the part before the @ (RFC 5321, 4.5.3.1.1)
)

// checkDisplayName checks the name by which people know a principal.
func checkDisplayName(s string) error { return input.CheckLine(s, "a display name", maxDisplayName) }

// checkVisibility refuses any value but the three.
func checkVisibility(v Visibility) error {
	if !v.Valid() {
		return fault.Invalidf(nil, "a visibility is PUBLIC, LOGGEDIN or PRIVATE")
	}
	return nil
}

// normalizeEmail checks that s is one address and returns it in the form in which it is stored:
// trimmed, lower-cased, in NFC, the domain in IDNA's ASCII form.
func normalizeEmail(s string) (string, error) {
	if len(s) <= maxEmail*utf8.UTFMax {
		s = strings.TrimSpace(s)
	}
	if input.TooLong(s, maxEmail) {
		return "", fault.TooLongf(nil, "an e-mail address has at most %d characters", maxEmail)
	}
	if !utf8.ValidString(s) {
		return "", fault.Invalidf(nil, "an e-mail address must be valid UTF-8")
	}
	composed := norm.NFC.String(s)
	for _, r := range s + composed {
		if ambiguous(r) {
			return "", fault.Invalidf(nil, "U+%04X in an e-mail address can be taken for another letter; write the address in lower case", r)
		}
	}
	local, domain, found := strings.Cut(composed, "@")
	local = norm.NFC.String(strings.ToLower(local))
	if !found || strings.Contains(domain, "@") {
		return "", fault.Invalidf(nil, "exactly one e-mail address is needed, such as name@example.com")
	}
	if !dotAtom(local) || len(local) > maxEmailLocal {
		return "", fault.Invalidf(nil,
			"the part before the @ of an e-mail address is 1 to %d letters, digits and signs such as . _ + -, without "+
				"blanks, quotes or commas, and no . at an end or twice in a row", maxEmailLocal)
	}
	ascii, err := urlname.Domain(domain)
	if err != nil || strings.TrimRight(domain, ".\u3002\uff0e\uff61") != domain {
		return "", fault.Invalidf(nil, "the part after the @ of an e-mail address is the name of a domain, such as example.com")
	}
	if len(local)+1+len(ascii) > maxEmail {
		return "", fault.TooLongf(nil, "an e-mail address has at most %d characters, its domain in ASCII form", maxEmail)
	}
	return local + "@" + ascii, nil
}

// ambiguous reports whether lower case or NFC makes r a letter that has another capital, or another
// character: the lower case of a dotted capital I is i, but the capital of i is I. Such letters
// would make the address that of another mailbox.
func ambiguous(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	lower := unicode.ToLower(r)
	if upper := unicode.ToUpper(lower); lower != r && upper != r && upper != lower {
		return true
	}
	composed := norm.NFC.String(string(r))
	return composed != string(r) && utf8.RuneCountInString(composed) == 1
}

// dotAtom reports whether s has the form of a local part without quotes (RFC 5322, 3.2.3, with
// the letters and digits of all scripts, RFC 6531).
func dotAtom(s string) bool {
	if s == "" || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "..") {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", r) {
			return false
		}
	}
	return true
}
