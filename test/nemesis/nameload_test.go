package nemesis

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	acquireLease = `mutation($in: AcquireLeaseInput!) { acquireLease(input: $in) { lease { id } token userErrors { code message } } }`
	confirmLease = `mutation($in: ConfirmLeaseInput!) { confirmLease(input: $in) { lease { isConfirmed } userErrors { code message } } }`
	cancelLease  = `mutation($in: CancelLeaseInput!) { cancelLease(input: $in) { lease { isCancelled } userErrors { code message } } }`
	available    = `query($key: String!) { isKeyAvailable(key: $key) }`
	moveItem     = `mutation($in: MoveContentInput!) { moveContent(input: $in) { content { url } userErrors { code message } } }`
	itemByURL    = `query($url: String!) { contentByUrl(url: $url, tenant: "acme") { id } }`
	saveRevision = `mutation($in: SaveRevisionInput!) { saveRevision(input: $in) { revision { number } userErrors { code message } } }`
	revisions    = `query($id: ID!, $after: Cursor) { content(id: $id) { branch { revisions(first: 100, after: $after) { nodes { number title } pageInfo { hasNextPage endCursor } } } } }`
)

const (
	// written is the note to which all writers add revisions.
	written = "c:acme:written"
	// wantedKeys and wantedURLs are the numbers of keys and URLs that all writers compete
	// for.
	wantedKeys = 16
	wantedURLs = 9
)

// names is what clients know of names, leases and texts.
type names struct {
	mu sync.Mutex
	// keys are the confirmed leases of keys, and saves the titles of revisions, by
	// number.
	keys  map[string]string
	saves map[int]string
	// unread are the titles of revisions that were saved, but could not be read back.
	unread []string
	// urls are the URLs of items as they were answered; "" means that the URL is
	// uncertain.
	urls    map[string]string
	refused int // because another client has the name
}

// prepareNames creates the items to which clients give URLs, and the note to which they add
// revisions.
func (l *load) prepareNames(t *testing.T) {
	t.Helper()
	l.names = &names{keys: map[string]string{}, saves: map[int]string{}, urls: map[string]string{}}
	var editors []vars
	for _, o := range l.owners[1:] {
		editors = append(editors, vars{"principalId": o, "role": "EDITOR"})
	}
	g, first := l.gateways[0], l.tokens[l.owners[0]]
	g.must(t, first, createItem, vars{"in": vars{"name": "written", "kind": "NOTE", "title": "w", "visibility": "PRIVATE",
		"members": editors}})
	for n, o := range l.owners {
		g.must(t, l.tokens[o], createItem, vars{"in": vars{"name": fmt.Sprint("named", n), "kind": "NOTE", "title": "n", "visibility": "PUBLIC"}})
	}
}

// nameSomething makes one random change of a name as a writer.
func (l *load) nameSomething(owner string, random *rand.Rand) {
	switch random.IntN(3) {
	case 0:
		l.lease(owner, random)
	case 1:
		l.move(owner, random)
	default:
		l.save(owner, random)
	}
}

// askForName sends a mutation through some gateway. It is refused if another client has the name.
func (l *load) askForName(owner, query, field string, in vars, random *rand.Rand) *answer {
	began := time.Now()
	a := l.any(random).post(l.tokens[owner], query, vars{"in": in})
	l.figures.count(a.verdict, began)
	switch a.code {
	case "", "UNAVAILABLE", "OUTCOME_UNKNOWN", "TIMEOUT", "CONTENTION":
	case "TAKEN", "EXPIRED":
		l.names.mu.Lock()
		l.names.refused++
		l.names.mu.Unlock()
	default:
		l.figures.report(&l.figures.Wrong, "%s by %s answered %v", field, owner, a)
	}
	return a
}

