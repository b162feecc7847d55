//go:build !race

package resolvers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/backend"
)

// TestOperations_ArePlannedByteForByte compares operations that are answered by their plans with
// the same operations run by the executor: the bytes of the answer and its headers, the points
// charged, the calls of the store, and the log.
func TestOperations_ArePlannedByteForByte(t *testing.T) {
	var calls *recorder
	store := &faulty{}
	g := newGatewayOn(t, func(s backend.Store) backend.Store {
		store.Store = s
		calls = &recorder{next: store}
		return calls
	})
	worldOfOperations(g)
	g.spy.local = true // prefetching makes its store calls at any time
	plans := &answering{ExecutableSchema: g.executable, counts: map[string]int{}}
	pairs := []pair{
		{newCompared(t, plans, 0), newCompared(t, executed{g.executable}, 0)},
		{newCompared(t, plans, 700), newCompared(t, executed{g.executable}, 700)},
	}
	draw := newDrawer(g)
	seen, german := map[string]int{}, 0
	for n := 0; n < *operations; {
		query := draw.document()
		for range 5 {
			r := draw.request(query)
			p := pairs[min(draw.IntN(8)/7, 1)]
			if p == pairs[1] {
				r.fails = nil // which errors occur before the answer is too large is random
			}
			n++
			calls.take()
			plans.last = "refused"
			want, got := p.compare(t, r, store, calls)
			if plans.last == "not planned" {
				want, got = want.data(), got.data()
			}
			if plans.last == "not planned" && (r.fails != nil || strings.Contains(want.Body, `"errors"`)) {
				continue // both run the same code, and errors of concurrently resolved fields have no order
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("operation %d, %s: (-executor +plan):\n%s\n%s", n, plans.last, r, diff)
			}
			seen[plans.last+" "+outcomeOf(want.Body)]++
			if plans.last == "answered" && strings.Contains(got.Body, "Notiz") {
				german++
			}
		}
	}
	if german < *operations/1000 {
		t.Errorf("only %d of %d have a text in the language of the request", german, *operations)
	}
	for _, outcome := range []string{"answered DATA", "answered NULL", "started INTERNAL_SERVER_ERROR", "started BAD_USER_INPUT", "started BAD_CURSOR", "started TIMEOUT", "started UNAVAILABLE", "answered ANSWER_TOO_LARGE", "not planned DATA"} {
		if seen[outcome] < *operations/1000 {
			t.Errorf("%s: only %d of %d", outcome, seen[outcome], *operations)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[outcome], outcome)
	}
}
