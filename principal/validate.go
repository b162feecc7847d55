package principal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"carrel/core/fault"
	"carrel/core/input"
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
// trimmed, lower-cased, the domain in IDNA's ASCII form.
func normalizeEmail(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fault.Invalidf(nil, "an e-mail address must be valid UTF-8")
	}
	s = norm.NFC.String(strings.ToLower(strings.TrimSpace(s)))
	if utf8.RuneCountInString(s) > maxEmail {
		return "", fault.Invalidf(nil, "an e-mail address has at most %d characters", maxEmail)
	}
	local, domain, found := strings.Cut(s, "@")
	if !found || strings.Contains(domain, "@") {
		return "", fault.Invalidf(nil, "exactly one e-mail address is needed, such as name@example.com")
	}
	if !dotAtom(local) || len(local) > maxEmailLocal {
		return "", fault.Invalidf(nil, "the part before the @ of an e-mail address is 1 to %d letters, digits and signs such as . _ + -, without blanks, quotes or commas, and no . at an end or twice in a row", maxEmailLocal)
	}
	ascii, err := emailDomains().ToASCII(domain)
	if err != nil || ascii == "" || strings.HasSuffix(ascii, ".") {
		return "", fault.Invalidf(nil, "the part after the @ of an e-mail address is the name of a domain, such as example.com")
	}
	if len(local)+1+len(ascii) > maxEmail {
		return "", fault.Invalidf(nil, "an e-mail address has at most %d characters, its domain in ASCII form", maxEmail)
	}
	return local + "@" + ascii, nil
}

// emailDomains returns a profile that maps names of domains as look-ups do, and refuses names
// that no mail server can have.
func emailDomains() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))
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
