package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load runs clients that change and read through several gateways.
type load struct {
	mu       sync.Mutex
	gateways []*process
	readers  []string // ids of users that items are shared with
	tokens   map[string]string
	owners   []string
	ledger   ledger
	figures  figures
	history  history
	names    *names
	pastes   pastes
	slowed   atomic.Bool // clients pause for longPause

	stop  context.CancelFunc
	tasks sync.WaitGroup
}

const (
	writers = 6
	lookers = 3
	// kept is how many of its latest items a client keeps changing.
	kept = 12
	// shortPause is the pause of a client between two operations, and longPause the pause while
	// nodes restart. Without pauses the clients would use the whole machine, and nodes could
	// hardly restart, the less so the slower the machine is.
	shortPause = 100 * time.Millisecond
	longPause  = 3 * shortPause
)

// newLoad creates the users and groups.
func newLoad(t *testing.T, gateways ...*process) *load {
	t.Helper()
	l := &load{gateways: gateways, tokens: map[string]string{"": ""}}
	for n := range writers {
		id := fmt.Sprintf("u:acme:writer%d", n)
		l.tokens[id] = gateways[0].user(t, id[len("u:acme:"):])
		l.owners = append(l.owners, id)
	}
	for n := range 12 {
		id := fmt.Sprintf("u:acme:reader%d", n)
		l.tokens[id] = gateways[0].user(t, id[len("u:acme:"):])
		l.readers = append(l.readers, id)
	}
	l.history.prepare(t, l)
	l.prepareGroups(t)
	l.prepareNames(t)
	return l
}

// start starts the load; end ends it.
func (l *load) start(t *testing.T, seed uint64) {
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for n, owner := range l.owners {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		l.tasks.Go(func() { l.write(ctx, owner, random) })
	}
	for n := range lookers {
		random := rand.New(rand.NewPCG(seed, uint64(1000+n)))
		l.tasks.Go(func() { l.look(ctx, random) })
	}
}

func (l *load) end() {
	l.stop()
	l.tasks.Wait()
}

// any returns one of the gateways.
func (l *load) any(random *rand.Rand) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gateways[random.IntN(len(l.gateways))]
}

// useGateways sets the gateways that are used from now on.
func (l *load) useGateways(gateways ...*process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gateways = gateways
}

// pause returns the pause of a client that changes something. Clients that read pause half as long.
func (l *load) pause() time.Duration {
	if l.slowed.Load() {
		return longPause
	}
	return shortPause
}

// pauseFor waits for a while.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// write changes items of one owner, and groups, until ctx ends.
func (l *load) write(ctx context.Context, owner string, random *rand.Rand) {
	var mine []*item
	var pastes []*pasted
	organizer := l.organizer(owner)
	for n := 0; ctx.Err() == nil; n++ {
		pauseFor(ctx, l.pause())
		mine = slices.DeleteFunc(mine, func(i *item) bool { return i.unknown || i.changes > 0 && !i.now.exists })
		mine = mine[max(0, len(mine)-kept):]
		if random.IntN(8) == 0 {
			l.history.update(l, owner, random)
			continue
		}
		if random.IntN(6) == 0 {
			organizer.step(random)
			continue
		}
		if random.IntN(8) == 0 {
			l.nameSomething(owner, random)
			continue
		}
		if random.IntN(6) == 0 {
			pastes = l.paste(pastes, owner, random)
			continue
		}
		if len(mine) == 0 || random.IntN(5) == 0 {
			i := &item{id: fmt.Sprintf("c:acme:%s-%d", owner[len("u:acme:"):], n), owner: owner}
			l.ledger.add(i)
			if l.create(i, random) == done {
				mine = append(mine, i)
			}
			continue
		}
		l.change(mine[random.IntN(len(mine))], random)
	}
}

// titles are few, so that they come back. Two of them have the same place in the order.
var titles = [...]string{"new", "n\u00adew", "title 9", "title 10"}

