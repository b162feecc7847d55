package headercache

import (
	"strings"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// clocks is a Runtime whose two clocks the test sets.
type clocks struct {
	*sched.Real
	elapsed time.Duration
	wall    time.Time
}

func (c *clocks) Elapsed() time.Duration { return c.elapsed }
func (c *clocks) Now() time.Time         { return c.wall }

func newClocks() *clocks {
	return &clocks{Real: sched.NewReal(), elapsed: time.Hour, wall: time.Unix(1_800_000_000, 0)}
}

// named returns an entry that takes so many bytes.
func named(id string, mts clock.Instant, bytes int) *entry {
	return &entry{key: key{id: id}, value: id, mts: mts, bytes: bytes}
}

// want compares the ids that the cache has, of some, with those wanted. Looking for an id uses it.
func want(t *testing.T, c *cache, ids, wanted string) {
	t.Helper()
	values := make([]string, len(ids))
	find(c, values, func(i int) key { return key{id: ids[i : i+1]} }, func(int, *entry) bool { return true })
	if got := strings.Join(values, ""); got != wanted {
		t.Errorf("of %q the cache has %q, want %q", ids, got, wanted)
	}
}

func TestCache_EvictsLeastRecentlyUsed(t *testing.T) {
	c := newCache(200)
	c.put([]*entry{named("a", 1, 100), named("b", 1, 100)})
	want(t, c, "a", "a")
	c.put([]*entry{named("c", 1, 100)})
	want(t, c, "bac", "ac")
	want(t, c, "a", "a")
	c.put([]*entry{named("c", 2, 100)}) // an update counts as a use, and needs no space
	c.put([]*entry{named("d", 1, 100)})
	want(t, c, "abcd", "cd")
	if s := c.stats(); s.Headers != 2 || s.Bytes != 200 {
		t.Errorf("the statistics are %+v", s)
	}
}

func TestCache_LargeEntryEvictsSeveral(t *testing.T) {
	c := newCache(400)
	c.put([]*entry{named("a", 1, 100), named("b", 1, 100), named("c", 1, 100), named("d", 1, 100), named("e", 1, 300)})
	want(t, c, "abcde", "de")
	c.put([]*entry{named("e", 2, 200), named("f", 1, 100)}) // now there is space for one more
	want(t, c, "abcdef", "def")
	c.put([]*entry{named("g", 1, 401)})
	want(t, c, "defg", "")
	c.put([]*entry{named("h", 1, 400)})
	want(t, c, "h", "h")
}

func TestCache_KeepsTheLaterState(t *testing.T) {
	c := newCache(400)
	c.put([]*entry{named("a", 5, 100)})
	c.put([]*entry{named("a", 4, 200), nil, {key: key{id: "b"}}})
	if s := c.stats(); s.Headers != 1 || s.Bytes != 100 {
		t.Errorf("the statistics are %+v, want those of the later state alone", s)
	}
	c.put([]*entry{named("a", 5, 150)}) // read again, because the former reading was too old
	if s := c.stats(); s.Headers != 1 || s.Bytes != 150 {
		t.Errorf("the statistics are %+v, want those of the later reading", s)
	}
}

// TestEntry_SharesNoMemory: an entry has everything of a header, and no text of what was read with it.
func TestEntry_SharesNoMemory(t *testing.T) {
	description, link, expiry := "description", "link", clock.Instant(7)
	rows := library.ContentRows{Members: []library.Member{{Principal: "u:acme:ann", Role: library.Manages, Seq: 3}}}
	h := &rows.Header
	h.ID, h.Title, h.Creator, h.CanonicalURL, h.Page, h.MTS = "c:acme:a/1", "title", "u:acme:bob", "https://a/1", []byte("page"), 9
	h.Description, h.Link, h.ExpiresAt = &description, &link, &expiry
	e := &entry{key: key{id: string(h.ID), first: "u:acme:ann"}}
	size := 0
	for _, text := range []string{e.id, e.id, "u:acme:ann", "u:acme:ann", "u:acme:bob", h.Title, h.CanonicalURL, description, link, "page"} {
		size += len(text)
	}
	kept := e.setItem(&rows)
	description, link, expiry, h.Page[0], rows.Members[0].Role = "", "", 0, 'x', library.NoRole
	k := kept.Header
	if k.Title != "title" || *k.Description != "description" || *k.Link != "link" || *k.ExpiresAt != 7 || string(k.Page) != "page" ||
		k.Creator != "u:acme:bob" || k.CanonicalURL != "https://a/1" || k.ID != "c:acme:a/1" ||
		kept.Members[0] != (library.Member{Principal: "u:acme:ann", Role: library.Manages, Seq: 3}) {
		t.Errorf("the entry has %+v %+v", k, kept.Members)
	}
	if e.bytes != itemBytes+memberBytes+size || e.mts != 9 || e.value != kept {
		t.Errorf("the entry takes %d bytes and is of the state %d, want %d and 9", e.bytes, e.mts, itemBytes+memberBytes+size)
	}
	p := &entry{key: key{id: "u:acme:ann"}}
	if got := *p.setHeader(&principal.Header{ID: "u:acme:ann", DisplayName: "Ann", Email: "a@b", MTS: 4}); got.DisplayName != "Ann" ||
		got.ID != "u:acme:ann" || got.Email != "a@b" || p.mts != 4 {
		t.Errorf("the entry has %+v", got)
	}
}

func TestPays_WhileEnoughLookupsHit(t *testing.T) {
	p := newPays(false)
	at := time.Minute
	step := func(what string, lookups, hits int, on bool) {
		t.Helper()
		for i := range lookups {
			hit := 0
			if i < hits {
				hit = 1
			}
			p.count(1, hit, at)
		}
		if p.on() != on {
			t.Errorf("%s: on is %v", what, p.on())
		}
	}
	if p.on() {
		t.Error("it begins on although there are no headers yet")
	}
	step("before a window is full", 999, 999, false)
	step("nearly all are hits", 1, 0, true)
	step("just enough", 1000, 300, true)
	step("a little too few", 1000, 299, false)
	at += minOff - 1
	step("more, but too soon", 1000, 1000, false)
	at++
	step("enough to stay on, too few to turn on", 1000, 399, false)
	step("enough to turn on", 1000, 400, true)
	p.count(100_000, 0, at)
	step("many entries of one page count as those of a usual one", 980, 300, true)
	if !p.turnOff() || p.turnOff() || p.on() {
		t.Error("turnOff does not turn it off permanently, or does not report that only once")
	}
	at += time.Hour
	step("turned off permanently", 1000, 1000, false)
	always := newPays(true)
	if always.count(5000, 0, at); !always.on() {
		t.Error("it turns off although headers are always to be served")
	}
}
