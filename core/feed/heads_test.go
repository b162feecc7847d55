package feed

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// TestHeads_NobodyWaitsForAThirdRead: those who wait for a head use the first one that was read since they began, even
// if this process puts too many entries during each read.
func TestHeads_NobodyWaitsForAThirdRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := sched.NewReal()
		defer rt.Close()
		c := heads{rt: rt, feeds: map[Feed]*head{}}
		var waiting sync.WaitGroup
		reads := 0
		var read func(ctx context.Context) ([]Entry, *Entry, error)
		read = func(ctx context.Context) ([]Entry, *Entry, error) {
			if reads++; reads == 1 {
				for range 5 {
					waiting.Go(func() { _, _ = c.of(t.Context(), "f", read) })
				}
			}
			for range 2 * maxPuts {
				c.put("f", Entry{})
			}
			return nil, nil, rt.After(ctx, time.Microsecond)
		}
		_, _ = c.of(t.Context(), "f", read)
		waiting.Wait()
		if reads != 2 {
			t.Errorf("the head is read %d times, want 2", reads)
		}
	})
}

// TestHeads_ReadsAgainIfOthersMayFollowThoseThatExpired: a head that was read to the end of its feed lacks nothing.
func TestHeads_ReadsAgainIfOthersMayFollowThoseThatExpired(t *testing.T) {
	rt := sched.NewReal()
	defer rt.Close()
	for end, want := range map[*Entry]int{nil: 1, {ID: "x"}: 2} {
		c, reads := heads{rt: rt, feeds: map[Feed]*head{}}, 0
		for range 2 {
			_, _ = c.of(t.Context(), "f", func(context.Context) ([]Entry, *Entry, error) {
				reads++
				return []Entry{{Until: 1}}, end, nil
			})
		}
		if reads != want {
			t.Errorf("a head that ends at %v is read %d times, want %d", end, reads, want)
		}
	}
}
