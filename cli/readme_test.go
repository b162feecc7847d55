package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// setting is a row of the README's table of flags.
type setting struct{ Flag, Variable, Default string }

// flagRow is a row of that table: | `--flag` | `CARREL_FLAG` | `default` | what |
var flagRow = regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)` \\| `([A-Z0-9_]+)` \\| (?:`([^`]*)`)? *\\|")

func TestREADMETellsEveryFlagOfServe(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var told []setting
	for _, row := range flagRow.FindAllStringSubmatch(string(text), -1) {
		told = append(told, setting{row[1], row[2], row[3]})
	}
	app, err := kong.New(new(commandLine), kong.DefaultEnvars("CARREL"))
	if err != nil {
		t.Fatal(err)
	}
	var taken []setting
	for _, command := range app.Model.Leaves(false) {
		if command.Name != "serve" {
			continue
		}
		for _, f := range slices.Concat(command.AllFlags(false)...) {
			if f.Name != "help" {
				taken = append(taken, setting{f.Name, strings.Join(f.Envs, ","), f.Default})
			}
		}
	}
	byFlag := func(a, b setting) int { return strings.Compare(a.Flag, b.Flag) }
	slices.SortFunc(told, byFlag)
	slices.SortFunc(taken, byFlag)
	if diff := cmp.Diff(taken, told); diff != "" {
		t.Errorf("serve takes (-) and README.md tells (+):\n%s", diff)
	}
}
