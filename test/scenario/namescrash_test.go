package scenario

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

const (
	moveItem = `mutation($in: MoveContentInput!) { moveContent(input: $in) { content { id url } userErrors { code field message } } }`
	byURL    = `query($url: String!) { contentByUrl(url: $url, tenant: "acme") { id url } }`
)

// named is what the answers say about names. A change that was not answered before a crash may have
// happened.
type named struct {
	mu sync.Mutex
	// keys are the keys of confirmed leases, with the lease of each.
	keys map[string]string
	// unanswered are confirmations that a crash interrupted. They may have been applied.
	unanswered []confirmation
	// urls are the URLs of items, as they were answered last. An item whose move was
	// interrupted by a crash is in doubt until it is moved again.
	urls  map[string]string
	doubt map[string]bool
}

// confirmation is a request to confirm a lease of two keys.
type confirmation struct {
	id, token any
	keys      []string
}

// TestNames_CrashesLeaveOneOwnerForEach kills the process repeatedly while clients lease keys and
// set URLs. No key and no URL may have two owners, and none may be held without an owner for longer
// than 30 s.
func TestNames_CrashesLeaveOneOwnerForEach(t *testing.T) {
	t.Parallel()
	g := serve(t)
	const clients, keys, urls = 4, 12, 8
	tokens := make([]string, clients)
	for c := range tokens {
		tokens[c] = g.user("acme", fmt.Sprintf("namer%d", c), "PUBLIC")
	}
	answered := &named{keys: map[string]string{}, urls: map[string]string{}, doubt: map[string]bool{}}
	for crash := range 8 {
		var wg sync.WaitGroup
		answers := make(chan struct{}, 10_000)
		for c := range clients {
			random := rand.New(rand.NewPCG(uint64(crash), uint64(c)))
			wg.Go(func() {
				for answered.lease(g, tokens[c], random, keys) && answered.move(g, tokens[c], c, random, urls) {
					answers <- struct{}{}
				}
			})
		}
		for range 10 + 7*crash {
			<-answers
		}
		g.kill()
		wg.Wait()
		g.start()
		answered.check(g, tokens[0])
	}
	if len(answered.keys) < 3 || len(answered.urls) < 3 {
		t.Errorf("%d keys and %d URLs were given: there was too little load", len(answered.keys), len(answered.urls))
	}
	answered.wantRestAvailable(g, tokens[0], keys, urls)
	g.audit()
}

// lease takes two keys and confirms or cancels the lease. It reports whether the process
// still answers.
func (n *named) lease(g *gateway, token string, random *rand.Rand, keys int) bool {
	first := random.IntN(keys)
	two := []string{fmt.Sprint("key", first), fmt.Sprint("key", (first+1+random.IntN(keys-1))%keys)}
	a, err := g.post(token, acquireLease, leaseInput(1000, two...))
	if err != nil {
		return false
	}
	got, _ := a.at("acquireLease.lease.id").(string)
	if got == "" {
		return true
	}
	end := vars{"in": vars{"id": got, "token": a.at("acquireLease.token")}}
	if random.IntN(4) > 0 {
		_, err := g.post(token, cancelLease, end)
		return err == nil
	}
	sent := confirmation{got, a.at("acquireLease.token"), two}
	a, err = g.post(token, confirmLease, end)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.unanswered = append(n.unanswered, sent)
		return false
	}
	if a.at("confirmLease.lease.isConfirmed") == true {
		n.hold(g, sent)
	}
	return true
}

// hold notes that a confirmed lease holds its keys. The caller holds mu.
func (n *named) hold(g *gateway, c confirmation) {
	for _, k := range c.keys {
		if other, taken := n.keys[k]; taken {
			g.t.Errorf("%s is held by %s and by %v", k, other, c.id)
		}
		n.keys[k] = fmt.Sprint(c.id)
	}
}

// move gives the client's item one of a few URLs that all clients compete for.
func (n *named) move(g *gateway, token string, client int, random *rand.Rand, urls int) bool {
	id := fmt.Sprintf("c:acme:named%d", client)
	url := fmt.Sprintf("https://acme.example/%d", random.IntN(urls))
	n.mu.Lock()
	n.doubt[id] = true
	n.mu.Unlock()
	a, err := g.post(token, moveItem, in("id", id, "url", url))
	if err == nil && len(a.userErrors("moveContent")) > 0 && a.userErrors("moveContent")[0] == "NOT_FOUND id" {
		a, err = g.post(token, createItem, in("kind", "NOTE", "name", fmt.Sprint("named", client), "title", "t", "visibility",
			"PUBLIC", "url", url))
	}
	if err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	done := a.at("moveContent.content") != nil || a.at("createContent.content") != nil
	refused := len(a.userErrors("moveContent"))+len(a.userErrors("createContent")) > 0
	if done {
		n.urls[id] = url
	}
	if done || refused && n.urls[id] != "" {
		n.doubt[id] = false
	}
	return true
}

// check compares what was answered with what is stored now.
func (n *named) check(g *gateway, token string) {
	g.t.Helper()
	for _, c := range n.unanswered {
		if g.must(token, readLease, vars{"id": c.id, "token": c.token}).at("lease.state") == "CONFIRMED" {
			n.hold(g, c)
		}
	}
	n.unanswered = nil
	for k := range n.keys {
		g.wantAvailable(token, k, false)
	}
	for id, url := range n.urls {
		item := g.must(token, `query($id: ID!) { content(id: $id) { url } }`, vars{"id": id})
		now, _ := item.at("content.url").(string)
		if now != url && !n.doubt[id] {
			g.t.Errorf("%s has the URL %q, but %q was answered", id, now, url)
		}
		n.urls[id], n.doubt[id] = now, false
		if found := g.must(token, byURL, vars{"url": now}).at("contentByUrl.id"); found != id {
			g.t.Errorf("%s leads to %v, but belongs to %s", now, found, id)
		}
	}
}

// wantRestAvailable checks that every key and every URL that has no owner can be taken.
func (n *named) wantRestAvailable(g *gateway, token string, keys, urls int) {
	g.t.Helper()
	for k := range keys {
		key := fmt.Sprint("key", k)
		if _, held := n.keys[key]; !held {
			g.eventually("the key "+key+" is free", func() bool {
				return len(g.ask(token, acquireLease, leaseInput(1000, key)).userErrors("acquireLease")) == 0
			})
		}
	}
	has := map[string]bool{}
	for _, url := range n.urls {
		has[url] = true
	}
	for u := range urls {
		url := fmt.Sprintf("https://acme.example/%d", u)
		if has[url] {
			continue
		}
		g.eventually("the URL "+url+" is free", func() bool {
			a := g.ask(token, createItem, in("kind", "NOTE", "title", "t", "url", url))
			return len(a.Errors) == 0 && len(a.userErrors("createContent")) == 0
		})
	}
}

// eventually waits for a condition that must become true.
func (g *gateway) eventually(what string, holds func() bool) {
	g.t.Helper()
	end := time.After(answerWithin)
	for !holds() {
		select {
		case <-end:
			g.t.Errorf("not true within %s: %s", answerWithin, what)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}
