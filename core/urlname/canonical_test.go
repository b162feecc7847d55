package urlname_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"carrel/core/urlname"
)

func TestCanonical_ReturnsTheCanonicalForm(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"HTTP://Example.COM", "http://example.com/"},
		{"https://example.com:0443//a///b/", "https://example.com/a/b"},
		{"https://e.com/a/../../../c", "https://e.com/c"},
		{"https://e.com/%7euser/%41%2f", "https://e.com/~user/A%2F"},
		{"https://BÜCHER.example./", "https://xn--bcher-kva.example/"},
		{"https://e.com/a?z=1&b=2&&a", "https://e.com/a?a&b=2&z=1"},

		{"https://e.com:", "https://e.com/"},
		{"https://e.com:08080", "https://e.com:8080/"},
		{"http://e.com:443", "http://e.com:443/"},
		{"http://e.com:80/", "http://e.com/"},
		{"https://e.com:65535", "https://e.com:65535/"},
		{"https://e.com?a", "https://e.com/?a"},
		{"https://e.com#a?b", "https://e.com/"},
		{"https://e.com/a#b?c", "https://e.com/a"},
		{`https://e.com\a\..\b\`, "https://e.com/b"},
		{`https://e.com/a\\b`, "https://e.com/a/b"},
		{"https://e.com/a..", "https://e.com/a.."},
		{"https://e.com/...", "https://e.com/..."},
		{"https://e.com/foo-/", "https://e.com/foo-"},
		{"https://e.com/a/./b/.", "https://e.com/a/b"},
		{"https://e.com/a/b/..", "https://e.com/a"},
		{"https://e.com/a/%2e%2E/b", "https://e.com/b"},
		{"https://e.com/..%2f", "https://e.com/..%2F"},
		{"https://e.com/A/b", "https://e.com/A/b"},
		{"https://e.com/a b", "https://e.com/a%20b"},
		{"https://e.com/[a]", "https://e.com/%5Ba%5D"},
		{"https://e.com/a?b[]=1", "https://e.com/a?b[]=1"},
		{`https://e.com/a?b=c\d`, "https://e.com/a?b=c%5Cd"},
		{"https://e.com/Р", "https://e.com/%D0%A0"},
		{"https://e.com/u\u0308", "https://e.com/%C3%BC"},
		{"https://e.com/%75\u0308", "https://e.com/%C3%BC"},
		{"https://e.com/e%CC%81", "https://e.com/%C3%A9"},
		{"https://e.com/%65%cc%81/%C3%A9", "https://e.com/%C3%A9/%C3%A9"},
		{"https://e.com/?e%CC%81=%CC%81e%CC%81", "https://e.com/?%C3%A9=%CC%81%C3%A9"},
		{"https://e.com/%E1%84%80%E1%85%A1\u11a8", "https://e.com/%EA%B0%81"},
		{"https://e.com/a%3D%CC%B8?a%26%CC%B8", "https://e.com/a%3D%CC%B8?a%26%CC%B8"},
		{"https://e.com/%3C%CC%B8", "https://e.com/%E2%89%AE"},
		{"https://e.com/%25%CC%81", "https://e.com/%25%CC%81"},
		{"https://e.com/%e2%84%aa", "https://e.com/K"},
		{"https://e.com/\u212a", "https://e.com/K"},
		{"https://e.com/?a=\u0338b", "https://e.com/?a%E2%89%A0b"},
		{"https://r3---sn-ab.Example.com/", "https://r3---sn-ab.example.com/"},
		{"https://ab--c.example/", "https://ab--c.example/"},
		{"https://e.com/a;b,c:d@e!$&'()*+=", "https://e.com/a;b,c:d@e!$&'()*+="},
		{"https://e.com/a?lang=de&branch=1&revision=2&rev=3&working_branch=4", "https://e.com/a"},
		{"https://e.com/a?l%61ng=de&Lang=de&lang2", "https://e.com/a?Lang=de&lang2"},
		{"https://e.com/a?b=2&a=2&b=1&a=1", "https://e.com/a?a=2&a=1&b=2&b=1"},
		{"https://e.com/a?=x&b?c", "https://e.com/a?=x&b?c"},
		{"https://e.com/a?b%26c", "https://e.com/a?b%26c"},
		{"https://192.0.2.1/", "https://192.0.2.1/"},
		{"https://１９２.0.2.1/", "https://192.0.2.1/"},
		{"https://[2001:DB8:0:0::1]:443/", "https://[2001:db8::1]/"},
		{"https://[::ffff:192.0.2.1]/", "https://[::ffff:192.0.2.1]/"},
		{"https://e.com。/", "https://e.com/"},
		{"https://1e.com/", "https://1e.com/"},
		{"https://localhost:3000/", "https://localhost:3000/"},
	} {
		got, err := urlname.Canonical(c.in)
		if err != nil || got != c.want {
			t.Errorf("%q: got %q, %v; want %q", c.in, got, err, c.want)
			continue
		}
		if again, err := urlname.Canonical(got); err != nil || again != got {
			t.Errorf("%q: the form %q becomes %q, %v", c.in, got, again, err)
		}
	}
}

