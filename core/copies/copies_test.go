package copies

import (
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
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

// one is the weight of every copy.
func one(string) int { return 1 }

func want(t *testing.T, c *Cache[string, string], rt sched.Runtime, key string, mts clock.Instant, value string, refused bool) {
	t.Helper()
	got, ok, old := c.Get(key, mts, sched.Present(rt))
	if got != value || ok != (value != "") || old != refused {
		t.Errorf("%q of %d is %q, %v, refused %v; want %q, refused %v", key, mts, got, ok, old, value, refused)
	}
}

func TestCache_ServesOnlyCopiesAtLeastAsNewAsRequested(t *testing.T) {
	rt := newClocks()
	c := NewCache[string, string](rt, 10, MaxAge, one)
	want(t, c, rt, "a", 5, "", false)
	c.Put("a", "five", 5, sched.Present(rt))
	want(t, c, rt, "a", 4, "five", false)
	want(t, c, rt, "a", 5, "five", false)
	want(t, c, rt, "a", 6, "", true)
	want(t, c, rt, "b", 5, "", false)
	c.Put("a", "four", 4, sched.Present(rt))
	want(t, c, rt, "a", 5, "five", false)
	c.Put("a", "six", 6, sched.Present(rt))
	want(t, c, rt, "a", 6, "six", false)
}

// The age of a copy is the greater of what both clocks show: the monotonic clock of a suspended
// machine does not advance, and a wall clock may be set back.
func TestCache_AgeIsTheGreaterOfBothClocks(t *testing.T) {
	for name, tc := range map[string]struct{ elapsed, wall time.Duration }{
		"suspended": {0, MaxAge},
		"set back":  {MaxAge, -time.Hour},
		"both":      {MaxAge, MaxAge},
	} {
		rt := newClocks()
		c := NewCache[string, string](rt, 10, MaxAge, one)
		began := sched.Present(rt)
		c.Put("a", "five", 5, began)
		rt.elapsed, rt.wall = rt.elapsed+tc.elapsed, rt.wall.Add(tc.wall)
		if _, ok, refused := c.Get("a", 5, sched.Present(rt)); ok || !refused {
			t.Errorf("%s: a copy that is five minutes old is served", name)
		}
		// The same state, read again, is a new copy.
		c.Put("a", "five", 5, sched.Present(rt))
		want(t, c, rt, "a", 5, "five", false)
	}
	rt := newClocks()
	c := NewCache[string, string](rt, 10, MaxAge, one)
	c.Put("a", "five", 5, sched.Present(rt))
	rt.elapsed, rt.wall = rt.elapsed+MaxAge-1, rt.wall.Add(MaxAge-1)
	want(t, c, rt, "a", 5, "five", false)
}

func TestCache_EvictsLeastRecentlyUsed(t *testing.T) {
	rt := newClocks()
	c := NewCache[string, string](rt, 2, MaxAge, one)
	c.Put("a", "a", 1, sched.Present(rt))
	c.Put("b", "b", 1, sched.Present(rt))
	want(t, c, rt, "a", 1, "a", false)
	c.Put("c", "c", 1, sched.Present(rt))
	want(t, c, rt, "b", 1, "", false)
	want(t, c, rt, "a", 1, "a", false)
	c.Put("c", "c", 2, sched.Present(rt)) // an update counts as a use, and needs no space
	c.Put("d", "d", 1, sched.Present(rt))
	want(t, c, rt, "a", 1, "", false)
	want(t, c, rt, "c", 2, "c", false)
	if n := c.Len(); n != 2 {
		t.Errorf("%d copies are kept, want 2", n)
	}
}

func TestCache_LargeCopyEvictsSeveral(t *testing.T) {
	rt := newClocks()
	c := NewCache[string, string](rt, 4, MaxAge, func(v string) int { return len(v) })
	for _, key := range []string{"a", "b", "c", "d"} {
		c.Put(key, key, 1, sched.Present(rt))
	}
	c.Put("e", "eee", 1, sched.Present(rt))
	want(t, c, rt, "c", 1, "", false)
	want(t, c, rt, "d", 1, "d", false)
	c.Put("e", "ee", 2, sched.Present(rt)) // now there is space for one more
	c.Put("f", "f", 1, sched.Present(rt))
	want(t, c, rt, "d", 1, "d", false)
	want(t, c, rt, "e", 2, "ee", false)
	c.Put("g", "too large", 1, sched.Present(rt))
	if n := c.Len(); n != 0 {
		t.Errorf("%d copies are kept after one that is larger than the limit, want none", n)
	}
	c.Put("h", "hhhh", 1, sched.Present(rt))
	want(t, c, rt, "h", 1, "hhhh", false)
}

func TestSwitch_IsOnWhileEnoughLookupsHit(t *testing.T) {
	s := NewSwitch(30)
	at := time.Minute
	step := func(what string, lookups, hits int, on bool) {
		t.Helper()
		if s.Count(lookups, hits, at); s.On() != on {
			t.Errorf("%s: on is %v", what, s.On())
		}
	}
	if s.On() {
		t.Error("a new switch is on although there are no copies yet")
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
	if !s.TurnOff() || s.TurnOff() || s.On() {
		t.Error("TurnOff does not turn it off permanently, or does not report that only once")
	}
	at += time.Hour
	step("turned off permanently", 1000, 1000, false)
	always := NewSwitch(0)
	if always.Count(5000, 0, at); !always.On() {
		t.Error("a switch without a floor turns off")
	}
}