// lease takes two keys, and confirms or cancels the lease.
func (l *load) lease(owner string, random *rand.Rand) {
	n := l.names
	first := random.IntN(wantedKeys)
	keys := []string{fmt.Sprint("key", first), fmt.Sprint("key", (first+1+random.IntN(wantedKeys-1))%wantedKeys)}
	// A key that was held before this lease was requested cannot be leased again. If the
	// key was confirmed meanwhile, the answer may be older.
	held := map[string]string{}
	n.mu.Lock()
	for _, k := range keys {
		if other, ok := n.keys[k]; ok {
			held[k] = other
		}
	}
	n.mu.Unlock()
	a := l.askForName(owner, acquireLease, "acquireLease", vars{"documents": []vars{{"key": keys[0]}, {"key": keys[1]}}, "ttlMs": 10_000},
		random)
	if a.verdict != done {
		return
	}
	id, _ := a.at("acquireLease.lease.id").(string)
	for k, other := range held {
		l.figures.report(&l.figures.Duplicates, "%s was leased to %s, although %s has it for good", k, id, other)
	}
	end := vars{"id": id, "token": a.at("acquireLease.token")}
	if random.IntN(10) > 0 {
		l.askForName(owner, cancelLease, "cancelLease", end, random)
		return
	}
	if a = l.askForName(owner, confirmLease, "confirmLease", end, random); a.verdict == done {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.keys[keys[0]], n.keys[keys[1]] = id, id
	}
}

// move gives the writer's item a URL that others take too.
func (l *load) move(owner string, random *rand.Rand) {
	id := "c:acme:named" + owner[len("u:acme:writer"):]
	url := fmt.Sprintf("https://acme.example/%d", random.IntN(wantedURLs))
	n := l.names
	n.mu.Lock()
	before := n.urls[id]
	n.urls[id] = ""
	n.mu.Unlock()
	a := l.askForName(owner, moveItem, "moveContent", vars{"id": id, "url": url}, random)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch a.verdict {
	case done:
		n.urls[id] = url
	case refused:
		n.urls[id] = before
	}
}

// save adds a revision to the note of all writers.
func (l *load) save(owner string, random *rand.Rand) {
	title := fmt.Sprintf("%s %d", owner, random.Uint64())
	in := vars{"contentId": written, "title": title, "body": title, "publish": random.IntN(2) == 0}
	a := l.askForName(owner, saveRevision, "saveRevision", in, random)
	if a.verdict != done {
		return
	}
	n := l.names
	n.mu.Lock()
	defer n.mu.Unlock()
	// A revision that was saved and could not be read back is null in the answer.
	if a.at("saveRevision.revision") == nil {
		n.unread = append(n.unread, title)
		return
	}
	number := a.number("saveRevision.revision.number")
	if other, twice := n.saves[number]; twice {
		l.figures.report(&l.figures.Duplicates, "revision %d is %q and %q", number, other, title)
	}
	n.saves[number] = title
}

// checkNames compares what clients were answered about names and texts with the state at
// the end.
func (l *load) checkNames(t *testing.T) {
	t.Helper()
	n, g := l.names, l.gateways[0]
	for k, lease := range n.keys {
		if g.must(t, l.tokens[l.owners[0]], available, vars{"key": k}).at("isKeyAvailable") != false {
			l.figures.report(&l.figures.Lost, "%s is free, although %s has confirmed it", k, lease)
		}
	}
	for id, url := range n.urls {
		if url == "" {
			continue
		}
		if found := g.must(t, "", itemByURL, vars{"url": url}).at("contentByUrl.id"); found != id {
			l.figures.report(&l.figures.Lost, "%s leads to %v, but was given to %s", url, found, id)
		}
	}
	found, in := map[int]string{}, vars{"id": written}
	for more := true; more; {
		a := g.must(t, l.tokens[l.owners[0]], revisions, in)
		list, _ := a.at("content.branch.revisions.nodes").([]any)
		for _, r := range list {
			m := r.(map[string]any)
			found[int(m["number"].(float64))], _ = m["title"].(string)
		}
		in["after"] = a.at("content.branch.revisions.pageInfo.endCursor")
		more = a.at("content.branch.revisions.pageInfo.hasNextPage") == true
	}
	for number, title := range n.saves {
		if found[number] != title {
			l.figures.report(&l.figures.Lost, "revision %d is %q, but was %q", number, found[number], title)
		}
	}
	titles := slices.Collect(maps.Values(found)) // in any order: searched only
	for _, title := range n.unread {
		if !slices.Contains(titles, title) {
			l.figures.report(&l.figures.Lost, "no revision is %q, which was saved", title)
		}
	}
	for number := range len(found) {
		if found[number] == "" {
			l.figures.report(&l.figures.Wrong, "there are %d revisions, but none with number %d", len(found), number)
		}
	}
	fmt.Printf("%d keys confirmed, %d URLs, %d saves of %d revisions; %d refused because somebody else had the name\n",
		len(n.keys), len(n.urls), len(n.saves), len(found), n.refused)
	if len(n.saves) == 0 || len(n.urls) == 0 {
		t.Error("nothing was named, or nothing was saved")
	}
}
