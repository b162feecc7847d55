package clock

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
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
