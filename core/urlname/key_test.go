package urlname_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/urlname"
)

func TestLocale_AcceptsKnownCodesOnly(t *testing.T) {
	for in, want := range map[string]string{
		"en": "en", "EN": "en", "en_GB": "en_GB", "en-gb": "en_GB", "EN_gb": "en_GB", "fr-CA": "fr_CA", "xx": "xx", "XX": "xx",
		"de_CH": "de_CH", "zh_TW": "zh_TW",
	} {
		if got, err := urlname.Locale(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "e", "eng", "english", "zz", "qq", "en_", "en-", "_GB", "en_XYZ", "en_ZZ", "en_12",
		"en_419", "xx_GB", "en_GB_x", "en--GB", "en__GB", "en GB", " en", "ｅｎ", "en_EU", "\x00"} {
		got, err := urlname.Locale(in)
		var malformed *urlname.Error
		if !errors.As(err, &malformed) || got != "" {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

func TestParseKey_ReturnsEveryPart(t *testing.T) {
	const page = "https://e.com/a"
	for _, c := range []struct {
		in, canonical string
		want          urlname.Key
	}{
		{page, page, urlname.Key{Kind: urlname.Content, Content: page}},
		{"HTTPS://E.com//a/", page, urlname.Key{Kind: urlname.Content, Content: page}},
		{"c:demo:host/7", "c:demo:host/7", urlname.Key{Kind: urlname.Content, Content: "c:demo:host/7"}},
		{page + "#1", page + "#1", urlname.Key{Kind: urlname.Branch, Content: page, Branch: 1}},
		{page + "#0", page + "#0", urlname.Key{Kind: urlname.Branch, Content: page}},
		{"c:demo:x#12", "c:demo:x#12", urlname.Key{Kind: urlname.Branch, Content: "c:demo:x", Branch: 12}},
		{page + "#1.0", page + "#1.0", urlname.Key{Kind: urlname.Revision, Content: page, Branch: 1}},
		{page + "#2147483647.2147483647", page + "#2147483647.2147483647", urlname.Key{Kind: urlname.Revision, Content: page,
			Branch: urlname.MaxNumber, Revision: urlname.MaxNumber}},
		{page + "#en-gb/1.2", page + "#en_GB/1.2", urlname.Key{Kind: urlname.Revision, Content: page, Branch: 1, Revision: 2, Locale: "en_GB"}},
		{page + "#user/u:demo:ann/1", page + "#user/u:demo:ann/1", urlname.Key{Kind: urlname.Draft, Content: page, Branch: 1,
			User: "u:demo:ann"}},
		{page + "#user/u:demo:a%2fb%23%25/de/3", page + "#user/u:demo:a%2Fb%23%25/de/3",
			urlname.Key{Kind: urlname.Draft, Content: page, Branch: 3, User: "u:demo:a/b#%", Locale: "de"}},
		{page + "#user/%75:demo:ann/1", page + "#user/u:demo:ann/1", urlname.Key{Kind: urlname.Draft, Content: page, Branch: 1,
			User: "u:demo:ann"}},
		{page + "#suggestion/1.0a-B_", page + "#suggestion/1.0a-B_", urlname.Key{Kind: urlname.Suggestion, Content: page,
			Branch: 1, Suggestion: "0a-B_"}},
		{page + "#suggestion/XX/1.7", page + "#suggestion/xx/1.7", urlname.Key{Kind: urlname.Suggestion, Content: page,
			Branch: 1, Suggestion: "7", Locale: "xx"}},
	} {
		got, err := urlname.ParseKey(c.in)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", c.in, err, diff)
			continue
		}
		if got.String() != c.canonical {
			t.Errorf("%q: formatted as %q, want %q", c.in, got, c.canonical)
		}
	}
}

func TestParseKey_RefusesMalformedKeys(t *testing.T) {
	for _, part := range []string{
		"", "x", "01", "00", "-1", "+1", "1.", ".1", "1.01", "1.2.3", "2147483648", "1.2147483648", "1.2147483647 ", "1#2", "1/2",
		"en", "en/", "en/1", "english/1.2", "zz/1.2", "en/1.2/3", "en/de/1.2", "user/1.2", "suggestion/1",
		"user", "user/", "user//1", "user/u:demo:ann", "user/u:demo:ann/", "user/u:demo:ann/x", "user/u:demo:ann/1.2",
		"user/%zz/1", "user/a%0ab/1", "user/%ff/1", "user/u:demo:ann/en/de/1",
		"suggestion/", "suggestion/1.", "suggestion/x.1", "suggestion/1.a.b", "suggestion/1.a/b", "suggestion/1.ä",
		"suggestion/1." + strings.Repeat("a", 65), "suggestion/zz/1.a",
		"User/u:demo:ann/1",
	} {
		got, err := urlname.ParseKey("https://e.com/#" + part)
		var malformed *urlname.Error
		if !errors.As(err, &malformed) || got != (urlname.Key{}) {
			t.Errorf("%q: got %+v, %v", part, got, err)
		}
	}
	if _, err := urlname.ParseKey("ftp://e.com/#1"); err == nil {
		t.Error("a key of an ftp URL is accepted")
	}
}

// A formatted key parses to itself.
func TestKeys_SurviveFormatting(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	contents := []string{"https://e.com/", "https://e.com/a?b=1", "c:demo:host/7"}
	locales := []string{"", "en", "en_GB", "xx"}
	users := []string{"u:demo:ann", "u:demo:a/b", "u:demo:a%b#c"}
	numbers := []int{0, 1, 9, 10, urlname.MaxNumber}
	one := func(n int) int { return r.IntN(n) }
	for range 10_000 {
		k := urlname.Key{Kind: urlname.Kind(1 + one(5)), Content: contents[one(3)]}
		if k.Kind != urlname.Content {
			k.Branch = numbers[one(5)]
		}
		switch k.Kind {
		case urlname.Revision:
			k.Revision, k.Locale = numbers[one(5)], locales[one(4)]
		case urlname.Draft:
			k.User, k.Locale = users[one(3)], locales[one(4)]
		case urlname.Suggestion:
			k.Suggestion, k.Locale = "0af9", locales[one(4)]
		}
		if got, err := urlname.ParseKey(k.String()); err != nil || got != k {
			t.Fatalf("%q: got %+v, %v; want %+v", k, got, err, k)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("https://e.com/a#user/u:demo:a%2fb/en-gb/3")
	f.Add("c:demo:x#suggestion/xx/1.7")
	f.Add("https://e.com/#1.2")
	f.Fuzz(func(t *testing.T, in string) {
		k, err := urlname.ParseKey(in)
		if err != nil {
			return
		}
		if again, err := urlname.ParseKey(k.String()); err != nil || again != k {
			t.Fatalf("%q: %q parses to %+v, %v; want %+v", in, k, again, err, k)
		}
	})
}
