package scenario

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// beside starts another gateway on the store and returns it. An embedded store can have
// only one gateway; then it returns g.
func (g *gateway) beside() *gateway {
	g.t.Helper()
	if *on == "pebble" {
		return g
	}
	other := &gateway{t: g.t, binary: g.binary, dir: g.dir, store: g.store, secret: g.secret, flags: g.flags, client: g.client}
	other.start()
	g.t.Cleanup(func() {
		if other.cmd != nil {
			other.stop()
		}
	})
	return other
}

// saveSurely saves a text, retries while the gateway allows it, and returns its number.
func (g *gateway) saveSurely(token, id, title string) int {
	save := in("contentId", id, "title", title, "body", title, "publish", true, "idempotencyKey", title)
	for range 10 {
		a, err := g.post(token, saveRevision, save)
		if err != nil {
			g.t.Errorf("saving %s: %v", title, err)
			return -1
		}
		if number, ok := a.at("saveRevision.revision.number").(float64); ok {
			return int(number)
		}
		switch a.code() {
		case "UNAVAILABLE", "CONTENTION", "OUTCOME_UNKNOWN":
		default:
			g.t.Errorf("saving %s: %+v %v", title, a.Errors, a.Data)
			return -1
		}
	}
	g.t.Errorf("%s could not be saved in 10 attempts", title)
	return -1
}

// TestNotes_ParallelSavesThroughTwoGateways saves 20 texts in parallel through two
// gateways. Their numbers are distinct and have no gap, and the text with the last number
// is current.
func TestNotes_ParallelSavesThroughTwoGateways(t *testing.T) {
	const saves = 20
	g := serve(t)
	gateways := []*gateway{g, g.beside()}
	ann := g.user("acme", "ann", "PUBLIC")
	id := g.note(ann)
	numbers, titles := make([]int, saves), map[int]string{}
	var wg sync.WaitGroup
	for n := range saves {
		wg.Go(func() { numbers[n] = gateways[n%2].saveSurely(ann, id, fmt.Sprint("text ", n)) })
	}
	wg.Wait()
	for n, number := range numbers {
		titles[number] = fmt.Sprint("text ", n)
	}
	slices.Sort(numbers)
	for n, number := range numbers {
		if n != number {
			t.Fatalf("the numbers are %v", numbers)
		}
	}
	for _, other := range gateways {
		list := other.must(ann, readRevisions, vars{"id": id, "first": 50}).at("content.branch.revisions.nodes").([]any)
		if len(list) != saves {
			t.Errorf("there are %d revisions, want %d", len(list), saves)
		}
		for _, n := range list {
			r := n.(map[string]any)
			if number := int(r["number"].(float64)); r["title"] != titles[number] || r["isCurrent"] != (number == saves-1) {
				t.Errorf("revision %v, want %q", r, titles[number])
			}
		}
		// A repetition gets the number of the first save, whichever gateway made it.
		if again := other.saveSurely(ann, id, titles[7]); again != 7 {
			t.Errorf("the repetition of revision 7 has the number %d", again)
		}
		other.wantText("", titles[saves-1], vars{"id": id})
	}
	if other := gateways[1]; other != g {
		other.stop()
	}
	g.audit()
}
