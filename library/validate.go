package library

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/urlname"
)

// Limits of texts that people write, in characters (Unicode code points).
const (
	maxTitle       = 1000
	maxDescription = 10_000
	maxLink        = 2082 // the longest that old browsers accept, with a scheme
)

// MaxBody is the maximum number of bytes of a text.
const MaxBody = 512 << 10

// CheckBody checks the text of a revision, which may be empty. Its error has code Invalid.
func CheckBody(s string) error {
	if len(s) > MaxBody {
		return fault.TooLongf(nil, "a text has at most %d KiB; this one has %d bytes", MaxBody>>10, len(s))
	}
	if !utf8.ValidString(s) {
		return fault.Invalidf(nil, "a text must be valid UTF-8")
	}
	return nil
}

// CheckTitle checks the title of an item. Its error has code Invalid.
func CheckTitle(s string) error { return input.CheckLine(s, "a title", maxTitle) }

// checkDescription checks the description of an item, which may be empty and may have several
// lines.
func checkDescription(s string) error {
	return input.CheckText(s, "a description", maxDescription, "\n\r\t")
}

// checkLinkHost refuses a host beyond ASCII that browsers take for another text than people read: with
// characters that show nothing, or that are mapped to delimiters such as @.
func checkLinkHost(host string) error {
	if !strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	if _, err := urlname.Domain(host); err != nil || strings.ContainsFunc(host, input.Ignorable) {
		return fault.Invalidf(nil, "the host of a link is the name of a domain, such as example.com, without invisible characters")
	}
	return nil
}

// checkLink checks the target of a LINK: an absolute URL of http or https with a host. It is
// stored as written.
func checkLink(s string) error {
	if input.TooLong(s, maxLink) {
		return fault.TooLongf(nil, "a link has at most %d characters; this one has %d", maxLink, utf8.RuneCountInString(s))
	}
	if !utf8.ValidString(s) {
		return fault.Invalidf(nil, "a link must be valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Bidi_Control, unicode.Noncharacter_Code_Point) {
			return fault.Invalidf(nil, "a link has no blanks, no controls and no noncharacters; write U+%04X in percent-encoding, or remove it", r)
		}
	}
	u, err := url.Parse(s)
	if err != nil {
		return fault.Invalidf(nil, "a link must be an absolute URL such as https://example.com/page")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fault.Invalidf(nil, "a link must begin with http:// or https://")
	}
	if u.User != nil {
		return fault.Invalidf(nil, "a link has no user name or password in front of the host: people would take it for the host")
	}
	if strings.Trim(u.Hostname(), ".") == "" {
		return fault.Invalidf(nil, "a link must name a host, such as https://example.com/page")
	}
	if err := checkLinkHost(u.Hostname()); err != nil {
		return err
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fault.OutOfRangef(nil, "the port of a link must be between 1 and 65535")
		}
	}
	return nil
}
