package clock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"carrel/core/fault"
)

// TestAppendText_MatchesTheLayout compares AppendText with package time.
func TestAppendText_MatchesTheLayout(t *testing.T) {
	instants := []Instant{0, -1, 1, Min, Min - 1, Max, Max + 1, math.MaxInt64, math.MinInt64,
		Of(time.Date(2024, 2, 29, 23, 59, 59, 999_999_000, time.UTC)), Of(time.Date(987, 6, 5, 4, 3, 2, 1000, time.UTC))}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		instants = append(instants, Min+Instant(random.Int64N(int64(Max-Min))))
	}
	for _, i := range instants {
		got, err := i.AppendText([]byte("at "))
		if want := "at " + i.Time().Format(instantLayout); string(got) != want || err != nil {
			t.Fatalf("%d: got %s, %v; want %s", i, got, err, want)
		}
	}
}

func TestParse_AcceptsRFC3339(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-21T09:30:00Z":                     "2026-11-21T09:30:00.000000Z",
		"2026-11-21t09:30:00z":                     "2026-11-21T09:30:00.000000Z",
		"2026-11-21T09:30:00.1Z":                   "2026-11-21T09:30:00.100000Z",
		"2026-11-21T09:30:00.1234567891234567891Z": "2026-11-21T09:30:00.123456Z",
		"2026-11-21T09:30:00.9999999+00:00":        "2026-11-21T09:30:00.999999Z",
		"2026-11-21T09:30:00-00:00":                "2026-11-21T09:30:00.000000Z",
		"2026-11-21T09:30:00+05:45":                "2026-11-21T03:45:00.000000Z",
		"2026-11-21T09:30:00.5-23:59":              "2026-11-22T09:29:00.500000Z",
		"2024-02-29T23:59:59.999999+23:59":         "2024-02-29T00:00:59.999999Z",
		"2000-02-29T00:00:00Z":                     "2000-02-29T00:00:00.000000Z",
		"0001-01-01T00:00:00Z":                     "0001-01-01T00:00:00.000000Z",
		"0000-12-31T23:59:00-00:01":                "0001-01-01T00:00:00.000000Z",
		"9999-12-31T23:59:59.999999Z":              "9999-12-31T23:59:59.999999Z",
		"1969-12-31T23:59:59.9999999Z":             "1969-12-31T23:59:59.999999Z",
	} {
		if got, err := Parse(text); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestParse_RefusesWhatIsNotStrictlyRFC3339(t *testing.T) {
	for _, text := range []string{
		"", "Z", "2026-11-21", "2026-11-21T09:30:00", "2026-11-21T09:30Z", "2026-11-21 09:30:00Z", "2026-11-21T09:30:00 Z",
		" 2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z ",
		"2026-11-21T9:30:00Z", "2026-11-21T09:3:00Z", "2026-11-21T09:30:0Z", "2026-1-21T09:30:00Z", "2026-11-1T09:30:00Z",
		"26-11-21T09:30:00Z", "02026-11-21T09:30:00Z", "+2026-11-21T09:30:00Z",
		"2026-11-21T09:30:00,5Z", "2026-11-21T09:30:00.Z", "2026-11-21T09:30:00.5", "2026-11-21T09:30:00.5.5Z",
		"2026-11-21T09:30:00.-5Z", "2026-11-21T09:30:00;5Z",
		"2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00-24:00", "2026-11-21T09:30:00+23:60", "2026-11-21T09:30:00+99:00",
		"2026-11-21T09:30:00+1:00", "2026-11-21T09:30:00+0100", "2026-11-21T09:30:00+01",
		"2026-11-21T09:30:00+01:00:00", "2026-11-21T09:30:00Z+01:00", "2026-11-21T09:30:00\u221201:00", "2026-11-21T09:30:00UTC",
		"2026-00-21T09:30:00Z", "2026-13-21T09:30:00Z", "2026-11-00T09:30:00Z", "2026-11-31T09:30:00Z", "2025-02-29T09:30:00Z",
		"1900-02-29T09:30:00Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z",
		"2016-12-31T23:59:60Z", "2026-11-21T09:30:61Z", "2026/11/21T09:30:00Z", "2026-11-21T09.30.00Z", "20261121T093000Z",
		"2026-W47-6T09:30:00Z", "2026-11-21T09:30:00.12345\u0660Z",
		"0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "10000-01-01T00:00:00Z",
	} {
		if got, err := Parse(text); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}

// TestParse_MatchesPackageTime compares random dates and times of the strict form, valid or not, with
// package time, and reads back what String returns.
func TestParse_MatchesPackageTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		zone := "Z"
		if random.IntN(2) > 0 {
			zone = fmt.Sprintf("%c%02d:%02d", "+-"[random.IntN(2)], random.IntN(24), random.IntN(60))
		}
		fraction := ""
		if random.IntN(2) > 0 {
			fraction = fmt.Sprintf(".%0*d", 1+random.IntN(9), random.IntN(10))
		}
		text := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d%s%s", 2+random.IntN(9997), random.IntN(14), random.IntN(33),
			random.IntN(25), random.IntN(61), random.IntN(61), fraction, zone)
		at, err := time.Parse(time.RFC3339Nano, text)
		got, failed := Parse(text)
		if (err == nil) != (failed == nil) || err == nil && got != Of(at) {
			t.Fatalf("%s: got %s, %v; want %s, %v", text, got, failed, at, err)
		}
		if back, err := Parse(got.String()); failed == nil && (err != nil || back != got) {
			t.Fatalf("%s is read back as %s, %v", got, back, err)
		}
	}
}
