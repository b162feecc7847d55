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
	for n, valid := range map[int]bool{1: false, 21: false, 22: true, 128: true, 129: false} {
		key := strings.Repeat("é", n)
		err := checkKey("", &key)
		if valid != (err == nil) || !valid && fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%d characters of an anonymous caller: %v", n, err)
		}
		if n < 22 && !strings.Contains(err.Error(), "too short") {
			t.Errorf("%d characters of an anonymous caller: %v does not say that they are too few", n, err)
		}
	}
}