func TestCanonical_RefusesMalformedURLs(t *testing.T) {
	for _, in := range []string{
		"", "e", "ftp://x", "e.com/a", "//e.com/", "https:", "https:/e.com", "https:e.com", "https://", "https:///a",
		`https:\\e.com`, `https:/\e.com`, `https:\/e.com`,
		"https://u:p@e.com", "https://@e.com", "https://u@e.com/",
		"https://e.com:65536/", "https://e.com:0/", "https://e.com:00", "https://e.com:8x", "https://e.com:-1",
		"https://e.com:+1", "https://e.com:99999999999999999999",
		"https://e.com/%zz", "https://e.com/%", "https://e.com/%4", "https://e.com/?%g0", "https://e.com/a%2",
		" https://e.com", "https://e.com ", "\u00a0https://e.com", "https://e.com/\n", "https://e.com/a\tb", "https://e.com/\x7f",
		"https://e.com/\u0085", "https://e.com/#\x00",
		"https://e.com/\xff", "https://\xff.com/",
		"https://e.com/%FF", "https://e.com/%C3%28", "https://e.com/%ED%A0%80", "https://e.com/%C3/%A9", "https://e.com/?a=%C3&%A9",
		"https://e.com/%ca\u030a", "https://e.com/%C0%AF", "https://e.com/%F4%90%80%80",
		"https://e.com/%00", "https://e.com/%0A", "https://e.com/%7F", "https://e.com/%C2%85", "https://e.com/?a=%0d%0a",
		"https://e.com/?lang=%1f",
		"https://-e.com", "https://e-.com", "https://a.-b.com", "https://xn--e---zzz.com",
		"https://%65.com", "https://e%2ecom", "https://e..com", "https://.e.com", "https://.", "https://e.com..",
		"https://e_f.com", "https://e f.com", "https://e,f.com",
		"https://0x7f.1", "https://127.1", "https://2130706433", "https://0177.0.0.1", "https://1.2.3.4.5", "https://256.0.0.1",
		"https://a.0x1", "https://a.1", "https://1.2.3.4x.9",
		"https://[::1", "https://[::1]x", "https://::1/", "https://[1.2.3.4]", "https://[fe80::1%25eth0]", "https://[]", "https://[g::]",
		"https://xn--a.com/", "https://\u00ad.com/", "https://" + strings.Repeat("a", 64) + ".com",
		"https://" + strings.Repeat("a.", 127) + "com",
		"https://e.com/" + strings.Repeat("a", urlname.MaxURL), "https://e.com/" + strings.Repeat(" ", urlname.MaxURL/3) + "b",
	} {
		got, err := urlname.Canonical(in)
		var malformed *urlname.Error
		if !errors.As(err, &malformed) || got != "" || malformed.Msg == "" {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
		if err != nil && len(in) > 20 && strings.Contains(err.Error(), in[8:]) {
			t.Errorf("%q: the error repeats the input: %v", in, err)
		}
	}
}

func TestCanonical_LengthIsThatOfTheCanonicalForm(t *testing.T) {
	const start = "https://e.com/"
	longest := start + strings.Repeat("a", urlname.MaxURL-len(start))
	if got, err := urlname.Canonical(longest); err != nil || got != longest {
		t.Errorf("the longest URL: %v", err)
	}
	if got, err := urlname.Canonical(longest + "/?lang=de#" + strings.Repeat("b", 4000)); err != nil || got != longest {
		t.Errorf("with parts that the canonical form omits: %v", err)
	}
	if _, err := urlname.Canonical(longest + "a"); err == nil {
		t.Error("one byte more is accepted")
	}
}

// pieces are the parts of random URLs: everything that has a meaning somewhere, and some
// text that has none.
var pieces = strings.Split("http://|https://|HTTPS://|e.com|E.Com|BÜCHER.example|127.0.0.1|[::1]|[2001:DB8:0:0::1]|xn--bcher-kva.example|faß.de|０ｘ７f|"+
	":|:80|:443|:08080|:0|@|/|//|\\|.|..|/./|/../|%2e|%2E%2e|%2f|%5c|%41|%7E|%c3%bc|%CC%88|%ff|%25|%|%4|%zz|ü|u\u0308|\u0308|\u030a|\u0338|\u212a|\u037e|\u1fef|Р|"+
	"?|&|&&|=|a|b=1|b=2|a=|lang=de|rev|l%61ng|working_branch=2|#|x#y|;|+| "+
	"|\"|<|>|`|{}|^|\\|[|]|~|-|_|!$&'()*+,;=|\u3002|\u00ad|\u200d|\U0001f600|٠", "|")

func randomURL(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(20) > 0 {
		b.WriteString([]string{"https://e.com", "http://example.org:8080", "https://BÜCHER.example.", "https://[::1]"}[r.IntN(4)])
		if r.IntN(3) > 0 {
			b.WriteString("/?/"[r.IntN(3):][:1])
		}
	}
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// TestCanonical_IsIdempotent tries a million random URLs.
func TestCanonical_IsIdempotent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 1_000_000 {
		in := randomURL(r)
		if checkCanonical(t, in) {
			accepted++
		}
	}
	if accepted < 300_000 {
		t.Errorf("only %d of a million random URLs are well-formed", accepted)
	}
}

// checkCanonical checks the properties of every canonical form. It reports whether the input
// has one.
func checkCanonical(t *testing.T, in string) bool {
	t.Helper()
	once, err := urlname.Canonical(in)
	if err != nil {
		return false
	}
	if twice, err := urlname.Canonical(once); err != nil || twice != once {
		t.Fatalf("%q: the canonical form %q becomes %q, %v", in, once, twice, err)
	}
	_, path, _ := strings.Cut(once, "://")
	path, _, _ = strings.Cut(path, "?")
	for _, refused := range []string{"//", "/../", "/./", "\\", "#", " "} {
		if strings.Contains(path, refused) {
			t.Fatalf("%q: the canonical form %q holds %q", in, once, refused)
		}
	}
	for i := range len(once) {
		if once[i] <= ' ' || once[i] > '~' {
			t.Fatalf("%q: the canonical form %q is not printable ASCII", in, once)
		}
	}
	if len(once) > urlname.MaxURL {
		t.Fatalf("%q: the canonical form has %d bytes", in, len(once))
	}
	return true
}

func FuzzCanonical(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add(randomURL(r))
	}
	f.Fuzz(func(t *testing.T, in string) { checkCanonical(t, in) })
}

