package library

import (
	"strings"
	"testing"

	"carrel/core/fault"
)

func TestCheckTitle_AcceptsOneLineOfVisibleText(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string
		valid bool
	}{
		{"plain", "Go by example", true},
		{"one character", "x", true},
		{"as long as may be, in code points", strings.Repeat("ü", maxTitle), true},
		{"one too long", strings.Repeat("ü", maxTitle+1), false},
		{"empty", "", false},
		{"blanks", " \u00a0\u2003", false},
		{"nothing visible", "\u200b\u2060\ufeff", false},
		{"a Hangul filler", "\u3164", false},
		{"marks without a letter", "\u0300\u20dd\U00016fe4", false},
		{"a noncharacter", "\ufffe", false},
		{"blank hieroglyphs", "\U00013441\U00013442", false},
		{"a letter with a mark", "e\u0301", true},
		{"a blank Braille pattern", "\u2800", false},
		{"a Hangul initial filler", "\u115f", false},
		{"a soft hyphen", "\u00ad", false},
		{"a Mongolian vowel separator", "\u180e", false},
		{"a variation selector", "\ufe0f", false},
		{"a tag", "\U000e0020", false},
		{"an override of direction", "\u202e", false},
		{"isolates of direction", "\u2066\u2069\u061c", false},
		{"every other kind of nothing", "\u034f\u17b4\u2065\uffa0\ufff0\U000e01ef\U0001d173\U0001d159 \u2028", false},
		{"a visible one among them", "\u202e\u3164x\u00ad", true},
		{"an emoji with a variation selector", "\u2764\ufe0f", true},
		{"blanks around", "  x  ", true},
		{"line feed", "a\nb", false},
		{"tab", "a\tb", false},
		{"null", "a\x00", false},
		{"escape", "a\x1b[31m", false},
		{"delete", "a\x7f", false},
		{"C1", "a\u0085b", false},
		{"direction marks are data", "a\u202eb\u2066c\u2069", true},
		{"markup is data", "<script>alert(1)</script>", true},
		{"emoji", "👩‍👩‍👧", true},
		{"not UTF-8", "a\xff", false},
		{"half a surrogate", "a\xed\xa0\x80", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantInvalid(t, CheckTitle(c.value), !c.valid)
		})
	}
}

func TestCheckDescription_AcceptsSeveralLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string
		valid bool
	}{
		{"empty", "", true},
		{"several lines", "one\n\ttwo\r\nthree", true},
		{"as long as may be", strings.Repeat("é", maxDescription), true},
		{"one too long", strings.Repeat("é", maxDescription+1), false},
		{"null", "a\x00b", false},
		{"vertical tab", "a\vb", false},
		{"escape", "\x1b", false},
		{"C1", "\u009f", false},
		{"not UTF-8", "\xc3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantInvalid(t, checkDescription(c.value), !c.valid)
		})
	}
}

func TestCheckLink_AcceptsAbsoluteWebURLs(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string
		valid bool
	}{
		{"https", "https://example.com/page?q=1#part", true},
		{"http", "http://example.com", true},
		{"upper case", "HTTPS://EXAMPLE.COM/", true},
		{"port", "http://example.com:8080/", true},
		{"IPv6", "http://[2001:db8::1]/", true},
		{"other scripts", "https://bücher.example/ü", true},
		{"as long as may be", "https://e.com/" + strings.Repeat("x", maxLink-14), true},
		{"one too long", "https://e.com/" + strings.Repeat("x", maxLink-13), false},
		{"empty", "", false},
		{"no scheme", "example.com/page", false},
		{"relative", "/page", false},
		{"no scheme, but slashes", "//example.com/", false},
		{"another scheme", "ftp://example.com/", false},
		{"a script", "javascript:alert(1)", false},
		{"data", "data:text/html,x", false},
		{"no host", "https:///page", false},
		{"only a port", "https://:443/", false},
		{"only dots", "https://./", false},
		{"a user name", "https://bank.example@evil.example/", false},
		{"a user name and a password", "https://u:p@example.com/", false},
		{"an empty user name", "https://@example.com/", false},
		{"an escaped user name", "https://bank.example%2F@evil.example/", false},
		{"an @ elsewhere", "https://example.com/@ann?a@b#c@d", true},
		{"opaque", "http:example.com", false},
		{"a domain beyond ASCII", "https://bücher.example/ü", true},
		{"a domain with marks", "https://हिन्दी.example/", true},
		{"a joiner in a path", "https://e.com/می\u200cخواهم", true},
		{"a user in full width", "http://user＠evil.com/", false},
		{"a soft hyphen in a host", "http://\u00ade.com/", false},
		{"a variation selector in a host", "http://e\ufe00.com/", false},
		{"an override in a path", "http://e.com/\u202egpj.exe", false},
		{"a noncharacter", "http://e.com/\ufffe", false},
		{"port 0", "http://example.com:0/", false},
		{"port too large", "http://example.com:65536/", false},
		{"port of letters", "http://example.com:http/", false},
		{"blank", "https://example.com/a b", false},
		{"blank in front", " https://example.com/", false},
		{"no-break space", "https://example.com/\u00a0", false},
		{"line feed", "https://example.com/\n", false},
		{"bad escape", "https://example.com/%zz", false},
		{"not UTF-8", "https://example.com/\xff", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantInvalid(t, checkLink(c.value), !c.valid)
		})
	}
}

func wantInvalid(t *testing.T, err error, invalid bool) {
	t.Helper()
	switch {
	case invalid && err == nil:
		t.Fatal("accepted, want INVALID")
	case invalid && (fault.CodeOf(err) != fault.Invalid || fault.ReasonOf(err) != ""):
		t.Fatalf("code %d, reason %q, want INVALID: %v", fault.CodeOf(err), fault.ReasonOf(err), err)
	case !invalid && err != nil:
		t.Fatalf("refused: %v", err)
	}
}
