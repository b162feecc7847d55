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

// binaries are the paths of the product as it is, and of the product with a clock that is 2 s ahead,
// which uses copies of headers soon after its start.
type binaries struct{ plain, ahead string }

// replacement is a statement of the product that the second binary has in another form. The product
// has no option for it.
type replacement struct{ pkg, file, stmt, by string }

var replacements = [...]replacement{
	{"carrel/core/sched", "real.go", "func (r *Real) Now() time.Time { return time.Now().Round(0) }",
		"func (r *Real) Now() time.Time { return time.Now().Round(0).Add(2 * time.Second) }"},
	{"carrel/headercache", "pays.go", "window = 1000", "window = 50"},
}

// build builds both binaries into a directory.
func build(dir string) (binaries, error) {
	b := binaries{filepath.Join(dir, "carrel"), filepath.Join(dir, "carrel-ahead")}
	overlay, err := writeOverlay(dir)
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

// writeOverlay writes the changed source files, and the overlay file with which the go command
// reads them in place of the originals.
func writeOverlay(dir string) (string, error) {
	changed := map[string]string{}
	for _, r := range replacements {
		folder, err := goTool("list", "-f", "{{.Dir}}", r.pkg)
		if err != nil {
			return "", err
		}
		source := filepath.Join(strings.TrimSpace(folder), r.file)
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		if bytes.Count(text, []byte(r.stmt)) != 1 {
			return "", fmt.Errorf("%s does not contain %q once", source, r.stmt)
		}
		changed[source] = filepath.Join(dir, r.file)
		if err := os.WriteFile(changed[source], bytes.Replace(text, []byte(r.stmt), []byte(r.by), 1), 0o644); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": changed})
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
