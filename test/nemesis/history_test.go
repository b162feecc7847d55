package nemesis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what clients that race on a few items have observed, and when. A single
// register with a version must be able to produce it. Each round has items of its own:
// the longer a history is, and the more of its changes have an unknown outcome, the
// longer it takes to check.
type history struct {
	began  time.Time
	titles atomic.Int64

	mu    sync.Mutex
	items []string // of all rounds; the last ones are those of the current round
	ops   []porcupine.Operation
}

// The number of items that clients race on at a time, and how long checking a history may
// take.
const (
	raced        = 4
	checkTimeout = 10 * time.Minute
)

// header is the state of an item: the part of its header that increases.
type header struct {
	version int
	title   string
}

// registerOp is an operation on one item: an update of its title, or a read.
type registerOp struct {
	item   int
	update bool
	title  string
}

// prepare creates the items of the next round, which every writer may change.
func (h *history) prepare(t *testing.T, l *load) {
	t.Helper()
	if h.began.IsZero() {
		h.began = time.Now()
	}
	h.mu.Lock()
	known := len(h.items)
	h.mu.Unlock()
	var made []string
	var members []vars
	for _, o := range l.owners[1:] {
		members = append(members, vars{"principalId": o, "role": "MANAGER"})
	}
	for n := range raced {
		name := fmt.Sprintf("raced-%d", known+n)
		in := vars{"name": name, "kind": "NOTE", "title": "new", "visibility": "PUBLIC", "members": members, "idempotencyKey": name}
		// Between two rounds the cluster may still be busy with recovery.
		until(t, runTimeout, "an item to race on", func() bool {
			return l.gateways[0].post(l.tokens[l.owners[0]], createItem, vars{"in": in}).verdict == done
		})
		made = append(made, "c:acme:"+name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.items = append(h.items, made...)
}

// any returns one of the items of the current round.
func (h *history) any(random *rand.Rand) (n int, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = len(h.items) - 1 - random.IntN(raced)
	return n, h.items[n]
}

func (h *history) since() int64 { return int64(time.Since(h.began)) }

func (h *history) keep(in registerOp, out any, call, ret int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{Input: in, Output: out, Call: call, Return: ret})
}

// update makes a change that races with others. One of unknown outcome may happen at any
// later time, or never.
func (h *history) update(l *load, owner string, random *rand.Rand) {
	n, id := h.any(random)
	in := registerOp{item: n, update: true, title: fmt.Sprintf("raced %d", h.titles.Add(1))}
	call, began := h.since(), time.Now()
	a := l.any(random).post(l.tokens[owner], updateItem, vars{"in": vars{"id": id, "title": in.title}})
	l.figures.count(a.verdict, began)
	switch a.verdict {
	case done:
		h.keep(in, header{version: a.number("updateContent.content.version")}, call, h.since())
	case unknown:
		h.keep(in, nil, call, math.MaxInt64)
	}
}

func (h *history) read(l *load, random *rand.Rand) {
	n, id := h.any(random)
	in := registerOp{item: n}
	call := h.since()
	a := l.any(random).post("", readItem, vars{"id": id})
	if !l.answered(a, "content") {
		return
	}
	title, _ := a.at("content.title").(string)
	h.keep(in, header{a.number("content.version"), title}, call, h.since())
}

// check checks the history of each item. It does not detect a change that was lost after the last
// read of its item.
func (h *history) check(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.items {
		var one []porcupine.Operation
		for _, op := range h.ops {
			if op.Input.(registerOp).item == n {
				one = append(one, op)
			}
		}
		t.Logf("%s: %d operations", h.items[n], len(one))
		if got := porcupine.CheckOperationsTimeout(registers(), one, checkTimeout); got != porcupine.Ok {
			t.Errorf("the history of %s is not linearizable: %s", h.items[n], got)
		}
	}
}

// registers is the model of an item.
func registers() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return header{1, "new"} },
		Step: func(state, input, output any) (bool, any) {
			s, in := state.(header), input.(registerOp)
			if !in.update {
				return output.(header) == s, s
			}
			next := header{s.version + 1, in.title}
			// The version is unknown if an update was not answered, or its item could not
			// be read back. An answer contains the item as it was read afterwards, when
			// others may have changed it again.
			answer, _ := output.(header)
			return answer.version == 0 || answer.version >= next.version, next
		},
	}
}

