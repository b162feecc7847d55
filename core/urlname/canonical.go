// Package urlname parses and formats the names of pages: canonical URLs, locales
// and row keys.
//
// It holds pure functions. It must not know tenants, rights or stores.
package urlname

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURL is the most bytes that a canonical URL has. Every current browser and
// proxy passes on URLs of this length.
const MaxURL = 2048

// MaxText is the most bytes of a URL or a key as it is written. Longer ones are refused unread.
// Each byte of a canonical URL may be written as an escape of three bytes; the fourth quarter is for
// what the canonical form omits, such as a fragment. HTTP servers limit a URL to about as much.
const MaxText = 4 * MaxURL

// maxHost is the most bytes of the name of a host or domain as it is written: those of 253
// characters in UTF-8. The time for Punycode grows with the square of it.
const maxHost = 4 * 253

// Error says why a URL, a locale or a key is malformed. Msg is a clause in English for
// people. It does not contain the input.
type Error struct {
	Msg     string
	TooLong bool // the text is longer than its limit, and nothing else is known of it
}

// Error implements error.
func (e *Error) Error() string { return e.Msg }

func malformed(format string, args ...any) error {
	return &Error{Msg: fmt.Sprintf(format, args...)}
}

func tooLong(format string, args ...any) error {
	return &Error{Msg: fmt.Sprintf(format, args...), TooLong: true}
}

// Canonical returns the canonical form of an absolute http or https URL. URLs with the
// same canonical form name the same page. Its error is an *Error.
//
// Canonical(Canonical(x)) = Canonical(x). The result is ASCII, has no fragment
// and at most MaxURL bytes. s has at most MaxText bytes.
func Canonical(s string) (string, error) {
	if err := checkLength(s); err != nil {
		return "", err
	}
	if err := checkCharacters(s); err != nil {
		return "", err
	}
	scheme, rest, err := cutScheme(s)
	if err != nil {
		return "", err
	}
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, `/\?`)
	if end < 0 {
		end = len(rest)
	}
	authority, err := canonicalAuthority(scheme, rest[:end])
	if err != nil {
		return "", err
	}
	path, query, _ := strings.Cut(rest[end:], "?")
	if path, err = canonicalPath(path); err != nil {
		return "", err
	}
	if query, err = canonicalQuery(query); err != nil {
		return "", err
	}
	canonical := scheme + "://" + authority + path + query
	if len(canonical) > MaxURL {
		return "", tooLong("a URL has at most %d bytes in its canonical form; this one has %d", MaxURL, len(canonical))
	}
	return canonical, nil
}

// checkLength refuses a text that is too long for every URL and key.
func checkLength(s string) error {
	if len(s) > MaxText {
		return tooLong("a URL or a key has at most %d bytes as it is written; this one has %d", MaxText, len(s))
	}
	return nil
}

// checkText refuses control characters, and texts that are not UTF-8; encoding says what must be.
func checkText(s, encoding string) error {
	if !utf8.ValidString(s) {
		return malformed("%s", encoding)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return malformed("a URL has no control characters, escaped or not; take out U+%04X", r)
		}
	}
	return nil
}

// checkCharacters refuses characters that no part of a URL may contain.
func checkCharacters(s string) error {
	if err := checkText(s, "a URL must be valid UTF-8"); err != nil {
		return err
	}
	if strings.TrimSpace(s) != s {
		return malformed("a URL has no white space around it")
	}
	return nil
}

// cutScheme returns the scheme in lower case, and what follows "://".
func cutScheme(s string) (scheme, rest string, err error) {
	scheme, rest, found := strings.Cut(s, ":")
	scheme = strings.ToLower(scheme)
	if !found || scheme != "http" && scheme != "https" {
		return "", "", malformed("a URL begins with http:// or https://")
	}
	rest, found = strings.CutPrefix(rest, "//")
	if !found {
		return "", "", malformed("two slashes follow the scheme of a URL: %s://", scheme)
	}
	return scheme, rest, nil
}

// canonicalAuthority returns the host, and the port unless it is the scheme's default.
func canonicalAuthority(scheme, s string) (string, error) {
	if strings.Contains(s, "@") {
		return "", malformed("a URL has no user name or password in front of the host")
	}
	host, port := s, ""
	if colon := strings.LastIndexByte(s, ':'); colon > strings.LastIndexByte(s, ']') {
		host, port = s[:colon], s[colon+1:]
	}
	host, err := canonicalHost(host)
	if err != nil {
		return "", err
	}
	if port, err = canonicalPort(scheme, port); err != nil {
		return "", err
	}
	return host + port, nil
}

