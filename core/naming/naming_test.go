package naming

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counters is a BlockStore in memory. It outlives the Names that use it, as a
// store outlives a process.
type counters struct {
	mu   sync.Mutex
	next map[string]int64
	fail error
}

func (c *counters) ReserveBlock(_ context.Context, host string, size int64) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return 0, c.fail
	}
	first := c.next[host] + 1
	c.next[host] += size
	return first, nil
}

func newCounters() *counters { return &counters{next: map[string]int64{}} }

func names(t *testing.T, n *Names, count int) []string {
	t.Helper()
	var got []string
	for range count {
		name, err := n.ContentName(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	return got
}

func TestHostPart_ReplacesOtherCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"web-1.example.org": "web-1.example.org",
		"Web_1":             "web-1",
		"bücher":            "b-cher",
		"a/b:c~d@e":         "a-b-c-d-e",
		"[::1]":             "---1-",
	} {
		if got := HostPart(in); got != want {
			t.Errorf("HostPart(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNew_RefusesBadArguments(t *testing.T) {
	for name, c := range map[string]struct {
		host string
		size int64
	}{
		"no host":        {"", 10},
		"too long":       {strings.Repeat("a", maxHostLength+1), 10},
		"an empty block": {"a", 0},
		"a negative one": {"a", -1},
	} {
		if _, err := New(newCounters(), c.host, c.size); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestContentName_CountsUpAcrossBlocksAndRestarts(t *testing.T) {
	store := newCounters()
	n, err := New(store, "H", 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"h/1", "h/2", "h/3", "h/4"}, names(t, n, 4)); diff != "" {
		t.Error(diff)
	}
	// The rest of the block of a crashed process is lost: its successor starts with the next
	// block.
	again, err := New(store, "h", 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"h/7", "h/8"}, names(t, again, 2)); diff != "" {
		t.Error(diff)
	}
}

func TestContentName_BlocksOfOneCountUp(t *testing.T) {
	n, err := New(newCounters(), "h", 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"h/1", "h/2", "h/3"}, names(t, n, 3)); diff != "" {
		t.Error(diff)
	}
}

func TestContentName_FailedReservationIsReturnedAndRetried(t *testing.T) {
	store := newCounters()
	n, err := New(store, "h", 2)
	if err != nil {
		t.Fatal(err)
	}
	down := errors.New("store is down")
	store.fail = down
	if _, err := n.ContentName(context.Background()); !errors.Is(err, down) {
		t.Fatalf("got %v", err)
	}
	store.fail = nil
	if diff := cmp.Diff([]string{"h/1"}, names(t, n, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestContentName_ConcurrentCallersNeverShareAName(t *testing.T) {
	store := newCounters()
	// Two processes with the same host id, eight callers each.
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for range 2 {
		n, err := New(store, "h", 7)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			wg.Go(func() {
				for range 100 {
					name, err := n.ContentName(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[name]++
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	if len(seen) != 1600 {
		t.Errorf("%d different names for 1600 calls", len(seen))
	}
}
