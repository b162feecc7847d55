//go:build !race

package listing_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"carrel/library/listing"
)

// TestFold_EveryCharacterHasOneKey: what a character is compared as does not depend on its case, on
// whether it is composed, or on how often it is folded.
func TestFold_EveryCharacterHasOneKey(t *testing.T) {
	keys := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			b.WriteString(listing.Fold(r))
		}
		return b.String()
	}
	letters := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue // no characters
		}
		key := listing.Fold(r)
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			letters++
			if key == "" || key == listing.Separator {
				t.Errorf("%U is a letter or a digit, and is part of no word", r)
			}
			if r >= listing.FoldedChars {
				t.Errorf("%U is a letter or a digit, and is computed each time", r)
			}
		} else if unicode.IsPunct(r) || unicode.IsSpace(r) || unicode.IsControl(r) {
			if key != listing.Separator {
				t.Errorf("%U is between words, but is compared as %q", r, key)
			}
		}
		if key == "" || key == listing.Separator {
			continue
		}
		for what, other := range map[string]string{"itself": key, "its decomposition": norm.NFD.String(string(r)),
			"its upper case": string(unicode.ToUpper(r)), "its lower case": string(unicode.ToLower(r))} {
			if r == 'ı' && what == "its upper case" {
				continue // I is the upper case of i as well
			}
			if got := keys(other); got != key {
				t.Errorf("%U is compared as %q, %s as %q", r, key, what, got)
			}
		}
	}
	if letters < 100_000 {
		t.Errorf("only %d letters and digits", letters)
	}
}
