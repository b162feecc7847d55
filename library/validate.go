package library

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"carrel/core/fault"
)

// Limits of what people write, in characters (Unicode code
// points).
const (
	maxTitle       = 1000
	maxDescription = 10_000
	maxLink        = 2082 // what the oldest browsers still take, with a scheme in front
	maxDisplayName = 200
	maxEmail       = 254 // what fits into a path of SMTP (RFC 5321, 4.5.3.1.3)
	maxEmailLocal  = 64  // octets, of the part before the @ (RFC 5321, 4.5.3.1.1)
)

// checkTitle checks the title of an item. Its error has code Invalid.
func checkTitle(s string) error { return checkLine(s, "a title", maxTitle) }

// checkDisplayName checks the name by which people know a principal.
func checkDisplayName(s string) error { return checkLine(s, "a display name", maxDisplayName) }

// checkLine checks a field of one line: something visible, no controls.
func checkLine(s, what string, limit int) error {
	if err := checkText(s, what, limit, ""); err != nil {
		return err
	}
	if strings.TrimFunc(s, invisible) == "" {
		return fault.Invalidf(nil, "%s needs at least one visible character", what)
	}
	return nil
}

// checkDescription checks the description of an item, which may be empty and
// may have several lines.
func checkDescription(s string) error {
	return checkText(s, "a description", maxDescription, "\n\r\t")
}

// checkText checks encoding, length and control characters: C0, DEL and C1 are
// refused but for those allowed. Marks of writing direction are data.
func checkText(s, what string, limit int, allowed string) error {
	if !utf8.ValidString(s) {
		return fault.Invalidf(nil, "%s must be valid UTF-8", what)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return fault.Invalidf(nil, "%s has at most %d characters; this one has %d", what, limit, n)
	}
	for _, r := range s {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			if allowed == "" {
				return fault.Invalidf(nil, "%s is one line without control characters; take out U+%04X", what, r)
			}
			return fault.Invalidf(nil, "%s has no control characters but line breaks and tabs; take out U+%04X", what, r)
		}
	}
	return nil
}

// invisible tells of blanks, the ones of no width included.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || r >= '\u200b' && r <= '\u200f' || r == '\u2060' || r == '\ufeff'
}

// checkLink checks where a LINK points to: an absolute URL of http or https
// with a host. It is kept as it was written.
func checkLink(s string) error {
	if !utf8.ValidString(s) {
		return fault.Invalidf(nil, "a link must be valid UTF-8")
	}
	if n := utf8.RuneCountInString(s); n > maxLink {
		return fault.Invalidf(nil, "a link has at most %d characters; this one has %d", maxLink, n)
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return fault.Invalidf(nil, "a link has no blanks and no control characters; write U+%04X in percent-encoding, or take it out", r)
		}
	}
	u, err := url.Parse(s)
	if err != nil {
		return fault.Invalidf(nil, "a link is an absolute URL such as https://example.com/page; this is none")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fault.Invalidf(nil, "a link begins with http:// or https://")
	}
	if strings.Trim(u.Hostname(), ".") == "" {
		return fault.Invalidf(nil, "a link names a host, such as https://example.com/page")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fault.Invalidf(nil, "the port of a link lies between 1 and 65535")
		}
	}
	return nil
}

// checkVisibility refuses what is none of the three.
func checkVisibility(v Visibility) error {
	if !v.Valid() {
		return fault.Invalidf(nil, "a visibility is PUBLIC, LOGGEDIN or PRIVATE")
	}
	return nil
}

// normalizeEmail checks that s is one address and gives it the form in which
// it is kept: trimmed, lower-cased, the domain in IDNA's ASCII form.
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
		return "", fault.Invalidf(nil, "what stands before the @ of an e-mail address is 1 to %d letters, digits and signs such as . _ + -, without blanks, quotes or commas, and no . at an end or twice in a row", maxEmailLocal)
	}
	ascii, err := emailDomains().ToASCII(domain)
	if err != nil || ascii == "" || strings.HasSuffix(ascii, ".") {
		return "", fault.Invalidf(nil, "what stands after the @ of an e-mail address is the name of a domain, such as example.com")
	}
	if len(local)+1+len(ascii) > maxEmail {
		return "", fault.Invalidf(nil, "an e-mail address has at most %d characters, its domain in ASCII form", maxEmail)
	}
	return local + "@" + ascii, nil
}

// emailDomains maps names of domains as look-ups do, and refuses whatever no
// mail server could be found under.
func emailDomains() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))
}

// dotAtom tells whether s has the form of a local part without quotes (RFC
// 5322, 3.2.3, with the letters and digits of all scripts, RFC 6531).
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
