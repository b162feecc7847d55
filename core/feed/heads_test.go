package feed

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/sched"
)

// TestHeads_KeepsFew: a process keeps the heads of a few feeds, with a few of the entries that it puts.
func TestHeads_KeepsFew(t *testing.T) {
	rt := sched.NewReal()
	defer rt.Close()
	c := heads{rt: rt, feeds: map[Feed]*head{}}
	for n := range 3 * maxHeads {
		feed := Feed(fmt.Sprint(n))
		if _, err := c.of(t.Context(), feed, func(context.Context) ([]Entry, *Entry, error) { return nil, nil, nil }); err != nil {
			t.Fatal(err)
		}
		for range 2 * maxPuts {
			c.put(feed, Entry{})
		}
		if len(c.feeds) > maxHeads || len(c.feeds[feed].puts) > maxPuts+1 {
			t.Fatalf("%d heads, %d puts", len(c.feeds), len(c.feeds[feed].puts))
		}
	}
}
