package scenario

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// TestAnswerLimit_ConcurrentLongAnswersFitInMemory sends 32 parallel requests whose answers would
// have 9 to 515 MiB each. They are refused, and the process never uses 350 MiB of resident memory;
// with twice the limit of an answer it would. Its memory limit is lower than that, so that it
// collects garbage at once: otherwise the heap would depend on how busy the machine is.
func TestAnswerLimit_ConcurrentLongAnswersFitInMemory(t *testing.T) {
	const most, atOnce = 350 << 10, 32 // KiB; requests
	t.Setenv("GOMEMLIMIT", "200MiB")
	whole := serveWith(t, "--rate-limit", "0", "--limit", "answer-memory=4294967296")
	ann := whole.user("acme", "ann", "PUBLIC")
	for n := range 100 {
		whole.must(ann, createItem, vars{"in": vars{"name": fmt.Sprint("long", n), "kind": "NOTE", "visibility": "PUBLIC",
			"title": "long", "description": strings.Repeat("d", 10_000)}})
	}
	texts := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " d%d:description", i)
		}
		return b.String()
	}
	below := func(first, then int, fields string) string {
		return fmt.Sprintf(`{user(id:"u:acme:ann"){library(first:%d){nodes{createdBy{library(first:%d){nodes{%s}}}}}}}`, first, then, fields)
	}
	flat := func(fields string) string {
		return `{user(id:"u:acme:ann"){library(first:100){nodes{` + fields + `}}}}`
	}
	const unplanned = " createdBy{email}" // read by a resolver, not by a plan
	for _, c := range []struct{ name, query, code string }{
		{"30 texts in each of 1,800", below(100, 18, texts(30)), "COST_LIMIT"},
		{"9 texts in each of 480", below(40, 12, texts(9)), "ANSWER_TOO_LARGE"},
		{"9 texts in each of 432, unplanned", below(36, 12, texts(9)+unplanned), "ANSWER_TOO_LARGE"},
		{"30 texts in each of 100", flat(texts(30)), "ANSWER_TOO_LARGE"},
		{"30 texts in each of 100, unplanned", flat(texts(30) + unplanned), "ANSWER_TOO_LARGE"},
		{"5 texts in each of 100", flat(texts(5)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := whole.in(t)
			var all sync.WaitGroup
			for range atOnce {
				all.Go(func() {
					if a, err := g.post("", c.query, nil); err != nil || a.code() != c.code {
						t.Errorf("got %v, %v, want %q", err, a, c.code)
					}
				})
			}
			all.Wait()
			resident := g.mostResident()
			t.Logf("at most %d MiB were resident so far", resident>>10)
			if resident >= most {
				t.Errorf("%d KiB were resident", resident)
			}
		})
	}
}

// mostResident returns the peak resident memory of the process in KiB.
func (g *gateway) mostResident() (kilobytes int) {
	g.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		g.t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(peak, &kilobytes); err != nil {
		g.t.Fatal(err)
	}
	return kilobytes
}
