package simulator

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"carrel/test/simulator/ablations"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

// TestOverlay_NamesTheAblationThatDoesNotApply: each patch must match once. An author who moves
// or repeats a patched line learns which ablation breaks.
func TestOverlay_NamesTheAblationThatDoesNotApply(t *testing.T) {
	last := ablations.All[len(ablations.All)-1]
	patch := last.Patches[0]
	for name, edit := range map[string]func(text string) string{
		"the line is gone":     func(text string) string { return strings.Replace(text, patch.Old, "", 1) },
		"the line is repeated": func(text string) string { return strings.Replace(text, patch.Old, patch.Old+patch.Old, 1) },
		"as it is":             nil,
	} {
		t.Run(name, func(t *testing.T) {
			copied := copyOfSources(t)
			if edit == nil {
				if _, err := ablations.Overlay(copied, t.TempDir()); err != nil {
					t.Error(err)
				}
				return
			}
			file := filepath.Join(copied, patch.File)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(edit(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = ablations.Overlay(copied, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), last.Name) || !strings.Contains(err.Error(), patch.File) {
				t.Errorf("the patch applies, or the error does not say which one to fix: %v", err)
			}
		})
	}
}

// copyOfSources copies what Overlay reads, and returns the root of the copy.
func copyOfSources(t *testing.T) string {
	t.Helper()
	copied := t.TempDir()
	for _, a := range ablations.All {
		for _, p := range a.Patches {
			text, err := os.ReadFile(filepath.Join(root, p.File))
			if err == nil {
				err = os.MkdirAll(filepath.Dir(filepath.Join(copied, p.File)), 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(copied, p.File), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	added := filepath.Join("test", "simulator", "ablations", "testdata", "added")
	if err := os.CopyFS(filepath.Join(copied, added), os.DirFS(filepath.Join(root, added))); err != nil {
		t.Fatal(err)
	}
	return copied
}

var ruleRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([a-z-]+)` \\| [^|]+ \\|$")

// TestAblations_AreInTheDocumentation: the documents of the protocols describe for each
// ablation which rule it breaks, and what goes wrong then.
func TestAblations_AreInTheDocumentation(t *testing.T) {
	var documented, names []string
	for _, document := range []string{"write-protocol.md", "unique-names.md", "pastes.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", document))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range ruleRow.FindAllStringSubmatch(string(text), -1) {
			documented = append(documented, row[1])
		}
	}
	for _, a := range ablations.All {
		names = append(names, a.Name)
	}
	slices.Sort(documented)
	slices.Sort(names)
	if !slices.Equal(documented, names) {
		t.Errorf("docs/write-protocol.md, docs/unique-names.md and docs/pastes.md have the ablations\n%q\nand there are\n%q", documented, names)
	}
}
