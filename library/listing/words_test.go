package listing_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"carrel/core/fault"
	"carrel/domain/domaintest"
	"carrel/library/listing"
)

func finds(t testing.TB, text string, in ...string) bool {
	t.Helper()
	found, err := listing.Finds(text, in...)
	if err != nil {
		t.Fatalf("a search for %q: %v", text, err)
	}
	return found
}

func TestSearch_EachWordBeginsAWord(t *testing.T) {
	for _, c := range []struct {
		name, text, title, description string
		want                           bool
	}{
		{"a whole word", "garden", "The garden wall", "", true},
		{"the beginning of one", "gar", "The garden wall", "", true},
		{"more than a word", "gardens", "The garden wall", "", false},
		{"the middle of one", "arden", "The garden wall", "", false},
		{"the end of one", "den", "The garden wall", "", false},
		{"the first word", "the", "The garden wall", "", true},
		{"the last word", "wall", "The garden wall", "", true},
		{"of the description", "stone", "The garden wall", "Made of stone", true},
		{"one of each", "stone garden", "The garden wall", "Made of stone", true},
		{"one that is nowhere", "stone house", "The garden wall", "Made of stone", false},
		{"none across the two", "wallmade", "The garden wall", "Made of stone", false},
		{"any order, and spaces", "  wall\tthe ", "The garden wall", "", true},
		{"two words that one begins with", "gar garden", "garden", "", true},
		{"the same word twice", "wall wall", "wall", "", true},
		{"a longer word after a shorter one", "a ab abc", "abc", "", true},
		{"a word behind one that begins alike", "gas", "gar gas", "", true},
		{"no word", " ... ", "anything", "", true},
		{"no text", "", "", "", true},
		{"nothing to search", "a", "", "", false},
		{"digits", "2024", "Report 2024-05", "", true},
		{"digits after a dash", "05", "Report 2024-05", "", true},
		{"digits in a word", "b2", "a1b2", "", false},
		{"punctuation separates", "don't", "I DON'T know", "", true},
		{"punctuation is not compared", "c++", "The C language", "", true},
		{"case", "GARDEN wAlL", "the Garden WALL", "", true},
		{"accents in the item", "angstrom cafe", "Ångström's Café", "", true},
		{"accents in the text", "ångström café", "Angstrom Cafe", "", true},
		{"accents as marks of their own", "re\u0301sume\u0301", "R\u00e9sum\u00e9", "", true},
		{"sharp s", "strasse", "Straße", "", true},
		{"sharp s in the text", "STRAẞE", "strasse", "", true},
		{"a part of sharp s", "stras", "Straße", "", true},
		{"a ligature", "final", "ﬁnal", "", true},
		{"final sigma", "ΟΔΥΣΣΕΥΣ", "ὀδυσσεύς", "", true},
		{"a dotted capital I", "istanbul", "İstanbul", "", true},
		{"Cyrillic", "ежик", "Ёжик", "", true},
		{"Cherokee", "ᎠᏂᏴᏫᏯ", "ꭰꮒᏼꮻꮿ", "", true},
		{"Hangul", "하", "한국 하늘", "", true},
		{"Hangul in parts", "한국", "한국", "", true},
		{"Han", "天地", "天地玄黄", "", true},
		{"the middle of Han", "玄黄", "天地玄黄", "", false},
		{"Han after a blank", "玄黄", "天地 玄黄", "", true},
		{"Kana and Han", "東京", "東京タワー", "", true},
		{"the middle of Thai", "ไทย", "ภาษาไทย", "", false},
		{"the beginning of Thai", "ภาษา", "ภาษาไทย", "", true},
		{"Thai vowel signs and tones above and below", "นำ", "น้ำ", "", true},
		{"a vowel sign does not end a word", "का", "काम", "", true},
		{"a soft hyphen", "zusammenhang", "Zusammen\u00adhang", "", true},
		{"Gothic, beyond 16 bits", "𐌲𐌿𐍄", "𐌲𐌿𐍄𐌹𐍃𐌺", "", true},
		{"Deseret has cases", "𐐨", "𐐀", "", true},
		{"beyond all letters", "a", "\U0010FFFFa", "", true},
		{"a variant", "葛城", "葛\U000E0100城", "", true},
		{"bytes that are no text", "b", "a\xffb", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := finds(t, c.text, c.title, c.description); got != c.want {
				t.Errorf("%q in %q and %q: found is %t", c.text, c.title, c.description, got)
			}
		})
	}
}

func TestSearch_TextIsBounded(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{strings.Repeat("ä", 200), ""},
		{strings.Repeat("ä", 201), "filter.text has at most 200 characters; this one has 201"},
		{"a b c d e f g h i j", ""},
		{"a b c d e f g h i j A á", ""}, // words count once
		{"a b c d e f g h i j k", "filter.text has at most 10 words; this one has 11: leave out the most frequent of them"},
	} {
		_, err := listing.Finds(c.text)
		if c.want == "" {
			if err != nil {
				t.Errorf("%.30q: %v", c.text, err)
			}
			continue
		}
		domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadInput)
		if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30q: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestSearch_MatchesItsDefinition compares the search with its definition on whole texts.
func TestSearch_MatchesItsDefinition(t *testing.T) {
	words := func(s string) []string {
		s = norm.NFD.String(s)
		s = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
				return -1
			}
			return r
		}, s)
		return strings.FieldsFunc(cases.Fold().String(s), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.Mc) })
	}
	char := rapid.SampledFrom([]rune("aaabbAB  .-1äÄ\u0301ßé\u0345ςΣ한ㅎ天\u00ad"))
	text := func(most int) *rapid.Generator[string] { return rapid.StringOfN(char, 0, most, -1) }
	rapid.Check(t, func(rt *rapid.T) {
		query, title, description := text(8).Draw(rt, "query"), text(20).Draw(rt, "title"), text(20).Draw(rt, "description")
		want := true
		for _, q := range words(query) {
			begins := false
			for _, w := range append(words(title), words(description)...) {
				begins = begins || strings.HasPrefix(w, q)
			}
			want = want && begins
		}
		if got := finds(t, query, title, description); got != want {
			rt.Fatalf("%q in %q and %q: found is %t", query, title, description, got)
		}
	})
}
