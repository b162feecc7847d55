package jsontext

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

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
		EachMember([]byte(body), func(key, value []byte) { got[string(key)] = string(value) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestJSON_CountsValuesOfABody(t *testing.T) {
	for body, most := range map[string]int{
		`{}`: 1, `{"a":1}`: 1, `{"a":1,"b":[2,3]}`: 4, `"[,{"`: 0, `["\\",1]`: 2, `["\"[[[[",1]`: 2, `["\\\"[[[["]`: 1, `[[],{}]`: 4,
	} {
		if got := Check([]byte(body), most); got != Valid {
			t.Errorf("%s: more than %d values (%d)", body, most, got)
		}
		if got := Check([]byte(body), most-1); most > 0 && got != TooMuch {
			t.Errorf("%s: fewer than %d values (%d)", body, most, got)
		}
	}
	// Too many values are reported before invalid JSON.
	for _, body := range []string{"[[[", `[1,2,3`, `{"a":[[`} {
		if got := Check([]byte(body), 2); got != TooMuch {
			t.Errorf("%s: %d", body, got)
		}
	}
	deep := []byte(strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1))
	if got := Check(deep, len(deep)); got != TooMuch {
		t.Errorf("%d levels: %d", maxDepth+1, got)
	}
	if got := Check(deep[1:len(deep)-1], len(deep)); got != Valid {
		t.Errorf("%d levels: %d", maxDepth, got)
	}
}

func TestCheck_FindsHalvesOfSurrogatePairs(t *testing.T) {
	for value, want := range map[string]Verdict{
		`"\ud83d\ude00"`: Valid, `"\\ud83d"`: Valid, `"\ud7ff\ue000"`: Valid, `{"\uDBFF\uDFFF":1}`: Valid,
		`"\ud83d"`: HalfPair, `"\ude00"`: HalfPair, `["\ud83d","\ude00"]`: HalfPair, `"\ud83d\u0041"`: HalfPair, `"\ud83d\n"`: HalfPair,
		`"\ud83d\ud83d\ude00"`: HalfPair, `"\\\ud83d"`: HalfPair, `{"a":1,"\uDC00":2}`: HalfPair,
		`"\udbff"`: HalfPair, `"\udfff"`: HalfPair, `"\udbff\udbff"`: HalfPair, `"\udbff\udfff\udfff"`: HalfPair,
		`"\ud83d`: Invalid, `"\ud83d"x`: Invalid, `"\ud83d\ude0"`: Invalid, `"\ud83d\`: Invalid, `["\ud83d",]`: Invalid,
		"[\"\\ud83d\",\"\xff\"]": Invalid,
		`["\ud83d",1,2,3,4]`:     TooMuch,
	} {
		if got := Check([]byte(value), 4); got != want {
			t.Errorf("%s is %d, want %d", value, got, want)
		}
	}
}

// TestDecodeString_MatchesTheStandardDecoder compares DecodeString with the standard decoder.
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
		if !DecodeString([]byte(value), &got) || got != want {
			t.Fatalf("%s is decoded as %q, want %q", value, got, want)
		}
	}
}
