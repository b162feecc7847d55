package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// clock is a clock that the test advances.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestPlain_WritesOccasionally(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	report := Plain(&out, c.now)
	for i := 1; i <= 45; i++ {
		doing := "importing"
		if i <= 20 {
			doing = "checking"
		}
		report(Report{Doing: doing, Done: i * 100, Units: "lines", At: int64(i), Of: 50, Bytes: true})
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

func TestPlain_UnknownSizeOmitsTheShare(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	report := Plain(&out, c.now)
	report(Report{Doing: "importing", Done: 1, Units: "lines"})
	c.at = c.at.Add(10 * time.Second)
	report(Report{Doing: "importing", Done: 50, Units: "lines"})
	if diff := cmp.Diff("importing: 50 lines, 5 lines/s\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestBar_DrawsBothPasses(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	report, finish := Bar(&out, c.now)
	for _, doing := range []string{"checking", "importing"} {
		for i := 1; i <= 4; i++ {
			c.at = c.at.Add(time.Second)
			report(Report{Doing: doing, Done: i * 10, Units: "lines", At: int64(i) * 1000, Of: 4000, Bytes: true})
		}
	}
	finish()
	for _, want := range []string{"checking", "importing 40 lines, 13 lines/s", "importing 30 lines, 15 lines/s", "100%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %q", want, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\n") {
		t.Error("the last line has no line break")
	}
}

// If the end is not known, a spinner is shown. goleak reports a spinner that is still running after
// the test.
func TestBar_WithoutASizeIsASpinner(t *testing.T) {
	c := clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	report, finish := Bar(&out, c.now)
	for i := 1; i <= 3; i++ {
		c.at = c.at.Add(time.Second)
		report(Report{Doing: "exporting", Done: i * 10, Units: "lines", At: int64(i) * 1000, Bytes: true})
	}
	finish()
	if !strings.Contains(out.String(), "exporting 30 lines, 15 lines/s") {
		t.Errorf("%q", out.String())
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Tests have no terminal, so this one checks the writer itself: it writes the erasing sequence and
// the line in one call, and does not count the sequence.
func TestLineWriter_LinesReplaceTheBar(t *testing.T) {
	var out pieces
	n, err := lineWriter{&out}.Write([]byte("line 7: no\n"))
	if err != nil || n != len("line 7: no\n") {
		t.Errorf("%d bytes, %v", n, err)
	}
	if diff := cmp.Diff(pieces{"\r\x1b[Kline 7: no\n"}, out); diff != "" {
		t.Error(diff)
	}
}

func TestLineWriter_LogLinesAreUnchanged(t *testing.T) {
	var out bytes.Buffer
	if _, err := LineWriter(&out).Write([]byte("line 7: no\n")); err != nil || out.String() != "line 7: no\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if IsTerminal(f) {
		t.Error("a file is taken for a terminal")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// pieces records what each call of Write has written.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}
