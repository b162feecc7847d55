package cursor

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"carrel/core/clock"
)

// AppendSeal appends the same text that Seal returns, for positions of all sizes, and it can be
// opened.
func TestAppendSeal_MatchesSeal(t *testing.T) {
	ring := bytes.Repeat([]byte{7}, 1+ringKey)
	ring[0], ring[1] = ringVersion, 1
	s, err := sealerOf(ring)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range longestID {
		binding := Binding(OfLibrary, Class(n%4), strings.Repeat("o", n%100))
		p := Position{Order: Order(n % 3), At: clock.Instant(random.Int64()), ID: strings.Repeat("i", n)}
		if n%2 == 0 {
			p.Bounded, p.Bound = true, clock.Instant(random.Int64())
		}
		text := s.Seal(binding, p)
		sealed := &Sealed{Sealer: s, Binding: binding, Position: p}
		if got := string(sealed.AppendCursor([]byte("before "))); got != "before "+text {
			t.Errorf("%d: %s is not %s", n, got, text)
		}
		if strings.ContainsAny(text, "\"\\<>&") {
			t.Errorf("%s has characters that JSON escapes", text)
		}
		if back, err := s.OpenAny(binding, text); err != nil || back != p {
			t.Errorf("%d: %+v, %v; want %+v", n, back, err, p)
		}
	}
}