func BenchmarkCanonical(b *testing.B) {
	for b.Loop() {
		if _, err := urlname.Canonical("https://Example.com:443/a/../b//c/%7Eu?z=1&lang=de&a=2#top"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCanonical_NamesTheReason checks that bad encoding, control characters and lengths are refused
// with different reasons.
func TestCanonical_NamesTheReason(t *testing.T) {
	for in, want := range map[string]string{
		"https://e.com/%FF":       "UTF-8",
		"https://e.com/%C3%28":    "UTF-8",
		"https://e.com/%ED%A0%80": "UTF-8",
		"https://e.com/?%FF=1":    "UTF-8",
		"https://e.com/%00":       "U+0000",
		"https://e.com/%0A":       "U+000A",
		"https://e.com/?a=%7F":    "U+007F",
		"https://e.com/%C2%85":    "U+0085",
		"https://e.com/%zz":       "hexadecimal",
		"https://e.com/?" + strings.Repeat("a=&", urlname.MaxText):  "8192 bytes",
		"https://" + strings.Repeat("ü", urlname.MaxURL) + ".com":   "253 characters",
		"https://" + strings.Repeat("a.", urlname.MaxURL) + "e.com": "253 characters",
	} {
		if _, err := urlname.Canonical(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want a reason with %q", in, err, want)
		}
	}
	if _, err := urlname.ParseKey("c:demo:x#" + strings.Repeat("1", urlname.MaxText)); err == nil ||
		!strings.Contains(err.Error(), "8192 bytes") {
		t.Errorf("a long key: %v", err)
	}
	if _, err := urlname.Locale(strings.Repeat("e", 1<<20)); err == nil {
		t.Error("a long locale is accepted")
	}
}

// TestCanonical_WorkIsLinear checks that seven times the parameters, or segments, take about seven
// times the memory, and that a text that is too long takes none.
func TestCanonical_WorkIsLinear(t *testing.T) {
	bytesOf := func(in string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 8 {
			_, _ = urlname.Canonical(in)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 8
	}
	for _, piece := range []string{"a&", "/a", "%2F", "%CC%81", "/../a", "b=%C3%A9&"} {
		short := strings.Repeat(piece, urlname.MaxText/len(piece)/8)
		if n, most := bytesOf("https://e.com/?"+strings.Repeat(short, 7)), 12*bytesOf("https://e.com/?"+short); n > most {
			t.Errorf("%q: %d bytes for seven times the input, want at most %d", piece, n, most)
		}
	}
	for _, in := range []string{"https://e.com/?" + strings.Repeat("a=&", 333_333), "https://" + strings.Repeat("ü", 500_000) + ".com/",
		"https://e.com/" + strings.Repeat("%C3%A9", 150_000)} {
		if n := bytesOf(in); n > 4<<10 {
			t.Errorf("%.20q of %d bytes takes %d bytes", in, len(in), n)
		}
	}
}

var disguises = flag.Int("disguises", 20_000, "how many URLs TestCanonical_DisguisesHaveOneForm tries")

// TestCanonical_DisguisesHaveOneForm checks that two random disguises of a random URL have the
// canonical form of the URL. A million of them:
//
//	go test ./core/urlname -run Disguises -args -disguises 1000000
func TestCanonical_DisguisesHaveOneForm(t *testing.T) {
	for seed := range *disguises {
		checkDisguises(t, uint64(seed))
	}
}

func FuzzCanonicalDisguises(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkDisguises(t, seed) })
}

func checkDisguises(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	u := randomNamed(r)
	plain := u.disguised(nil)
	want, err := urlname.Canonical(plain)
	if err != nil {
		t.Fatalf("seed %d: %q: %v", seed, plain, err)
	}
	for range 2 {
		in := u.disguised(r)
		if len(in) > urlname.MaxText {
			continue
		}
		if got, err := urlname.Canonical(in); err != nil || got != want {
			t.Fatalf("seed %d: the disguise %q of %q has the form %q, %v; want %q", seed, in, plain, got, err, want)
		}
	}
}

// named is a URL in parts, from which its disguises are made.
type named struct {
	scheme, host, port string
	segments           []part
	parameters         []part // of different names
}

// part is a segment or a parameter: texts, and between them escapes that must stay escapes.
type part struct {
	texts  []string
	stayed []string // one less than texts
}

// characters have several forms in Unicode, several ways to be written in a URL, or a meaning in it.
var characters = strings.Split("a|Z|7|-|.|_|~|!|$|'|(|)|*|+|,|;|:|@| "+
	"|\"|<|>|`|{|}|^|é|e\u0323\u0302|ü|Å|\u212b|\u212a|\u2126|각|\u1100\u1161|ﬁ|≠|≮|日|\u0338|\u0301|\u0345\u0301|\U0001f600|\u202e", "|")

func randomPart(r *rand.Rand, stays []string) part {
	var p part
	for n := r.IntN(3); len(p.texts) <= n; {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(characters[r.IntN(len(characters))])
		}
		if p.texts = append(p.texts, b.String()); len(p.texts) <= n {
			p.stayed = append(p.stayed, stays[r.IntN(len(stays))])
		}
	}
	return p
}

func randomNamed(r *rand.Rand) named {
	one := func(s ...string) string { return s[r.IntN(len(s))] }
	u := named{scheme: one("http", "https"), port: one("", "", "8080", "1"),
		host: one("e.com", "bücher.example", "faß.de", "r3---sn-ab.example.com", "日本.example", "192.0.2.1", "[2001:db8::1]", "localhost")}
	for range r.IntN(4) {
		p := randomPart(r, []string{"%2F", "%25", "%3D", "%26", "%40"})
		p.texts[0] = "s" + p.texts[0] // no dot segment, not empty
		u.segments = append(u.segments, p)
	}
	for i := range r.IntN(4) {
		p := randomPart(r, []string{"%3D", "%26", "%3F", "%5B", "%2B", "%25"})
		p.texts[0] = string(rune('a'+i)) + one("", "=", "[]=", "=x/?") + p.texts[0]
		u.parameters = append(u.parameters, p)
	}
	return u
}

// disguised returns a form of the URL; a plain one if r is nil.
func (u named) disguised(r *rand.Rand) string {
	one := func(s ...string) string {
		if r == nil {
			return s[0]
		}
		return s[r.IntN(len(s))]
	}
	var b strings.Builder
	b.WriteString(anyCase(r, u.scheme) + "://")
	host := u.host
	if ascii, err := idna.ToASCII(host); err == nil && one("", "ascii") != "" {
		host = ascii
	}
	if host = anyCase(r, host); host[0] != '[' {
		host = strings.ReplaceAll(host, ".", one(".", ".", "\u3002", "\uff0e")) + one("", ".")
	}
	if one("", "decomposed") != "" {
		host = norm.NFD.String(host)
	}
	standard := map[string]string{"http": "80", "https": "443"}[u.scheme]
	b.WriteString(host)
	if u.port != "" {
		b.WriteString(":" + one("", "0", "000") + u.port)
	} else {
		b.WriteString(one("", ":", ":"+standard, ":0"+standard))
	}
	for _, p := range u.segments {
		b.WriteString(one("/", "//", `\`, "/./", "/x/../", "/%2e/", "/%41%2f/%2E./") + p.disguised(r))
	}
	if len(u.segments) == 0 {
		b.WriteString(one("/", "/", "/..", "/%2e%2e/.."))
	}
	b.WriteString(one("", "/", "/.", "/b/.."))
	parameters := make([]string, len(u.parameters))
	for i, p := range u.parameters {
		parameters[i] = p.disguised(r)
	}
	if r != nil {
		parameters = append(parameters, one("", "lang=de", "l%61ng", "rev=%C3%A9", "working_branch"))
		r.Shuffle(len(parameters), func(i, j int) { parameters[i], parameters[j] = parameters[j], parameters[i] })
	}
	if len(parameters) > 0 {
		b.WriteString("?" + strings.Join(parameters, one("&", "&&")))
	}
	b.WriteString(one("#", "#é?%zz")) // always, because white space must not be last
	return b.String()
}

// anyCase returns s with letters of ASCII in random cases.
func anyCase(r *rand.Rand, s string) string {
	return strings.Map(func(c rune) rune {
		if r != nil && c >= 'a' && c <= 'z' && r.IntN(2) == 0 {
			return c - 'a' + 'A'
		}
		return c
	}, s)
}

func (p part) disguised(r *rand.Rand) string {
	var b strings.Builder
	for i, text := range p.texts {
		if r != nil {
			text = []norm.Form{norm.NFC, norm.NFD}[r.IntN(2)].String(text)
		}
		for _, c := range text {
			if r == nil || r.IntN(2) == 0 || strings.ContainsRune("!$&'()*+,;=:@/?[]", c) {
				b.WriteRune(c)
				continue
			}
			for _, octet := range []byte(string(c)) {
				fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[r.IntN(2)], octet)
			}
		}
		if i < len(p.stayed) {
			b.WriteString(anyHex(r, p.stayed[i]))
		}
	}
	return b.String()
}

func anyHex(r *rand.Rand, escape string) string {
	if r == nil || r.IntN(2) == 0 {
		return escape
	}
	return strings.ToLower(escape)
}
