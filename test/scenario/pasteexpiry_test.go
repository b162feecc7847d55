package scenario

import (
	"slices"
	"testing"
	"time"
)

// TestPastes_ExpireExactly checks that a paste and an item expire exactly on time on every path, by
// the clock of the gateway, whose answers say when they were sent.
func TestPastes_ExpireExactly(t *testing.T) {
	g := serveWith(t, "--dev", "--rate-limit", "0", "--limit", "pastes-per-minute=1000")
	ann := g.user("acme", "ann", "PUBLIC")
	earlier := g.paste("", "earlier")
	since := g.latest(nil).Start
	g.must("", deletePaste, earlier.with())
	end := time.Now().Add(2 * time.Second).Truncate(time.Millisecond)
	expiresAt := end.UTC().Format(time.RFC3339Nano)
	p := g.paste("", "short-lived", "expiresAt", expiresAt)
	stays := g.paste("", "stays")
	item := func(name string, pairs ...any) {
		g.must(ann, createItem, in(append(pairs, "name", name, "kind", "NOTE", "title", name, "visibility", "PUBLIC")...))
	}
	item("short-lived", "expiresAt", expiresAt)
	item("stays")
	paths := map[string]func() bool{
		"paste":        func() bool { return g.must("", readPaste, vars{"id": p.id}).Data["paste"] != nil },
		"node":         func() bool { return g.must("", readPaste, vars{"id": p.id}).Data["node"] != nil },
		"latestPastes": func() bool { return slices.Contains(g.latest(nil).Titles, "short-lived") },
		"raw":          func() bool { status, _ := g.raw(p.id); return status == 200 },
		"latestContent": func() bool {
			list := g.must("", latestContent, vars{"tenant": "acme"}).at("latestContent").(map[string]any)
			return slices.Contains(connectionPage(list).Titles, "short-lived")
		},
		"pasteCreated": func() bool { // the first event of a subscription that begins now
			s := g.subscribeByEvents("", pasteCreated, vars{"after": since})
			defer s.leave()
			first := s.paste()
			if first != p.id && first != stays.id {
				t.Errorf("the first event has %s", first)
			}
			return first == p.id
		},
	}
	for ended := false; !ended; {
		ended = !time.Now().Before(end)
		for path, there := range paths {
			before := time.Now()
			got := there()
			after := time.Now()
			if after.Before(end) && !got || !before.Before(end) && got {
				t.Errorf("%s: exists is %t between %s and %s of its end", path, got, before.Sub(end), after.Sub(end))
			}
		}
	}
	g.wantRefused("", updatePaste, "updatePaste", p.with("clearExpiry", true), "NOT_FOUND id")
	g.wantLatest("stays")
	g.must("", deletePaste, stays.with())
}
