package observe

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func messages(t *testing.T, b *bytes.Buffer) []string {
	t.Helper()
	var got []string
	for line := range strings.Lines(b.String()) {
		var l struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, l.Msg)
	}
	return got
}

func TestOutput_EarlierLinesFollowTheFirstLine(t *testing.T) {
	var b bytes.Buffer
	out := NewOutput(&b)
	log := NewLogger(out)
	log.Info("recovered")
	if b.Len() > 0 {
		t.Errorf("written too early: %s", b.String())
	}
	first := func(log *slog.Logger) { log.Info("listening") }
	if err := out.Open(first); err != nil {
		t.Fatal(err)
	}
	log.Info("served")
	if err := out.Open(first); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"listening", "recovered", "served"}, messages(t, &b)); diff != "" {
		t.Error(diff)
	}
}

func TestOutput_OpensWithoutAFirstLine(t *testing.T) {
	var b bytes.Buffer
	out := NewOutput(&b)
	NewLogger(out).Info("failed")
	if err := out.Open(nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"failed"}, messages(t, &b)); diff != "" {
		t.Error(diff)
	}
}

func TestLog_LinesCannotBeForged(t *testing.T) {
	var b bytes.Buffer
	NewLogger(&b).Info("said", "what", "x\n{\"msg\":\"forged\"}\u202e")
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, b.String())
	}
}
