package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// crashes is how often the process is killed under load.
const crashes = 50

// promised is what the answers say about one item. A mutation that was not answered before a crash
// may have happened or not; an answered one has happened.
type promised struct {
	id      string
	created bool
	version float64         // at least
	members map[string]bool // added, and the answer acknowledged it
	deleted bool
	doubt   bool // a crash interrupted a delete
	touched int  // the number of the crash after its last change
}

// TestCrash_AcknowledgedChangesSurvive kills the process repeatedly while four clients change
// items. No acknowledged change may be lost, and every library must be right after each restart.
func TestCrash_AcknowledgedChangesSurvive(t *testing.T) {
	t.Parallel() // the hostile rows mostly wait
	g := serve(t)
	const clients, readers = 4, 6
	tokens := make([]string, clients)
	for c := range tokens {
		tokens[c] = g.user("acme", fmt.Sprintf("writer%d", c), "PUBLIC")
	}
	for r := range readers {
		g.user("acme", fmt.Sprintf("reader%d", r), "PUBLIC")
	}
	kept := make([][]*promised, clients)
	for crash := range crashes {
		var wg sync.WaitGroup
		for c := range clients {
			random := rand.New(rand.NewPCG(uint64(crash), uint64(c)))
			wg.Go(func() { kept[c] = load(g, tokens[c], c, crash, kept[c], random) })
		}
		// Kill the process after a different number of answers each time.
		probe := g.token("u:acme:writer0")
		for range 10 + 20*(crash%7) {
			if _, err := g.post(probe, `{ viewer { id } }`, nil); err != nil {
				t.Fatalf("before crash %d: %v", crash, err)
			}
		}
		g.kill()
		wg.Wait()
		g.start()
		for c := range clients {
			check(g, tokens[c], slices.DeleteFunc(slices.Clone(kept[c]), func(p *promised) bool { return p.touched != crash }))
		}
		if t.Failed() {
			t.Fatalf("after crash %d", crash)
		}
		if crash%10 == 9 {
			g.audit()
			g.start()
		}
	}
	total := 0
	for c, items := range kept {
		check(g, tokens[c], items)
		total += len(items)
	}
	g.audit()
	t.Logf("%d crashes, %d items", crashes, total)
	if total < crashes {
		t.Errorf("only %d items were created: there was too little load", total)
	}
}

// load changes its own items until the process is gone.
func load(g *gateway, token string, client, crash int, items []*promised, random *rand.Rand) []*promised {
	for n := 0; ; n++ {
		var err error
		var a *answer
		var p *promised
		if len(items) == 0 || random.IntN(4) == 0 {
			p = &promised{id: fmt.Sprintf("c:acme:%d-%d-%d", client, crash, n), members: map[string]bool{}, touched: crash}
			a, err = g.post(token, createItem, vars{"in": vars{"name": p.id[len("c:acme:"):], "kind": "NOTE", "title": "t"}})
			if err == nil && a.at("createContent.content.id") == p.id {
				p.created, p.version = true, 1
			}
			items = append(items, p)
			if err != nil {
				return items
			}
			continue
		}
		p = items[random.IntN(len(items))]
		p.touched = crash
		switch random.IntN(8) {
		case 0:
			a, err = g.post(token, deleteItem, vars{"in": vars{"id": p.id}})
			p.doubt = p.doubt || err != nil
			p.deleted = p.deleted || err == nil && a.at("deleteContent.deletedContentId") == p.id
		case 1, 2, 3:
			reader := fmt.Sprintf("u:acme:reader%d", random.IntN(6))
			a, err = g.post(token, shareItem, vars{"in": vars{"contentId": p.id, "principalIds": []string{reader}}})
			if err == nil && a.at("shareContent.edges") != nil {
				p.members[reader] = true
			}
		default:
			a, err = g.post(token, updateItem, vars{"in": vars{"id": p.id, "title": fmt.Sprint(random.Uint32())}})
			if err == nil {
				if v, ok := a.at("updateContent.content.version").(float64); ok {
					p.version = max(p.version, v)
				}
			}
		}
		if err != nil {
			return items
		}
	}
}

// check compares what the answers promised with what is stored.
func check(g *gateway, token string, items []*promised) {
	g.t.Helper()
	for _, p := range items {
		a := g.ask(token, `query($id: ID!) { content(id: $id) { version members(first: 50) { nodes { id } } } }`, vars{"id": p.id})
		there := a.at("content") != nil
		switch {
		case p.deleted && there:
			g.t.Errorf("%s came back after its deletion", p.id)
		case p.deleted, p.doubt && !there, !p.created && !there:
			continue
		case !there:
			g.t.Errorf("%s is lost: %+v", p.id, a.Errors)
			continue
		}
		if v := a.at("content.version").(float64); v < p.version {
			g.t.Errorf("%s has version %v, but version %v was answered", p.id, v, p.version)
		}
		found := map[string]bool{}
		for _, n := range a.at("content.members.nodes").([]any) {
			found[n.(map[string]any)["id"].(string)] = true
		}
		for m := range p.members {
			if !found[m] {
				g.t.Errorf("%s lost its member %s", p.id, m)
			}
		}
	}
}
