package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

const (
	createPasteText = `mutation($in: CreatePasteInput!) { createPaste(input: $in) { paste { id version } secret userErrors { code message } } }`
	updatePasteText = `mutation($in: UpdatePasteInput!) { updatePaste(input: $in) { paste { version } userErrors { code message } } }`
	deletePasteText = `mutation($in: DeletePasteInput!) { deletePaste(input: $in) { deletedPasteId userErrors { code message } } }`
	readPasteText   = `query($id: ID!) { paste(id: $id) { version title body isPrivate } latestPastes(first: 50) { nodes { id } } }`
	listPastesText  = `query($before: Cursor) { latestPastes(last: 100, before: $before) { nodes { id } pageInfo { hasPreviousPage startCursor } } }`
)

// pasted is a paste that a single client changes, one change at a time. After a change of
// unknown outcome, which may still happen later, it is not changed any more.
type pasted struct {
	id, secret string

	mu sync.Mutex
	pasteState
	// next is the state after the change in flight, or after the change of unknown
	// outcome.
	next *pasteState
	// changes counts the starts and ends of changes.
	changes int
	unknown bool
}

// pasteState is what is known of a paste.
type pasteState struct {
	exists, private bool
	version         int
	title           string
}

// agrees reports whether what a read has found agrees with a state.
func (s pasteState) agrees(found pasteState) bool { return !s.exists && !found.exists || s == found }

// pastes are the pastes of a run whose creation was acknowledged.
type pastes struct {
	mu  sync.Mutex
	all []*pasted
}

func (p *pastes) known() []*pasted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// stable returns what is known of a paste while nobody changes it; ok is false otherwise.
func (p *pasted) stable() (s pasteState, changes int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pasteState, p.changes, p.next == nil
}

// paste creates a paste of a writer, or changes one of its own.
func (l *load) paste(mine []*pasted, owner string, random *rand.Rand) []*pasted {
	mine = slices.DeleteFunc(mine, func(p *pasted) bool { return p.unknown || !p.exists })
	if len(mine) == 0 || len(mine) < kept && random.IntN(3) == 0 {
		title, private := fmt.Sprint("paste ", random.Uint64()), random.IntN(3) == 0
		a := l.ask(owner, createPasteText, "createPaste", title, vars{"title": title, "body": longText, "isPrivate": private}, random)
		if a.verdict != done {
			return mine
		}
		p := &pasted{pasteState: pasteState{exists: true, private: private, version: 1, title: title}}
		p.id, _ = a.at("createPaste.paste.id").(string)
		p.secret, _ = a.at("createPaste.secret").(string)
		l.pastes.mu.Lock()
		l.pastes.all = append(l.pastes.all, p)
		l.pastes.mu.Unlock()
		return append(mine, p)
	}
	l.changePaste(mine[random.IntN(len(mine))], owner, random)
	return mine
}

// changePaste makes one change of a paste that nobody else changes.
func (l *load) changePaste(p *pasted, owner string, random *rand.Rand) {
	next, query, field := p.pasteState, updatePasteText, "updatePaste"
	in := vars{"id": p.id, "secret": p.secret}
	switch random.IntN(8) {
	case 0:
		next, query, field = pasteState{}, deletePasteText, "deletePaste"
	case 1, 2:
		next.version++
		next.title = fmt.Sprint("paste ", random.Uint64())
		in["title"] = next.title
	default:
		next.version++
		next.private = !next.private
		in["isPrivate"] = next.private
	}
	p.mu.Lock()
	p.next, p.changes = &next, p.changes+1
	p.mu.Unlock()
	a := l.ask(owner, query, field, p.id, in, random)
	if a.verdict == done && next.exists && a.number(field+".paste.version") != next.version {
		l.figures.report(&l.figures.Wrong, "%s of %s is answered %v, want version %d", field, p.id, a, next.version)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	switch a.verdict {
	case done:
		p.pasteState, p.next = next, nil
	case refused:
		p.next = nil
	case unknown:
		p.unknown = true
	}
}

// lookAtPaste reads a paste and the newest ones. No private or deleted paste is listed,
// and none is listed twice.
func (l *load) lookAtPaste(random *rand.Rand) {
	all := l.pastes.known()
	if len(all) == 0 {
		return
	}
	p := all[max(0, len(all)-1-random.IntN(writers*kept))]
	before, changes, ok := p.stable()
	a := l.any(random).post("", readPasteText, vars{"id": p.id})
	if !l.answered(a, "paste") {
		return
	}
	listed := a.nodeIDs("latestPastes.nodes")
	slices.Sort(listed)
	if once := slices.Compact(slices.Clone(listed)); len(once) < len(listed) {
		l.figures.report(&l.figures.Duplicates, "a paste is listed twice on a page of %d", len(listed))
	}
	if _, now, _ := p.stable(); !ok || now != changes {
		return
	}
	l.figures.Checked.Add(1)
	if found := a.pasteState(); !before.agrees(found) || found.exists && a.at("paste.body") != longText {
		l.figures.report(&l.figures.Wrong, "%s was read as %v; known %+v", p.id, a, before)
	}
	if (!before.exists || before.private) && slices.Contains(listed, p.id) {
		l.figures.report(&l.figures.Leaks, "%s is listed; known %+v", p.id, before)
	}
}

// pasteState is what an answer shows of a paste.
func (a *answer) pasteState() pasteState {
	if a.at("paste") == nil {
		return pasteState{}
	}
	title, _ := a.at("paste.title").(string)
	return pasteState{exists: true, private: a.at("paste.isPrivate") == true, version: a.number("paste.version"), title: title}
}

// checkPastes compares every paste, and the whole list, with what clients were answered. It reads the list from its
// oldest paste on, because the newest pastes of other gateways may be missing on a newest page.
func (l *load) checkPastes(t *testing.T) {
	t.Helper()
	g, listed, in := l.gateways[0], map[string]int{}, vars{}
	for more := true; more; {
		a := g.must(t, "", listPastesText, in)
		for _, id := range a.nodeIDs("latestPastes.nodes") {
			listed[id]++
		}
		in["before"], more = a.at("latestPastes.pageInfo.startCursor"), a.at("latestPastes.pageInfo.hasPreviousPage") == true
	}
	public := 0
	for _, p := range l.pastes.known() {
		found := g.must(t, "", readPasteText, vars{"id": p.id}).pasteState()
		if !p.agrees(found) && !(p.unknown && p.next.agrees(found)) {
			l.figures.report(&l.figures.Lost, "%s: found %+v, known %+v, next %+v", p.id, found, p.pasteState, p.next)
		}
		want := 0
		if found.exists && !found.private {
			want = 1
			public++
		}
		if listed[p.id] != want {
			l.figures.report(&l.figures.Wrong, "%s is listed %d times, but is %+v", p.id, listed[p.id], found)
		}
	}
	fmt.Printf("%d pastes, %d of them public at the end\n", len(l.pastes.known()), public)
	if public == 0 {
		t.Error("no paste is public at the end")
	}
}
