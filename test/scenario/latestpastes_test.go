package scenario

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLatestPastes_CursorsAreValidInEveryProcess pages through the newest pastes in both directions.
// Each page is read from another process than its cursor: from a second gateway if the store allows
// it, otherwise from the gateway after it was killed and started again.
func TestLatestPastes_CursorsAreValidInEveryProcess(t *testing.T) {
	g := serveWith(t, "--dev", "--rate-limit", "0", "--limit", "pastes-per-minute=1000")
	other := g.beside()
	another := func() *gateway {
		if g, other = other, g; g == other {
			g.kill()
			g.start()
		}
		return g
	}
	var want []string
	var pastes []pasted
	for n := range 7 {
		title := fmt.Sprint("paste ", n)
		want, pastes = append(want, title), append(pastes, g.paste("", title))
	}
	slices.Reverse(want)
	slices.Reverse(pastes)
	another().wantLatest(want...)
	another().wantLatest(want...)

	var forward, cursors []string
	for args := (vars{"first": 2}); ; {
		p := another().latest(args)
		if _, next := args["after"]; p.HasPrev != next || p.HasNext != (len(forward)+len(p.Titles) < len(want)) {
			t.Errorf("forwards, after %d: %+v", len(forward), p)
		}
		forward, cursors = append(forward, p.Titles...), append(cursors, p.Cursors...)
		if args["after"] = p.End; !p.HasNext || len(forward) > len(want) {
			break
		}
	}
	if diff := cmp.Diff(want, forward); diff != "" {
		t.Fatalf("forwards (-want +got):\n%s", diff)
	}
	var backward []string
	for args := (vars{"last": 3}); ; {
		p := another().latest(args)
		if _, next := args["before"]; p.HasNext != next || p.HasPrev != (len(backward)+len(p.Titles) < len(want)) {
			t.Errorf("backwards, before the last %d: %+v", len(backward), p)
		}
		backward = append(slices.Clone(p.Titles), backward...)
		if args["before"] = p.Start; !p.HasPrev || len(backward) > len(want) {
			break
		}
	}
	if diff := cmp.Diff(want, backward); diff != "" {
		t.Errorf("backwards (-want +got):\n%s", diff)
	}

	// A cursor is a position: it is valid for pages of any size in either direction, also when its
	// paste was deleted and others were created.
	g.must("", deletePaste, pastes[3].with())
	g.paste("", "newer")
	reader := another()
	for at, cursor := range cursors {
		older := slices.Concat(want[at+1:max(at+1, 3)], want[max(at+1, 4):])
		if got := reader.latest(vars{"first": 3, "after": cursor}).Titles; !slices.Equal(got, older[:min(3, len(older))]) {
			t.Errorf("after %q: %q, want the first of %q", want[at], got, older)
		}
		newer := slices.Concat([]string{"newer"}, want[:min(at, 3)], want[min(at, 4):at])
		if got := reader.latest(vars{"last": 3, "before": cursor}).Titles; !slices.Equal(got, newer[max(0, len(newer)-3):]) {
			t.Errorf("before %q: %q, want the last of %q", want[at], got, newer)
		}
	}
}
