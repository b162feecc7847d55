//go:build !race

package resolvers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/domain"
)

// newRecordedGateway returns a gateway with the world of random operations, its store, which fails
// as it is told, and the recorder of the calls of the store.
func newRecordedGateway(t *testing.T) (g *gateway, store *faulty, calls *recorder) {
	t.Helper()
	store, calls = &faulty{}, &recorder{}
	g = newGatewayOn(t, func(s *domain.Store) { *s = calls.on(store.on(*s)) })
	worldOfOperations(g)
	return g, store, calls
}

// TestOperations_ArePlannedByteForByte compares operations that are answered by their plans with
// the same operations run by the executor: the bytes of the answer and its headers, the points
// charged, the calls of the store, and the log.
func TestOperations_ArePlannedByteForByte(t *testing.T) {
	g, store, calls := newRecordedGateway(t)
	g.spy.local = true // the background makes its store calls at any time
	plans := &answering{Executor: g.exec, counts: map[string]int{}}
	pairs := []pair{
		{newCompared(t, plans, 0), newCompared(t, executed{g.exec}, 0)},
		{newCompared(t, plans, 700), newCompared(t, executed{g.exec}, 700)},
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
			if plans.last == "generated" {
				want, got = want.data(), got.data()
			}
			if plans.last == "generated" && (r.fails != nil || strings.Contains(want.Body, `"errors"`)) {
				continue // both run the same code, and errors of concurrently resolved fields have no order
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("operation %d, %s: (-executor +plan):\n%s\n%s", n, plans.last, r, diff)
			}
			seen[plans.last+" "+outcomeOf(want.Body)]++
			if plans.last == "planned" && strings.Contains(got.Body, "Notiz") {
				german++
			}
		}
	}
	if german < *operations/1000 {
		t.Errorf("only %d of %d have a text in the language of the request", german, *operations)
	}
	for _, outcome := range []string{"planned DATA", "planned NULL", "planned INTERNAL_SERVER_ERROR", "planned BAD_USER_INPUT",
		"planned BAD_CURSOR", "planned TIMEOUT", "planned UNAVAILABLE", "planned ANSWER_TOO_LARGE", "generated DATA"} {
		if seen[outcome] < *operations/1000 {
			t.Errorf("%s: only %d of %d", outcome, seen[outcome], *operations)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[outcome], outcome)
	}
}

// TestOperations_RequestPagesAsTheExecutor: with a remote store, a planned operation begins its page
// before it reads the owner, and makes the same requests to the domain as the executor.
func TestOperations_RequestPagesAsTheExecutor(t *testing.T) {
	g, store, calls := newRecordedGateway(t)
	plans := &answering{Executor: g.exec, counts: map[string]int{}}
	planned, plain := newCompared(t, plans, 0), newCompared(t, executed{g.exec}, 0)
	draw := newDrawer(g)
	begun := 0
	for range 3000 {
		r := draw.request(draw.document())
		r.fails = nil
		ask := func(c *compared) (a answered, pages, begun []requestedPage) {
			g.spy.reset()
			a = c.do(t, r, store, calls).data()
			g.spy.mu.Lock()
			defer g.spy.mu.Unlock()
			return a, g.spy.pages, g.spy.begun
		}
		plans.last = "refused"
		minute := time.Now().Truncate(time.Minute)
		want, wantPages, early := ask(plain)
		got, gotPages, ahead := ask(planned)
		if plans.last != "planned" || !time.Now().Truncate(time.Minute).Equal(minute) {
			continue
		}
		begun += len(gotPages)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantPages, gotPages); diff != "" {
			t.Fatalf("%s\n(-executor +plan):\n%s", r, diff)
		}
		// The owner of a page that was begun but not read is not shown.
		if len(early) > 0 || len(ahead) > 1 || len(gotPages) > 0 && !cmp.Equal(ahead, gotPages) {
			t.Fatalf("%s\nthe executor has begun %v, and the plan %v", r, early, ahead)
		}
	}
	if begun < 400 {
		t.Errorf("only %d pages were begun", begun)
	}
}
