package ablations

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// added is the directory of the files that the overlay adds, below that of this package.
const added = "test/simulator/ablations/testdata/added"

// Variable is the environment variable that names the rule that is off.
const Variable = "CARREL_ABLATION"

// Overlay applies all patches to copies of the sources below root, in dir, and returns the
// file to pass to the go command with -overlay. It fails if a patch does not match its
// source exactly once.
func Overlay(root, dir string) (string, error) {
	sources := map[string]string{} // patched, by their paths below root
	for _, a := range All {
		for _, p := range a.Patches {
			source, known := sources[p.File]
			if !known {
				text, err := os.ReadFile(filepath.Join(root, p.File))
				if err != nil {
					return "", fmt.Errorf("the ablation %s: %w", a.Name, err)
				}
				source = string(text)
			}
			if n := strings.Count(source, p.Old); n != 1 {
				return "", fmt.Errorf("the ablation %s does not apply: %s has %d times, and should have once:\n%s", a.Name, p.File, n, p.Old)
			}
			sources[p.File] = strings.Replace(source, p.Old, p.New, 1)
		}
	}
	if err := addFiles(root, sources); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range sources {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		replace[original] = copied
	}
	text, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// addFiles adds the files that patches call to sources.
func addFiles(root string, sources map[string]string) error {
	from := filepath.Join(root, filepath.FromSlash(added))
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		sources[filepath.ToSlash(below)] = string(text)
		return nil
	})
}
