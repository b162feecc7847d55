package urlname_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

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
		{"https://e.com/%ca\u030a", "https://e.com/%CA%CC%8A"},
		{"https://e.com/\u212a", "https://e.com/K"},
		{"https://e.com/?a=\u0338b", "https://e.com/?a%E2%89%A0b"},
		{"https://e.com/%FF", "https://e.com/%FF"},
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
		"https://e.com:65536/", "https://e.com:0/", "https://e.com:00", "https://e.com:8x", "https://e.com:-1", "https://e.com:+1", "https://e.com:99999999999999999999",
		"https://e.com/%zz", "https://e.com/%", "https://e.com/%4", "https://e.com/?%g0", "https://e.com/a%2",
		" https://e.com", "https://e.com ", "\u00a0https://e.com", "https://e.com/\n", "https://e.com/a\tb", "https://e.com/\x7f", "https://e.com/\u0085", "https://e.com/#\x00",
		"https://e.com/\xff", "https://\xff.com/",
		"https://%65.com", "https://e%2ecom", "https://e..com", "https://.e.com", "https://.", "https://e.com..", "https://e_f.com", "https://e f.com", "https://e,f.com",
		"https://0x7f.1", "https://127.1", "https://2130706433", "https://0177.0.0.1", "https://1.2.3.4.5", "https://256.0.0.1", "https://a.0x1", "https://a.1", "https://1.2.3.4x.9",
		"https://[::1", "https://[::1]x", "https://::1/", "https://[1.2.3.4]", "https://[fe80::1%25eth0]", "https://[]", "https://[g::]",
		"https://xn--a.com/", "https://\u00ad.com/", "https://" + strings.Repeat("a", 64) + ".com", "https://" + strings.Repeat("a.", 127) + "com",
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
	"?|&|&&|=|a|b=1|b=2|a=|lang=de|rev|l%61ng|working_branch=2|#|x#y|;|+| |\"|<|>|`|{}|^|\\|[|]|~|-|_|!$&'()*+,;=|\u3002|\u00ad|\u200d|\U0001f600|٠", "|")

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
