package interchange

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is moved by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestPlainTellsNowAndThen(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	tell := Plain(&out, c.now)
	for i := 1; i <= 45; i++ {
		tell(Progress{Checking: i <= 20, Lines: i * 100, Bytes: int64(i), Size: 50})
		c.at = c.at.Add(time.Second)
	}
	want := []string{
		"checking: 1100 lines (22 %), 110 lines/s",
		"importing: 3100 lines (62 %), 310 lines/s",
		"importing: 4100 lines (82 %), 205 lines/s",
		"",
	}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestPlainWithoutASize(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	tell := Plain(&out, c.now)
	tell(Progress{Lines: 1})
	c.at = c.at.Add(10 * time.Second)
	tell(Progress{Lines: 50})
	if diff := cmp.Diff("importing: 50 lines, 5 lines/s\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestBarDrawsBothPasses(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	report, finish := Bar(&out, c.now)
	for _, checking := range []bool{true, false} {
		for i := 1; i <= 4; i++ {
			c.at = c.at.Add(time.Second)
			report(Progress{Checking: checking, Lines: i * 10, Bytes: int64(i) * 1000, Size: 4000})
		}
	}
	finish()
	for _, want := range []string{"checking", "importing 40 lines, 13 lines/s", "importing 30 lines, 15 lines/s", "100%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %q", want, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\n") {
		t.Error("the last line does not end")
	}
}
