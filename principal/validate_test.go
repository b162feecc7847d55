package principal

import (
	"strings"
	"testing"

	"carrel/core/fault"
)

func TestCheckDisplayName_IsBounded(t *testing.T) {
	wantRefused(t, checkDisplayName(strings.Repeat("x", maxDisplayName)), false)
	wantRefused(t, checkDisplayName(strings.Repeat("x", maxDisplayName+1)), true)
}

func TestEmail_IsNormalized(t *testing.T) {
	label := strings.Repeat("x", 60)
	for _, c := range []struct {
		name  string
		value string
		want  string // empty: INVALID
	}{
		{"plain", "ann@example.com", "ann@example.com"},
		{"trimmed and lower-cased", "  Ann.Lee+Books@Example.COM\n", "ann.lee+books@example.com"},
		{"IDNA", "ann@Bücher.example", "ann@xn--bcher-kva.example"},
		{"IDNA already", "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"},
		{"wide full stop", "ann@example。com", "ann@example.com"},
		{"letters of other scripts", "Ärger@example.com", "ärger@example.com"},
		{"composed and decomposed are one", "a\u0308rger@example.com", "ärger@example.com"},
		{"a dotted capital I", "m\u0130ke@example.com", ""},
		{"a dotted capital I in parts", "mI\u0307ke@example.com", ""},
		{"a dotless i", "m\u0131ke@example.com", "m\u0131ke@example.com"},
		{"a Kelvin sign", "mi\u212ae@example.com", ""},
		{"an Ohm sign", "\u2126@example.com", ""},
		{"an Omega", "\u03a9@example.com", "\u03c9@example.com"},
		{"an Angstrom sign", "\u212b@example.com", ""},
		{"a Greek grave accent", "a\u1fefb@example.com", ""},
		{"a compatibility ideograph", "\uf900@example.com", ""},
		{"a dotted capital I in the domain", "ann@m\u0130ke.example", ""},
		{"a Kelvin sign in the domain", "ann@\u212ae.example", ""},
		{"hyphens in places 3 and 4", "ann@r3---sn-ab.example.com", "ann@r3---sn-ab.example.com"},
		{"a capital sharp s", "STRA\u1e9eE@example.com", "stra\u00dfe@example.com"},
		{"far too long", strings.Repeat(" ", 1<<20) + "ann@example.com", ""},
		{"a host", "root@localhost", "root@localhost"},
		{"the maximum length", "a@" + label + "." + label + "." + label + "." + label + ".abcdefgh",
			"a@" + label + "." + label + "." + label + "." + label + ".abcdefgh"},
		{"one too long", "ab@" + label + "." + label + "." + label + "." + label + ".abcdefgh", ""},
		{"long local part", strings.Repeat("a", 65) + "@example.com", ""},
		{"too long in ASCII form only", "a@" + strings.Repeat("ü", 240) + ".de", ""},
		{"empty", "", ""},
		{"blank", "  ", ""},
		{"no @", "ann.example.com", ""},
		{"no local part", "@example.com", ""},
		{"no domain", "ann@", ""},
		{"two @", "ann@lee@example.com", ""},
		{"two addresses", "ann@example.com,bob@example.com", ""},
		{"with a name", "Ann <ann@example.com>", ""},
		{"blank inside", "ann lee@example.com", ""},
		{"quoted", `"ann lee"@example.com`, ""},
		{"dot in front", ".ann@example.com", ""},
		{"two dots", "ann..lee@example.com", ""},
		{"dot at the end", "ann.@example.com", ""},
		{"final dot of the domain", "ann@example.com.", ""},
		{"wide final dot of the domain", "ann@example.com\u3002", ""},
		{"empty label", "ann@example..com", ""},
		{"dash in front", "ann@-example.com", ""},
		{"underscore in the domain", "ann@exa_mple.com", ""},
		{"address literal", "ann@[127.0.0.1]", ""},
		{"long label", "ann@" + strings.Repeat("x", 64) + ".com", ""},
		{"bad punycode", "ann@xn--zzzzzz99999.com", ""},
		{"control", "an\x00n@example.com", ""},
		{"not UTF-8", "ann\xff@example.com", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := normalizeEmail(c.value)
			wantRefused(t, err, c.want == "")
			if got != c.want {
				t.Fatalf("normalizeEmail(%q) = %q, want %q", c.value, got, c.want)
			}
			if err != nil {
				return
			}
			if again, err := normalizeEmail(got); again != got || err != nil {
				t.Fatalf("normalizing %q again gives %q, %v", got, again, err)
			}
		})
	}
}

func TestCheckVisibility_AcceptsOnlyTheThree(t *testing.T) {
	for v := range Visibility(6) {
		wantRefused(t, checkVisibility(v), v < Private || v > Public)
	}
}

// wantRefused checks that a field is refused as INVALID, or accepted if refused is false.
func wantRefused(t *testing.T, err error, refused bool) {
	t.Helper()
	if refused != (err != nil) || refused && (fault.CodeOf(err) != fault.Invalid || fault.ReasonOf(err) != "") {
		t.Fatalf("%v", err)
	}
}