// TestHistory_ImpossibleIsRefused checks that histories in which a change is lost, happens twice
// or is undone are refused.
func TestHistory_ImpossibleIsRefused(t *testing.T) {
	update := func(title string, version int, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: registerOp{update: true, title: title}, Output: header{version: version}, Call: call, Return: ret}
	}
	read := func(title string, version int, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: registerOp{}, Output: header{version, title}, Call: call, Return: ret}
	}
	lost := porcupine.Operation{Input: registerOp{update: true, title: "?"}, Call: 1, Return: math.MaxInt64}
	for _, c := range []struct {
		name string
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		{"one after the other", []porcupine.Operation{update("a", 2, 1, 2), read("a", 2, 3, 4)}, porcupine.Ok},
		{"at the same time", []porcupine.Operation{update("a", 3, 1, 9), update("b", 2, 1, 9), read("a", 3, 10, 11)}, porcupine.Ok},
		{"unknown, and happened", []porcupine.Operation{lost, read("?", 2, 5, 6)}, porcupine.Ok},
		{"unknown, and did not", []porcupine.Operation{lost, read("new", 1, 5, 6)}, porcupine.Ok},
		{"unknown, and happened late", []porcupine.Operation{lost, read("new", 1, 5, 6), update("a", 3, 7, 8)}, porcupine.Ok},
		{"lost", []porcupine.Operation{update("a", 2, 1, 2), read("new", 1, 3, 4)}, porcupine.Illegal},
		{"doubled", []porcupine.Operation{update("a", 2, 1, 2), read("a", 3, 3, 4)}, porcupine.Illegal},
		{"answered as of before", []porcupine.Operation{update("a", 2, 1, 2), update("b", 2, 3, 4)}, porcupine.Illegal},
		{"back in time", []porcupine.Operation{update("a", 2, 1, 20), read("a", 2, 3, 4), read("new", 1, 5, 6)}, porcupine.Illegal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(registers(), c.ops, checkTimeout); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// groupScript is a group with one reader, an item that is shared with the group, and their state
// after a script: a list of the words that play knows.
type groupScript struct {
	ledger ledger
	group  *group
	item   item
	before map[string]relation // when the script sent its read
	got    verdictOnRead       // for the answer to that read
}

func newGroupScript() *groupScript {
	c := &groupScript{group: &group{id: "g:acme:group", managers: []string{"writer"}, readers: map[string]*fact{"reader": new(fact)}}}
	c.item.now = itemState{exists: true, members: []string{c.group.id}}
	c.ledger.addGroups([]*group{c.group})
	return c
}

func (c *groupScript) play(t *testing.T, script string) {
	t.Helper()
	member := c.group.readers["reader"]
	for word := range strings.FieldsSeq(script) {
		switch word {
		case "join", "leave":
			member.begin(word == "join")
		case "done", "refused", "unknown":
			member.end(map[string]verdict{"done": done, "refused": refused, "unknown": unknown}[word])
		case "publish":
			c.item.now.public = true
		case "unshare":
			c.item.now.members = nil
		case "ask":
			c.before = c.ledger.relations("reader")
		case "shown", "hidden":
			known, v := readWindow{c.before, c.ledger.relations("reader")}, c.item.view(c.group.id)
			c.got = v.sees("reader", known).check(word == "shown")
			// An item that is not in the library may be visible elsewhere.
			if got := v.mayList(c.group.id, "reader", known).check(word == "shown"); v.held && got != c.got {
				t.Errorf("the result is %d for the item, but %d for the library of the group", c.got, got)
			}
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
}

// TestHistory_ImpossibleMembershipIsRefused checks the rules for reads through a group: showing
// something to a removed member is refused, and so is hiding it from a new member. While the
// membership is being changed, both are right.
func TestHistory_ImpossibleMembershipIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         verdictOnRead
	}{
		{"never in", "ask hidden", right},
		{"never in, and shown", "ask shown", leak},
		{"joined", "join done ask shown", right},
		{"joined, and hidden", "join done ask hidden", hidden},
		{"taken out", "join done leave done ask hidden", right},
		{"taken out, and shown", "join done leave done ask shown", leak},
		{"taken out and in again, and hidden", "join done leave done join done ask hidden", hidden},
		{"joining, shown already", "join ask shown", right},
		{"joining, not shown yet", "join ask hidden", right},
		{"joined meanwhile, shown", "ask join done shown", right},
		{"joined meanwhile, not shown", "ask join done hidden", right},
		{"leaving, still shown", "join done leave ask shown", right},
		{"left meanwhile, still shown", "join done ask leave done shown", right},
		{"left before, joining meanwhile, shown", "join done leave done ask join shown", right},
		{"left and in again meanwhile, hidden", "join done ask leave done join done hidden", right},
		{"refused", "join refused ask hidden", right},
		{"refused, and shown", "join refused ask shown", leak},
		{"not taken out, and hidden", "join done leave refused ask hidden", hidden},
		{"unknown, and happened", "join unknown ask shown", right},
		{"unknown, and did not", "join unknown ask hidden", right},
		{"unknown, refused when repeated", "join unknown join refused ask shown", right},
		{"unknown, done when repeated, and hidden", "join unknown join done ask hidden", hidden},
		{"unknown, refused, done when repeated, and shown", "join done leave unknown leave refused leave done ask shown", leak},
		{"done by a repetition meanwhile", "join done leave unknown ask leave done shown", right},
		{"everybody's", "publish ask hidden", hidden},
		{"not of the group any more", "join done unshare ask shown", leak},
	} {
		t.Run(c.name, func(t *testing.T) {
			played := newGroupScript()
			played.play(t, c.script)
			if played.got != c.want {
				t.Errorf("%d, want %d", played.got, c.want)
			}
		})
	}
}

// TestHistory_ImpossibleGroupIsRefused checks that members that the ledger does not allow are
// refused, and that members that it knows must be present.
func TestHistory_ImpossibleGroupIsRefused(t *testing.T) {
	type wrong struct{ Lost, Duplicates, Leaks, Wrong int64 }
	for _, c := range []struct {
		name, script, members string
		public                bool
		want                  wrong
	}{
		{"as known", "join done", "reader writer", false, wrong{}},
		{"nobody joined", "join refused", "writer", false, wrong{}},
		{"unknown, and happened", "join unknown", "reader writer", false, wrong{}},
		{"unknown, and did not", "join unknown", "writer", false, wrong{}},
		{"a member is lost", "join done", "writer", false, wrong{Lost: 1}},
		{"a member is back", "join done leave done", "reader writer", false, wrong{Leaks: 1}},
		{"the manager is lost", "join done", "reader", false, wrong{Lost: 1}},
		{"a stranger", "", "stranger writer", false, wrong{Wrong: 1}},
		{"twice", "", "writer writer", false, wrong{Duplicates: 1}},
		{"shown to everybody", "", "writer", true, wrong{Leaks: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			played, f := newGroupScript(), new(figures)
			played.play(t, c.script)
			played.ledger.checkGroup(f, played.group, c.public, strings.Fields(c.members))
			if got := (wrong{f.Lost.Load(), f.Duplicates.Load(), f.Leaks.Load(), f.Wrong.Load()}); got != c.want {
				t.Errorf("%+v, want %+v: %v", got, c.want, f.messages)
			}
		})
	}
}
