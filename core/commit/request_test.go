package commit

import (
	"strings"
	"testing"

	"carrel/core/fault"
)

func TestCheckKey(t *testing.T) {
	for _, c := range []struct {
		name  string
		key   string
		valid bool
	}{
		{"one character", "k", true},
		{"as long as may be", strings.Repeat("é", maxIdempotencyKey), true},
		{"empty", "", false},
		{"one too long", strings.Repeat("é", maxIdempotencyKey+1), false},
		{"not UTF-8", "\xff", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckKey("u:acme:ann", &c.key)
			if c.valid && err != nil || !c.valid && (fault.CodeOf(err) != fault.Invalid || fault.ReasonOf(err) != "") {
				t.Errorf("%v", err)
			}
		})
	}
	if err := CheckKey("u:acme:ann", nil); err != nil {
		t.Errorf("no key is refused: %v", err)
	}
	key := "k"
	if got := fault.CodeOf(CheckKey("", &key)); got != fault.Unauthenticated {
		t.Errorf("a key of an anonymous caller: code %d, want Unauthenticated", got)
	}
}

// input is an input as mutations have it: a field may be left out, null or given.
type input struct {
	ID   string
	Name struct {
		Set   bool
		Value *string
	}
}

func named(set bool, value *string) input {
	in := input{ID: "u:acme:ann"}
	in.Name.Set, in.Name.Value = set, value
	return in
}

func TestKeyed_TellsRequestsApart(t *testing.T) {
	key, other := "k", "l"
	ann := Keyed("u:acme:ann", &key, "updateUser", named(false, nil))
	if Keyed("u:acme:bob", &key, "updateUser", named(false, nil)).Key == ann.Key {
		t.Error("two callers share a key")
	}
	if Keyed("u:acme:ann", &other, "updateUser", named(false, nil)).Key == ann.Key {
		t.Error("two keys are one")
	}
	if Keyed("u:acme:ann", nil, "updateUser", named(false, nil)) != nil {
		t.Error("a request without a key has one")
	}
	name, same := "x", "x"
	inputs := map[string][32]byte{
		"left out": ann.Hash,
		"null":     Keyed("u:acme:ann", &key, "updateUser", named(true, nil)).Hash,
		"a value":  Keyed("u:acme:ann", &key, "updateUser", named(true, &name)).Hash,
		"mutation": Keyed("u:acme:ann", &key, "updateGroup", named(false, nil)).Hash,
	}
	seen := map[[32]byte]string{}
	for what, hash := range inputs {
		if earlier, twice := seen[hash]; twice {
			t.Errorf("%q and %q have one hash", what, earlier)
		}
		seen[hash] = what
	}
	if Keyed("u:acme:ann", &key, "updateUser", named(true, &same)).Hash != inputs["a value"] {
		t.Error("equal inputs have two hashes")
	}
}
