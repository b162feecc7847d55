package note

import (
	"slices"
	"strings"
	"testing"
)

func TestAcceptedLocales_AreOrderedByPreference(t *testing.T) {
	for header, want := range map[string]string{
		"":                               "",
		"en":                             "en",
		"fr-CA, fr;q=0.8, en-gb;q=0.9":   "fr_CA en_GB fr",
		"de;q=0.1,it;q=0.1,es;q=0.2":     "es de it",
		"zh-Hant-TW":                     "zh_TW",
		"sr-Latn":                        "sr",
		"*;q=0.5, da":                    "da *",
		"en;q=0, fr":                     "fr",
		"en;q=2, fr;q=-1, it;q=x, de":    "de",
		"en;q=NaN, de":                   "de",
		"klingon, tlh, e, , ;q=1, en-XX": "",
		" fr ; q=0.3 , EN;Q=0.4":         "en fr",
	} {
		if got := strings.Join(AcceptedLocales(header), " "); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("en,", 100_000), strings.Repeat("en,", 19) + "de;q=0.9,fr"} {
		got := AcceptedLocales(long)
		if len(got) != 20 || slices.Contains(got, "fr") {
			t.Errorf("the locales of a long header: %v", got)
		}
	}
	if got := AcceptedLocales(strings.Repeat("x,", 20) + "de"); len(got) > 0 {
		t.Errorf("beyond 20 ranges that are no locales: %v", got)
	}
}

func TestChoose_ReturnsTheBestMatch(t *testing.T) {
	for _, c := range []struct {
		available, preferred string
		own                  string
		want                 string // "-": none
	}{
		{"de en fr", "fr_CA", "en", "fr"},
		{"de en fr fr_CA", "fr_CA", "en", "fr_CA"},
		{"de fr_CA", "fr", "de", "-"}, // fr does not find fr_CA
		{"de en", "fr it", "de", "en"},
		{"de xx", "fr", "de", "xx"},
		{"de en xx", "fr", "de", "en"},
		{"_ de", "fr", "de", ""},
		{"_ de xx", "", "de", "xx"},
		{"de", "", "de", "-"},
		{"de it", "*", "it", "it"},
		{"de it", "*", "en", "de"},
		{"_ de", "*", "", "de"},
		{"_", "*", "", ""},
		{"de it", "it *", "de", "it"},
		{"en fr", "de fr_CH en", "en", "fr"},
		{"", "en", "", "-"},
	} {
		available := strings.Fields(c.available)
		for i := range available {
			available[i] = strings.Trim(available[i], "_")
		}
		got, ok := choose(available, strings.Fields(c.preferred), c.own)
		if ok != (c.want != "-") || ok && got != c.want {
			t.Errorf("%q of %q, own %q: %q, %v; want %q", c.preferred, c.available, c.own, got, ok, c.want)
		}
		if ok && !slices.Contains(available, got) {
			t.Errorf("%q of %q: %q is not available", c.preferred, c.available, got)
		}
	}
}