func (l *load) create(i *item, random *rand.Rand) verdict {
	next := itemState{exists: true, version: 1, title: titles[0], public: random.IntN(2) == 0}
	if random.IntN(3) == 0 {
		next.public = false
		next = next.with(l.ledger.anyGroup(random).id) // its only member
	} else {
		for _, n := range random.Perm(len(l.readers))[:random.IntN(5)] {
			next = next.with(l.readers[n])
		}
	}
	members := make([]vars, 0, 4)
	for _, m := range next.members {
		members = append(members, vars{"principalId": m, "role": "VIEWER"})
	}
	in := vars{"name": i.id[len("c:acme:"):], "kind": "NOTE", "title": next.title, "visibility": visibility(next.public), "members": members}
	return l.mutate(i, next, random, createItem, "createContent", in)
}

func visibility(public bool) string {
	if public {
		return "PUBLIC"
	}
	return "PRIVATE"
}

// change makes one change of an item that nobody else changes.
func (l *load) change(i *item, random *rand.Rand) verdict {
	next := i.now
	reader := l.readers[random.IntN(len(l.readers))]
	if random.IntN(3) == 0 {
		reader = l.ledger.anyGroup(random).id
	}
	switch random.IntN(12) {
	case 0:
		return l.mutate(i, itemState{}, random, deleteItem, "deleteContent", vars{"id": i.id})
	case 1, 2, 3:
		return l.mutate(i, next.with(reader), random, shareItem, "shareContent", vars{"contentId": i.id, "principalIds": []string{reader}})
	case 4, 5:
		if len(next.members) > 0 {
			gone := next.members[random.IntN(len(next.members))]
			in := vars{"contentId": i.id, "members": []vars{{"principalId": gone, "role": nil}}}
			return l.mutate(i, next.without(gone), random, setMembers, "setContentMembers", in)
		}
		fallthrough
	case 6, 7, 8:
		next.public = !next.public
	}
	next.version++
	if next.title = titles[random.IntN(len(titles))]; next.title == i.now.title && next.public == i.now.public {
		next.public = !next.public
	}
	in := vars{"id": i.id, "title": next.title, "visibility": visibility(next.public)}
	return l.mutate(i, next, random, updateItem, "updateContent", in)
}

// mutate makes a change through some gateway and records what is known after it.
func (l *load) mutate(i *item, next itemState, random *rand.Rand, query, field string, in vars) verdict {
	i.begin(next)
	a := l.ask(i.owner, query, field, i.id, in, random)
	// An item that could not be read back is null in the answer to a successful change.
	if a.verdict == done && a.at(field+".content") != nil {
		if got := a.number(field + ".content.version"); got != next.version {
			l.figures.report(&l.figures.Wrong, "%s of %s answered version %d instead of %d", field, i.id, got, next.version)
		}
	}
	i.end(a.verdict, fanOut{field == "shareContent" || field == "setContentMembers", a.at(field+".fanOut.state") == "COMPLETE"})
	return a.verdict
}

// ask sends a mutation through some gateway. Whatever is broken, it must succeed, or be
// refused with a code that says that the store is unavailable.
func (l *load) ask(by, query, field, id string, in vars, random *rand.Rand) *answer {
	began := time.Now()
	a := l.any(random).post(l.tokens[by], query, vars{"in": in})
	l.figures.count(a.verdict, began)
	switch a.code {
	case "", "UNAVAILABLE", "OUTCOME_UNKNOWN", "TIMEOUT", "CONTENTION":
	default:
		l.figures.report(&l.figures.Wrong, "%s of %s by %s answered %v", field, id, by, a)
	}
	return a
}