// canonicalPort returns the port with its colon, or "" if it is the scheme's default.
func canonicalPort(scheme, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	digits := strings.TrimLeft(s, "0")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", malformed("the port of a URL lies between 1 and 65535")
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return "", nil
	}
	return ":" + strconv.FormatUint(n, 10), nil
}

// canonicalHost returns a name in IDNA's ASCII form, a dotted IPv4 address, or
// an IPv6 address in brackets and its shortest form.
func canonicalHost(s string) (string, error) {
	if strings.HasPrefix(s, "[") {
		addr, err := netip.ParseAddr(strings.TrimSuffix(s[1:], "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(s, "]") {
			return "", malformed("only an IPv6 address may be in brackets")
		}
		return "[" + addr.String() + "]", nil
	}
	if strings.ContainsAny(s, "%") {
		return "", malformed("the host of a URL has no percent escapes")
	}
	host, err := Domain(s)
	if err != nil {
		return "", err
	}
	if isNumber(host[strings.LastIndexByte(host, '.')+1:]) {
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			return "", malformed("a host of digits is an IPv4 address of four numbers, such as 192.0.2.1")
		}
	}
	return host, nil
}

// Domain returns the name of a host or domain in IDNA's ASCII form, without a final dot. Its error
// is an *Error.
func Domain(s string) (string, error) {
	if len(s) > maxHost {
		return "", tooLong("the name of a host has at most 253 characters")
	}
	domain, err := hostNames.ToASCII(s)
	if err != nil {
		return "", noDomain()
	}
	domain = strings.TrimSuffix(domain, ".")
	if err := checkDomain(domain); err != nil {
		return "", err
	}
	// The result of the mapping must be a name that the mapping does not change.
	if again, err := hostNames.ToASCII(domain); err != nil || again != domain {
		return "", noDomain()
	}
	return domain, nil
}

func noDomain() error {
	return malformed("the host of a URL is the name of a domain, such as example.com")
}

// hostNames maps names of hosts as look-ups in the DNS do, and refuses underscores. checkDomain
// checks lengths and hyphens: names such as r3---sn-ab.example.com are in use.
var hostNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckHyphens(false))

// checkDomain checks the labels of a name in ASCII form.
func checkDomain(domain string) error {
	if domain == "" {
		return malformed("a URL names a host, such as https://example.com/page")
	}
	if len(domain) > 253 {
		return tooLong("the host of a URL has at most 253 bytes")
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 {
			return malformed("each part of the host of a URL has 1 to 63 bytes")
		}
		if label[0] == '-' || label[len(label)-1] == '-' {
			return malformed("no part of the host of a URL begins or ends with -")
		}
	}
	return nil
}

// isNumber reports whether programs would parse a label as a number: decimal, octal or
// hexadecimal.
func isNumber(label string) bool {
	if hex, found := strings.CutPrefix(label, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// canonicalPath resolves dot segments and removes needless slashes.
func canonicalPath(s string) (string, error) {
	s, err := escape(strings.ReplaceAll(s, `\`, "/"), inPath)
	if err != nil {
		return "", err
	}
	var segments []string
	for segment := range strings.SplitSeq(s, "/") {
		switch segment {
		case "", ".":
		case "..":
			segments = segments[:max(0, len(segments)-1)]
		default:
			segments = append(segments, segment)
		}
	}
	return "/" + strings.Join(segments, "/"), nil
}

// isSelector reports whether a parameter only selects a form of a page and is not part of
// its name.
func isSelector(name string) bool {
	switch name {
	case "lang", "branch", "revision", "rev", "working_branch":
		return true
	}
	return false
}

// canonicalQuery returns the query with its question mark, or "" if there is none. The parameters
// are sorted by name; those of one name keep their order.
func canonicalQuery(s string) (string, error) {
	s, err := escape(s, inQuery)
	if err != nil {
		return "", err
	}
	type parameter struct{ name, text string }
	var parameters []parameter
	for text := range strings.SplitSeq(s, "&") {
		name, _, _ := strings.Cut(text, "=")
		if text != "" && !isSelector(name) {
			parameters = append(parameters, parameter{name, text})
		}
	}
	slices.SortStableFunc(parameters, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	var query strings.Builder
	separator := byte('?')
	for _, p := range parameters {
		query.WriteByte(separator)
		query.WriteString(p.text)
		separator = '&'
	}
	return query.String(), nil
}
