package nemesis

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/session"
	"carrel/core/commit"
)

// TestGateways_ReadEachOthersWrites checks that clients see two gateways on one cluster as one.
func TestGateways_ReadEachOthersWrites(t *testing.T) {
	t.Parallel()
	s := newSite(t, node.Hosts(t), node.Keyspace(t), 1)
	a, b := s.serve("a"), s.serve("b")
	ann, ben := a.user(t, "ann"), b.user(t, "ben")
	for n := range 10 {
		one, other := a, b
		if n%2 == 1 {
			one, other = b, a
		}
		name := fmt.Sprintf("item%d", n)
		id := "c:acme:" + name
		one.must(t, ann, createItem, vars{"in": vars{"name": name, "kind": "NOTE", "title": "new", "visibility": "PUBLIC"}})
		if got := other.must(t, "", readPage, vars{"id": "u:acme:ann"}).nodeIDs("principal.library.nodes"); len(got) == 0 || got[0] != id {
			t.Errorf("the newest item of the other gateway is %v, want %s", got, id)
		}
		other.must(t, ann, updateItem, vars{"in": vars{"id": id, "title": "changed", "expectedVersion": 1}})
		if got := one.must(t, "", readItem, vars{"id": id}); got.at("content.title") != "changed" || got.number("content.version") != 2 {
			t.Errorf("the first gateway reads %v", got)
		}
		one.must(t, ann, shareItem, vars{"in": vars{"contentId": id, "principalIds": []string{"u:acme:ben"}}})
		other.must(t, ann, updateItem, vars{"in": vars{"id": id, "visibility": "PRIVATE"}})
		if got := one.must(t, "", readItem, vars{"id": id}); got.at("content") != nil {
			t.Errorf("withdrawn through one gateway, shown by the other: %v", got)
		}
		if got := one.must(t, "", readPage, vars{"id": "u:acme:ann"}).nodeIDs("principal.library.nodes"); slices.Contains(got, id) {
			t.Errorf("withdrawn through one gateway, listed by the other: %v", got)
		}
		if got := other.must(t, ben, readItem, vars{"id": id}); got.at("content") == nil {
			t.Error("ben was given a role and cannot see it")
		}
		one.must(t, ann, setMembers, vars{"in": vars{"contentId": id, "members": []vars{{"principalId": "u:acme:ben", "role": nil}}}})
		if got := other.must(t, ben, readItem, vars{"id": id}); got.at("content") != nil {
			t.Error("ben sees it without a role")
		}
	}
	s.audit()
}

// TestGateways_ClocksDiffer checks that only the gateway that is built with a clock ahead is ahead,
// however long an answer takes.
func TestGateways_ClocksDiffer(t *testing.T) {
	t.Parallel()
	s := newSite(t, node.Hosts(t), node.Keyspace(t), 1)
	for _, c := range []struct {
		g     *process
		ahead time.Duration
	}{{s.serve("a"), 0}, {s.serveAhead("b"), 2 * time.Second}} {
		before := time.Now()
		ann := c.g.user(t, "ann-"+c.g.name)
		c.g.must(t, ann, createItem, vars{"in": vars{"name": c.g.name, "kind": "NOTE", "title": "new"}})
		after := time.Now()
		timestamp, _ := c.g.must(t, ann, `query($id: ID!) { content(id: $id) { createdAt } }`,
			vars{"id": "c:acme:" + c.g.name}).at("content.createdAt").(string)
		created, err := time.Parse(time.RFC3339Nano, timestamp)
		if err != nil {
			t.Fatal(err)
		}
		if created.Before(before.Add(c.ahead).Truncate(time.Millisecond)) || created.After(after.Add(c.ahead)) {
			t.Errorf("%s created an item at %s, while the time went from %s to %s", c.g.name, created, before, after)
		}
	}
}

// TestGateways_RaceOnOneItemAppliesEachUpdateOnce checks that every acknowledged update happened
// exactly once, although the clocks of the gateways differ by 2 s.
func TestGateways_RaceOnOneItemAppliesEachUpdateOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, node.Hosts(t), node.Keyspace(t), 1)
	gateways := []*process{s.serve("a"), s.serveAhead("b")}
	ann := gateways[0].user(t, "ann")
	gateways[0].must(t, ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "new"}})
	const clients, each = 8, 10
	var f figures
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for n := range each {
				began := time.Now()
				a := gateways[(c+n)%2].post(ann, updateItem, vars{"in": vars{"id": "c:acme:x", "title": fmt.Sprintf("%d of %d", n, c)}})
				f.count(a.verdict, began)
				switch a.code {
				case "", "CONTENTION", "UNAVAILABLE", "OUTCOME_UNKNOWN":
				default:
					t.Error(a)
				}
			}
		})
	}
	wait.Wait()
	last := gateways[1].must(t, ann, readItem, vars{"id": "c:acme:x"}).number("content.version")
	acknowledged, open := int(f.Acknowledged.Load()), int(f.Unknown.Load())
	if acknowledged == 0 || last < 1+acknowledged || last > 1+acknowledged+open {
		t.Errorf("version %d after %s", last, &f)
	}
	t.Logf("version %d after %s", last, &f)
	s.audit()
}

// finishedWithin is how soon the changes of a dead gateway are finished. The limit is
// extended where other work slows the machine down, as it is for refusals.
const finishedWithin = 30 * time.Second

// TestGateways_FinishChangesOfAKilledOne kills one of two gateways under load. The other one must
// finish its changes.
func TestGateways_FinishChangesOfAKilledOne(t *testing.T) {
	t.Parallel()
	hosts, keyspace := node.Hosts(t), node.Keyspace(t)
	s := newSite(t, hosts, keyspace, 1)
	a, b := s.serve("a"), s.serveAhead("b")
	l := newLoad(t, a, b)
	store, err := cassandra.Open(t.Context(), session.Options{Hosts: hosts, Keyspace: keyspace})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	// left counts the changes that are not finished, except moves that are not due yet.
	left := func() (n int) {
		inFlightLists, err := commit.OpenLists(t.Context(), store.Journal)
		if err != nil {
			t.Fatal(err)
		}
		for _, inFlightList := range inFlightLists {
			for _, e := range inFlightList.Entries {
				if e.Due == 0 && !e.Ended {
					n++
				}
			}
		}
		return n
	}
	l.start(t, 1)
	until(t, runTimeout, "200 acknowledged changes", func() bool { return l.figures.Acknowledged.Load() > 200 })
	if err := a.end(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	strained := sync.OnceValue((&nemesis{t: t, gateways: []*process{b}}).strain())
	defer strained()
	l.useGateways(b)
	l.end()
	t.Logf("%d entries in flight after the kill", left())
	until(t, runTimeout, "the end of the unfinished changes", func() bool { return left() == 0 })
	took, strain := time.Since(killed), strained()
	t.Logf("finished %s after the kill, while an answer that needs no store takes %s", took, strain)
	if took > finishedWithin+latency+strainSteps*strain {
		t.Errorf("the changes were finished %s after the kill, while answers that need no store take %s; wanted within %s",
			took, strain, finishedWithin)
	}
	l.check(t)
	s.audit()
	t.Logf("%d items, %s", len(l.ledger.all()), &l.figures)
}
