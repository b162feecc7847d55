package nemesis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binaries are the paths of the product as it is, and of the product with a clock that is
// 2 s ahead.
type binaries struct{ plain, ahead string }

// The statement in which the product reads the time, and its replacement where the clock
// is ahead. The product has no option for a clock that is off, so it is built from its
// sources with this one line replaced.
const (
	realClock   = "func (r *Real) Now() time.Time { return time.Now() }"
	clockAhead  = "func (r *Real) Now() time.Time { return time.Now().Add(2 * time.Second) }"
	clockSource = "real.go" // of the package carrel/core/sched
)

// build builds both binaries into a directory.
func build(dir string) (binaries, error) {
	b := binaries{filepath.Join(dir, "carrel"), filepath.Join(dir, "carrel-ahead")}
	overlay, err := aheadOverlay(dir)
	if err != nil {
		return b, err
	}
	for _, args := range [][]string{
		{"build", "-ldflags=-s -w", "-o", b.plain, "carrel"},
		{"build", "-ldflags=-s -w", "-overlay", overlay, "-o", b.ahead, "carrel"},
	} {
		if _, err := goTool(args...); err != nil {
			return b, err
		}
	}
	return b, nil
}

// aheadOverlay writes the source file whose clock is ahead, and the overlay file for the
// go command that replaces the original by it.
func aheadOverlay(dir string) (string, error) {
	folder, err := goTool("list", "-f", "{{.Dir}}", "carrel/core/sched")
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(folder), clockSource)
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	if bytes.Count(text, []byte(realClock)) != 1 {
		return "", fmt.Errorf("%s no longer reads the time by %q", source, realClock)
	}
	changed := filepath.Join(dir, clockSource)
	if err := os.WriteFile(changed, bytes.Replace(text, []byte(realClock), []byte(clockAhead), 1), 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o644)
}

func goTool(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, errs.String())
	}
	return string(out), nil
}
