package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/config"
)

// setting is a row of the table of flags in docs/configuration.md.
type setting struct{ Flag, Variable, Default string }

// flagRow is a row of that table: | `--flag` | `CARREL_FLAG` | `default` | what |
var flagRow = regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)` \\| `([A-Z0-9_]+)` \\| (?:`([^`]*)`)? *\\|")

// commandRow is a row of the table of commands: | `carrel command ...` | what |
var commandRow = regexp.MustCompile("(?m)^\\| `carrel ([a-z]+)[^`]*` \\|")

// configurationPage returns docs/configuration.md.
func configurationPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConfigurationPage_HasEveryCommand(t *testing.T) {
	var documented, exist []string
	for _, row := range commandRow.FindAllStringSubmatch(configurationPage(t), -1) {
		documented = append(documented, row[1])
	}
	for _, command := range newRoot(Streams{io.Discard, io.Discard}, nil).Commands() {
		if !command.Hidden {
			exist = append(exist, command.Name())
		}
	}
	slices.Sort(documented)
	slices.Sort(exist)
	if diff := cmp.Diff(exist, documented); diff != "" {
		t.Errorf("the binary has (-) and docs/configuration.md has (+):\n%s", diff)
	}
}

// TestImportPage_ExampleIsImported: a reader copies the lines of docs/import.md into a file.
func TestImportPage_ExampleIsImported(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	lines, _, _ := strings.Cut(rest, "```")
	code, out, errs := command(t, "import", file(t, "lines.jsonl", lines), "--store", "pebble:"+filepath.Join(t.TempDir(), "store"))
	if want := fmt.Sprintf("%d lines: ", strings.Count(lines, "\n")); code != ExitDone || !strings.HasPrefix(out, want) || len(lines) < 2000 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

func TestConfigurationPage_HasEveryFlagOfServe(t *testing.T) {
	var documented []setting
	for _, row := range flagRow.FindAllStringSubmatch(configurationPage(t), -1) {
		documented = append(documented, setting{row[1], row[2], row[3]})
	}
	serve, _, err := newRoot(Streams{io.Discard, io.Discard}, nil).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	serve.InheritedFlags() // adds --config to its flags
	var taken []setting
	for _, f := range config.Settings(serve.Flags()) {
		taken = append(taken, setting{f.Name, "CARREL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")), f.DefValue})
	}
	byFlag := func(a, b setting) int { return strings.Compare(a.Flag, b.Flag) }
	slices.SortFunc(documented, byFlag)
	slices.SortFunc(taken, byFlag)
	if diff := cmp.Diff(taken, documented); diff != "" {
		t.Errorf("serve takes (-) and docs/configuration.md has (+):\n%s", diff)
	}
}
