package commit

import (
	"strings"
	"testing"

	"carrel/core/fault"
)

func TestCheckKey_InvalidKeysAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		key   string
		valid bool
	}{
		{"one character", "k", true},
		{"of the longest length", strings.Repeat("é", maxIdempotencyKey), true},
		{"empty", "", false},
		{"one too long", strings.Repeat("é", maxIdempotencyKey+1), false},
		{"not UTF-8", "\xff", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkKey("u:acme:ann", &c.key)
			if c.valid && err != nil || !c.valid && (fault.CodeOf(err) != fault.Invalid || fault.ReasonOf(err) != "") {
				t.Errorf("%v", err)
			}
		})
	}
	if err := checkKey("u:acme:ann", nil); err != nil {
		t.Errorf("no key is refused: %v", err)
	}
	key := "k"
	if got := fault.CodeOf(checkKey("", &key)); got != fault.Unauthenticated {
		t.Errorf("a key of an anonymous caller: code %d, want Unauthenticated", got)
	}
}
