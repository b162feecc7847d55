package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostilePanic returns row 48. No request is known to cause a panic, so the row uses a build in
// which one resolver panics.
func hostilePanic() longRow {
	const canary = "canary: SELECT secret"
	var binary string
	built := make(chan error, 1)
	begin := func(t *testing.T, _ *world) {
		dir := t.TempDir()
		binary = filepath.Join(dir, "carrel")
		overlay, err := withPanic(dir, canary)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", overlay, "-o", binary,
				"carrel").CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			built <- err
		}()
	}
	try := func(t *testing.T, _ *world) {
		if err := <-built; err != nil {
			t.Fatal(err)
		}
		g := serveBinary(t, binary, "--rate-limit", "0")
		for range 3 {
			r := g.send("POST", "/graphql", question("{limits{maxDepth}}"))
			if r.Status != 200 || len(r.Errors) != 1 || r.code() != "INTERNAL_SERVER_ERROR" || r.Errors[0].Message != "Internal error." ||
				strings.Contains(string(r.body), "canary") {
				t.Fatalf("got %d %s", r.Status, r.body)
			}
			id, _ := r.Errors[0].Extensions["errorId"].(string)
			if line := g.logLine(id); len(id) != 32 || !strings.Contains(line, canary) || !strings.Contains(line, "query.go") {
				t.Errorf("the log of %q: %s", id, line)
			}
		}
		if a := g.ask(g.user("acme", "ann", "PUBLIC"), "{viewer{id}}", nil); a.at("viewer.id") != "u:acme:ann" {
			t.Errorf("afterwards: %+v", a)
		}
	}
	return longRow{row{48, "panic in a resolver", try}, begin}
}

// logLine returns the line of the log that contains a text. Another process writes it, so
// it may appear after the response.
func (g *gateway) logLine(text string) string {
	for range 200 {
		for line := range strings.Lines(g.log.String()) {
			if strings.Contains(line, text) {
				return line
			}
		}
		<-time.After(50 * time.Millisecond)
	}
	return ""
}

// withPanic writes an overlay for the go command in which the resolver of limits panics,
// and returns its file.
func withPanic(dir, message string) (overlay string, err error) {
	source, err := filepath.Abs(filepath.Join("..", "..", "resolvers", "query.go"))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const first = "limits := q.Root.Limits\n"
	if strings.Count(string(text), first) != 1 {
		return "", fmt.Errorf("cannot insert a panic into %s: %q not found", source, first)
	}
	changed := filepath.Join(dir, "query.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), first, fmt.Sprintf("panic(%q)\n%s", message, first), 1)),
		0o600); err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, mustJSON(map[string]any{"Replace": map[string]string{source: changed}}), 0o600)
}
