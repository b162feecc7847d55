package edge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestEachMember_VisitsMembersOfAnObject(t *testing.T) {
	for body, want := range map[string]map[string]string{
		`{}`:                       {},
		`{ }`:                      {},
		`{"a":1}`:                  {"a": "1"},
		`{"a":1,"b":"x","c":null}`: {"a": "1", "b": `"x"`, "c": "null"},
		"{ \"a\" :\n[1,\"]\"] , \"b\": {\"c\":\"}\\\"\"} }": {"a": `[1,"]"]`, "b": `{"c":"}\""}`},
		`{"a\\":"\\","\"":"\\\""}`:                          {`a\`: `"\\"`, `"`: `"\\\""`},
		`{"a":1,"a":2}`:                                     {"a": "2"},
		`{"\u0061":-1.5e+7,"B":true}`:                       {"a": "-1.5e+7", "B": "true"},
	} {
		if !json.Valid([]byte(body)) {
			t.Fatalf("not valid: %s", body)
		}
		got := map[string]string{}
		eachMember([]byte(body), func(key, value []byte) { got[string(key)] = string(value) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestJSON_CountsValuesOfABody(t *testing.T) {
	for body, most := range map[string]int{
		`{}`: 1, `{"a":1}`: 1, `{"a":1,"b":[2,3]}`: 4, `"[,{"`: 0, `["\\",1]`: 2, `["\"[[[[",1]`: 2, `["\\\"[[[["]`: 1, `[[],{}]`: 4,
	} {
		if got := checkJSON([]byte(body), most); got != jsonValid {
			t.Errorf("%s: more than %d values (%d)", body, most, got)
		}
		if got := checkJSON([]byte(body), most-1); most > 0 && got != jsonTooMuch {
			t.Errorf("%s: fewer than %d values (%d)", body, most, got)
		}
	}
	// Too many values are reported before invalid JSON.
	for _, body := range []string{"[[[", `[1,2,3`, `{"a":[[`} {
		if got := checkJSON([]byte(body), 2); got != jsonTooMuch {
			t.Errorf("%s: %d", body, got)
		}
	}
	deep := []byte(strings.Repeat("[", maxJSONDepth+1) + strings.Repeat("]", maxJSONDepth+1))
	if got := checkJSON(deep, len(deep)); got != jsonTooMuch {
		t.Errorf("%d levels: %d", maxJSONDepth+1, got)
	}
	if got := checkJSON(deep[1:len(deep)-1], len(deep)); got != jsonValid {
		t.Errorf("%d levels: %d", maxJSONDepth, got)
	}
}

// jsonSeeds are inputs that are easy to get wrong.
var jsonSeeds = []string{
	``, ` `, `null`, `nul`, `true`, `falsey`, `-0`, `-`, `01`, `1.`, `.5`, `1.5e+07`, `1e`, `1E-`, `"`, `"\`, `"\u00"`, `"\u00e9\ud800"`, `"\x"`, "\"\t\"", "\"\x7f\"", "\"\xff\"", `"a"b`,
	`"long enough for two words \\\\ and \\n"`, "\"seven..\x1f..eight\"", `"1234567"`, `"12345678"`, `"1234567\\"`, `"üüüüüüüüü"`, `[]`, `[ ]`, `[,]`, `[1,]`, `[1 2]`, `[1`, `]`, `[}`, `{}`, `{ }`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a" : [ { } , "]" ] , "b":{"c":null}}`, `{"":{"":[]}}`, "\x00", "[1]\x00", `[tru]`, `[[[[1],2],3],4]`,
}

// FuzzJSON compares the scanner with the standard decoder: what is valid, and what is decoded.
func FuzzJSON(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		trimmed := bytes.Trim(b, jsonSpace)
		got, want := checkJSON(trimmed, 1<<20), jsonInvalid
		if json.Valid(trimmed) && utf8.Valid(trimmed) {
			want = jsonValid
		}
		if got != want {
			t.Fatalf("%q is %d, want %d", b, got, want)
		}
		if got == jsonInvalid {
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

// TestEightDigits_EachByteAtEachPosition tries each byte value at each of eight positions among
// digits.
func TestEightDigits_EachByteAtEachPosition(t *testing.T) {
	for at := range 8 {
		for c := range 256 {
			b := []byte("09182736")
			b[at] = byte(c)
			want := c >= '0' && c <= '9'
			if got := allDigits(binary.LittleEndian.Uint64(b)); got != want {
				t.Errorf("%q: %t", b, got)
			}
			number := bytes.Trim(append([]byte("1"), b...), jsonSpace) // surrounding white space is removed before the check
			if got := checkJSON(number, 0) == jsonValid; got != json.Valid(number) {
				t.Errorf("allDigits(%q) is %t", number, got)
			}
		}
	}
}

// TestDecodeString_MatchesTheStandardDecoder compares decodeString with the standard decoder.
func TestDecodeString_MatchesTheStandardDecoder(t *testing.T) {
	pieces := []string{"a", "ünï", `\n`, `\t`, `\"`, `\\`, `\/`, `\b`, `\f`, `\r`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, "query { viewer }", " "}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		value := `"`
		for range random.IntN(8) {
			value += pieces[random.IntN(len(pieces))]
		}
		value += `"`
		var got, want string
		if err := json.Unmarshal([]byte(value), &want); err != nil {
			t.Fatal(err)
		}
		if !decodeString([]byte(value), &got) || got != want {
			t.Fatalf("%s is decoded as %q, want %q", value, got, want)
		}
	}
}
