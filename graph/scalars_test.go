package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/urlname"
	"carrel/library"
	"carrel/note"
)

func marshaled(m graphql.Marshaler) string {
	var b bytes.Buffer
	m.MarshalGQL(&b)
	var other strings.Builder
	m.MarshalGQL(&other)
	if b.String() != other.String() {
		return "differs by writer: " + b.String() + " and " + other.String()
	}
	return b.String()
}

func TestDateTime_HasSixDecimals(t *testing.T) {
	at := func(h, m, s, ns int) clock.Instant {
		return clock.Of(time.Date(2026, 11, 21, h, m, s, ns, time.UTC))
	}
	cases := []struct {
		name string
		in   clock.Instant
		want string
	}{
		{"microseconds", at(9, 30, 0, 123456000), `"2026-11-21T09:30:00.123456Z"`},
		{"whole second", at(9, 30, 0, 0), `"2026-11-21T09:30:00.000000Z"`},
		{"trailing zeros", at(23, 59, 59, 100000000), `"2026-11-21T23:59:59.100000Z"`},
		{"before 1970", clock.Of(time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)), `"0001-01-01T00:00:00.000001Z"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := marshaled(MarshalDateTime(c.in)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			back, err := UnmarshalDateTime(strings.Trim(c.want, `"`))
			if err != nil || back != c.in {
				t.Errorf("read back: %v, %v; want %v", back, err, c.in)
			}
		})
	}
}

func TestDateTime_InputIsConvertedToUTC(t *testing.T) {
	zoned, err := UnmarshalDateTime("2026-11-21T10:30:00.1234569+01:00")
	if want := "2026-11-21T09:30:00.123456Z"; err != nil || zoned.String() != want {
		t.Errorf("zoned: %v, %v; want %s", zoned, err, want)
	}
	for _, bad := range []any{"", "yesterday", "2026-11-21", "2026-11-21T10:30:00", "10000-01-01T00:00:00Z",
		"2026-11-21T9:30:00Z", "2026-11-21T09:30:00,5Z",
		"2026-11-21T09:30:00+24:00", 17, nil, true} {
		if _, err := UnmarshalDateTime(bad); fault.ReasonOf(err) != fault.ReasonBadInput {
			t.Errorf("%v: got %v, want BAD_USER_INPUT", bad, err)
		}
	}
}

func TestInt_Has32Bits(t *testing.T) {
	good := []struct {
		in   any
		want int
	}{
		{7, 7}, {int64(-1), -1}, {json.Number("2147483647"), math.MaxInt32}, {int64(math.MinInt32), math.MinInt32}, {3.0, 3},
		{json.Number("-0"), 0},
	}
	for _, c := range good {
		if got, err := UnmarshalInt(c.in); err != nil || got != c.want {
			t.Errorf("%v: got %d, %v; want %d", c.in, got, err, c.want)
		}
	}
	bad := []any{int64(math.MaxInt32 + 1), int64(math.MinInt32 - 1), 0.5, math.NaN(), math.Inf(1), 1e10,
		json.Number("1e400"), json.Number("2147483648"), json.Number("1.5"), "7", true, nil}
	for _, v := range bad {
		if got, err := UnmarshalInt(v); fault.ReasonOf(err) != fault.ReasonBadInput {
			t.Errorf("%v: got %d, %v; want BAD_USER_INPUT", v, got, err)
		}
	}
}

func TestEnums_HaveTheNamesOfTheContract(t *testing.T) {
	schema := schemaFiles(t)
	round := map[string]func(string) (string, error){
		"LibraryVisibility": roundTrip(UnmarshalLibraryVisibility, MarshalLibraryVisibility),
		"ContentKind":       roundTrip(UnmarshalContentKind, MarshalContentKind),
		"ContentRole":       roundTrip(UnmarshalContentRole, MarshalContentRole),
		"CountPrecision":    roundTrip(UnmarshalCountPrecision, MarshalCountPrecision),
		"FanOutState":       roundTrip(UnmarshalFanOutState, MarshalFanOutState),
		"OrderDirection":    roundTrip(UnmarshalOrderDirection, MarshalOrderDirection),
		"LibraryOrderField": roundTrip(UnmarshalLibraryOrderField, MarshalLibraryOrderField),
	}
	for enum, through := range round {
		for _, v := range schema.Types[enum].EnumValues {
			if got, err := through(v.Name); err != nil || got != `"`+v.Name+`"` {
				t.Errorf("%s.%s: got %s, %v", enum, v.Name, got, err)
			}
		}
		if _, err := through("SOMETHING"); fault.ReasonOf(err) != fault.ReasonBadInput {
			t.Errorf("%s: an unknown name gives %v, want BAD_USER_INPUT", enum, err)
		}
	}
	if got := marshaled(MarshalContentRole(library.NoRole)); got != "null" {
		t.Errorf("no role is %s, want null", got)
	}
}

// TestEnums_BoundByValue: gqlgen.yml gives each name of these enums the value that the domain calls so.
func TestEnums_BoundByValue(t *testing.T) {
	for _, equal := range []bool{
		maps.Equal(marshalNKeyKind2carrelᚋcoreᚋurlnameᚐKind, map[urlname.Kind]string{urlname.Content: "CONTENT", urlname.Branch: "BRANCH",
			urlname.Revision: "REVISION", urlname.Draft: "DRAFT", urlname.Suggestion: "SUGGESTION"}),
		maps.Equal(unmarshalNSuggestionDecision2carrelᚋnoteᚐDecision, map[string]note.Decision{"ACCEPT": note.Accept,
			"REJECT": note.Reject, "WITHDRAW": note.Withdraw}),
		namedAs(unmarshalNGroupRole2carrelᚋprincipalᚐGroupRole, marshalNGroupRole2carrelᚋprincipalᚐGroupRole),
		namedAs(unmarshalOLibraryChangeReason2ᚖcarrelᚋlibraryᚐChangeReason, marshalOLibraryChangeReason2ᚖcarrelᚋlibraryᚐChangeReason),
		namedAs(unmarshalNSuggestionState2carrelᚋnoteᚐState, marshalNSuggestionState2carrelᚋnoteᚐState),
	} {
		if !equal {
			t.Error("an enum has other names than in the domain: compare gqlgen.yml with the domain")
		}
	}
}

// namedAs reports whether the names of an enum are those of the domain.
func namedAs[T interface {
	comparable
	fmt.Stringer
}](in map[string]T, out map[T]string) bool {
	for v, name := range out {
		if v.String() != name || in[name] != v {
			return false
		}
	}
	return len(in) == len(out) && len(in) > 1
}

func roundTrip[T any](in func(any) (T, error), out func(T) graphql.Marshaler) func(string) (string, error) {
	return func(name string) (string, error) {
		v, err := in(name)
		if err != nil {
			return "", err
		}
		return marshaled(out(v)), nil
	}
}