// look reads items and libraries until ctx ends, with and without a role. What did not change
// during a read must be in its result as it is known.
func (l *load) look(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		pauseFor(ctx, l.pause()/2)
		items := l.ledger.all()
		if len(items) == 0 || random.IntN(6) == 0 {
			l.history.read(l, random)
			continue
		}
		if random.IntN(5) == 0 {
			l.lookAtPaste(random)
			continue
		}
		if random.IntN(3) == 0 {
			l.lookThrough(l.ledger.anyGroup(random), l.readers[random.IntN(len(l.readers))], random)
			continue
		}
		viewer := ""
		if random.IntN(2) == 0 {
			viewer = l.readers[random.IntN(len(l.readers))]
		}
		if random.IntN(3) == 0 {
			l.lookAtLibrary(items, l.owners[random.IntN(len(l.owners))], viewer, random)
			continue
		}
		// Prefer the latest items: most of the others do not change any more.
		late := items[max(0, len(items)-writers*kept):]
		l.lookAtItem(late[random.IntN(len(late))], viewer, random)
	}
}

// answered reports whether a read succeeded. One that failed must say that the store is
// unavailable, and show nothing.
func (l *load) answered(a *answer, shows string) bool {
	l.figures.Reads.Add(1)
	if a.verdict == done {
		return true
	}
	l.figures.FailedReads.Add(1)
	if a.at(shows) != nil || a.err == nil && a.code != "UNAVAILABLE" && a.code != "TIMEOUT" {
		l.figures.report(&l.figures.Wrong, "a read was answered %v", a)
	}
	return false
}

// sees returns whether a viewer that owns nothing may see the item, and whether it must,
// by what is known of its groups.
func (v view) sees(viewer string, s readWindow) access {
	sees := exactly(v.exists && (v.public || viewer != "" && slices.Contains(v.members, viewer)))
	for _, g := range v.groups() {
		member := s.member(g)
		sees = sees.or(access{v.exists && member.may, v.exists && member.must})
	}
	return sees
}

// onlyThroughGroups reports whether only the viewer's memberships decide whether it sees the item.
func (v view) onlyThroughGroups(viewer string) bool {
	return v.exists && !v.public && viewer != "" && !slices.Contains(v.members, viewer) && len(v.groups()) > 0
}

func (l *load) lookAtItem(i *item, viewer string, random *rand.Rand) bool {
	before, relations := i.view(""), l.ledger.relations(viewer)
	a := l.any(random).post(l.tokens[viewer], readItem, vars{"id": i.id})
	known := readWindow{relations, l.ledger.relations(viewer)}
	if !l.answered(a, "content") {
		return false
	}
	if !before.stable || before.changes != i.view("").changes {
		return true
	}
	sees, shown := before.sees(viewer, known), a.at("content") != nil
	if before.onlyThroughGroups(viewer) {
		l.figures.ByID.count(sees)
	}
	l.figures.checked(sees)
	switch sees.check(shown) {
	case leak:
		l.figures.report(&l.figures.Leaks, "%s was shown to %q: %v; known %+v%s", i.id, viewer, a, before, known.of(before.groups()...))
	case hidden:
		l.figures.report(&l.figures.Lost, "%s was hidden from %q: %v; known %+v%s", i.id, viewer, a, before, known.of(before.groups()...))
	}
	if shown && (a.number("content.version") != before.version || a.at("content.title") != before.title) {
		l.figures.report(&l.figures.Wrong, "%s was read as %v; known %+v", i.id, a, before)
	}
	return true
}

