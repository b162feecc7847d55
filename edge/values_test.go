package edge

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"carrel/edge/jsontext"
	"carrel/edge/validation"
)

// jsonSeeds are inputs that are easy to get wrong.
var jsonSeeds = []string{
	``, ` `, `null`, `nul`, `true`, `falsey`, `-0`, `-`, `01`, `1.`, `.5`, `1.5e+07`, `1e`, `1E-`, `"`, `"\`, `"\u00"`,
	`"\u00e9\ud800"`, `"\x"`, "\"\t\"", "\"\x7f\"", "\"\xff\"", `"a"b`,
	`"long enough for two words \\\\ and \\n"`, "\"seven..\x1f..eight\"", `"1234567"`, `"12345678"`, `"1234567\\"`,
	`"üüüüüüüüü"`, `[]`, `[ ]`, `[,]`, `[1,]`, `[1 2]`, `[1`, `]`, `[}`, `{}`, `{ }`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`,
	`{a:1}`, `{"a":1 "b":2}`, `{"a" : [ { } , "]" ] , "b":{"c":null}}`, `{"":{"":[]}}`, "\x00", "[1]\x00", `[tru]`, `[[[[1],2],3],4]`,
}

// FuzzJSON compares the scanner with the standard decoder: what is valid, and what is decoded.
func FuzzJSON(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		trimmed := bytes.Trim(b, jsontext.Space)
		got, want := jsontext.Check(trimmed, 1<<20), jsontext.Invalid
		if json.Valid(trimmed) && utf8.Valid(trimmed) {
			want = jsontext.Valid
			if bytes.Count(trimmed, []byte{'\\'}) > 0 && validation.HasHalfPair(string(trimmed)) {
				want = jsontext.HalfPair
			}
		}
		if got != want {
			t.Fatalf("%q is %d, want %d", b, got, want)
		}
		if got == jsontext.Invalid {
			return
		}
		d := json.NewDecoder(bytes.NewReader(trimmed))
		d.UseNumber()
		var standard any
		if err := d.Decode(&standard); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		r := valueReader{b: trimmed}
		if diff := cmp.Diff(standard, r.value(nil)); diff != "" || r.at != len(trimmed) {
			t.Errorf("%q is decoded up to %d: %s", b, r.at, diff)
		}
	})
}