// lookAtLibrary reads the library of a writer or of a group.
func (l *load) lookAtLibrary(items []*item, owner, viewer string, random *rand.Rand) bool {
	before, relations := make(map[string]view, len(items)), l.ledger.relations(viewer)
	for _, i := range items {
		before[i.id] = i.view(owner)
	}
	direction := []string{"DESC", "ASC"}[random.IntN(2)]
	field := fields[random.IntN(len(fields))]
	a := l.any(random).post(l.tokens[viewer], readPage, vars{"id": owner, "field": field, "direction": direction})
	known := readWindow{relations, l.ledger.relations(viewer)}
	if a.err == nil && a.code == "NOT_FOUND" && a.at("principal") == nil && strings.HasPrefix(owner, "g:") && !known.member(owner).must {
		l.figures.Reads.Add(1) // the viewer has left the group while its library was read
		return true
	}
	if !l.answered(a, "principal.library.nodes") {
		return false
	}
	shown := map[string]bool{}
	for _, id := range a.nodeIDs("principal.library.nodes") {
		if shown[id] {
			l.figures.report(&l.figures.Duplicates, "%s is listed twice on a page of %s", id, owner)
		}
		shown[id] = true
	}
	complete := a.at("principal.library.pageInfo.hasNextPage") == false
	onlyThrough := 0
	for _, i := range items {
		was := before[i.id]
		if !was.stable || was.changes != i.view(owner).changes {
			continue
		}
		entry := was.mayList(owner, viewer, known)
		entry.must = entry.must && complete && (was.placed || was.listed && direction == "DESC" && field == fields[0])
		switch entry.check(shown[i.id]) {
		case leak:
			l.figures.report(&l.figures.Leaks, "%s was listed in the library of %s for %q: known %+v%s", i.id, owner, viewer,
				was, known.of(was.groups()...))
		case hidden:
			l.figures.report(&l.figures.Lost, "%s is missing from the library of %s, %s %s, for %q: known %+v%s", i.id, owner,
				field, direction, viewer, was, known.of(was.groups()...))
		}
		if !was.held && i.owner != owner {
			continue
		}
		l.figures.checked(entry)
		if was.onlyThroughGroups(viewer) && (entry.must || !known.member(owner).must) {
			onlyThrough++
		}
	}
	l.checkOwner(owner, viewer, a.at("principal") != nil, known)
	if onlyThrough > 0 && strings.HasPrefix(owner, "g:") {
		l.figures.Libraries.count(known.member(owner))
	}
	return true
}

// mayList returns whether a library may list the item for the viewer, and whether it must.
// The library must contain the item, and either everybody may see it, or the viewer is a
// member of the group.
func (v view) mayList(library, viewer string, s readWindow) access {
	if !v.held {
		return access{}
	}
	return access{v.sees(viewer, s).may, v.public || s.member(library).must}
}

// checkOwner checks whether a group was shown to the viewer of its library.
func (l *load) checkOwner(id, viewer string, shown bool, known readWindow) {
	if !strings.HasPrefix(id, "g:") {
		return
	}
	sees := known.shows(id)
	l.figures.checked(sees)
	switch sees.check(shown) {
	case leak:
		l.figures.report(&l.figures.Leaks, "a group was shown to %q%s", viewer, known.of(id))
	case hidden:
		l.figures.report(&l.figures.Lost, "a group was hidden from %q%s", viewer, known.of(id))
	}
}

// check compares every item with its state at the end.
func (l *load) check(t *testing.T) {
	t.Helper()
	var wait sync.WaitGroup
	slots := make(chan struct{}, 8)
	for n, i := range l.ledger.all() {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			a := l.gateways[n%len(l.gateways)].post(l.tokens[i.owner], readAll, vars{"id": i.id})
			if a.verdict != done {
				t.Errorf("reading %s at the end: %v", i.id, a)
				return
			}
			found := itemState{exists: a.at("content") != nil, version: a.number("content.version"), public: a.at("content.visibility") == "PUBLIC"}
			found.title, _ = a.at("content.title").(string)
			for _, m := range a.nodeIDs("content.members.nodes") {
				if m != i.owner {
					found = found.with(m)
				}
			}
			l.ledger.check(&l.figures, i, found)
		})
	}
	wait.Wait()
	l.checkOrders(t)
	l.checkGroups(t)
	l.checkNames(t)
	l.checkPastes(t)
	l.history.check(t)
	f := &l.figures
	for _, message := range f.messages {
		t.Error(message)
	}
	if f.Lost.Load()+f.Duplicates.Load()+f.Leaks.Load()+f.Wrong.Load() > 0 || f.Acknowledged.Load() == 0 || f.Checked.Load() == 0 {
		t.Errorf("%d items, %s", len(l.ledger.all()), f)
	}
}
