package scenario

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// block is a block of code of the README.
type block struct{ language, text string }

// fenced is such a block.
var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// blocksOf are the blocks of text, in order.
func blocksOf(text string) (blocks []block) {
	for _, found := range fenced.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block{found[1], found[2]})
	}
	return blocks
}

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestREADME_TourCanBePasted: the tour's commands, run as they are written in
// each shell of this machine, get the answers that the README shows, whatever
// address and folder `make run` was given.
func TestREADME_TourCanBePasted(t *testing.T) {
	_, tour, found := strings.Cut(readme(t), "\n## A tour")
	tour, _, ended := strings.Cut(tour, "\n## ")
	if !found || !ended {
		t.Fatal("the README has no tour")
	}
	var script, shown strings.Builder
	for _, b := range blocksOf(tour) {
		if b.language == "sh" {
			script.WriteString(b.text)
		} else {
			shown.WriteString(b.text)
		}
	}
	want := answersOf(t, shown.String())
	if len(want) < 10 {
		t.Fatalf("the tour shows %d answers", len(want))
	}
	demo := demoData(t)
	for _, shell := range []string{"sh", "bash", "dash", "zsh"} {
		path, err := exec.LookPath(shell)
		if err != nil && shell != "sh" && shell != "bash" { // which make needs
			t.Logf("%s is not installed", shell)
			continue
		}
		t.Run(shell, func(t *testing.T) {
			g := serveWith(t, "--rate-limit", "0")
			g.stop()
			if code, _, errs := g.run("import", demo, "--store", g.store); code != 0 {
				t.Fatal(errs)
			}
			g.start()
			command := exec.Command(path)
			command.Dir = checkout(t, g)
			command.Env = append(os.Environ(), "ADDR="+strings.TrimPrefix(g.url, "http://"), "DATA=elsewhere")
			command.Stdin = strings.NewReader(script.String())
			var errs strings.Builder
			command.Stderr = &errs
			out, err := command.Output()
			if err != nil || errs.Len() > 0 {
				t.Fatalf("%v: %s", err, errs.String())
			}
			t.Logf("%s", out)
			if diff := cmp.Diff(want, answersOf(t, string(out))); diff != "" {
				t.Errorf("the README shows (-) and the gateway answers (+):\n%s\n%s", diff, out)
			}
		})
	}
}

// demoData is a file with the data of `make run`.
func demoData(t *testing.T) string {
	t.Helper()
	lines, err := exec.Command("go", "run", "carrel/demo/generate").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkout is a folder with the binary and the secret where the tour looks for
// them.
func checkout(t *testing.T, g *gateway) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "bin"), 0o700), os.Symlink(product.path, filepath.Join(dir, "bin", "carrel")),
		os.Mkdir(filepath.Join(dir, "elsewhere"), 0o700), os.Symlink(g.secretFile(), filepath.Join(dir, "elsewhere", "secret")),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answersOf are the JSON values of a text, with what differs from run to run,
// and between versions of Go, left out: numbers, and strings that are neither
// constants nor messages.
func answersOf(t *testing.T, text string) (answers []any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var answer any
		err := decoder.Decode(&answer)
		if errors.Is(err, io.EOF) {
			return answers
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		answers = append(answers, shapeOf(answer))
	}
}

// constant is a value of an enum, or a code.
var constant = regexp.MustCompile(`^[A-Z_]+$`)

func shapeOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if name != "message" {
				v[name] = shapeOf(member)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = shapeOf(item)
		}
	case float64:
		return "a number"
	case string:
		if !constant.MatchString(v) {
			return "a string"
		}
	}
	return v
}

// TestREADME_CommandsHaveNoComments: zsh does not know comments in what is pasted
// and would run the words after the hash as arguments.
func TestREADME_CommandsHaveNoComments(t *testing.T) {
	comment := regexp.MustCompile(`(^|\s)#`)
	shells := 0
	for _, b := range blocksOf(readme(t)) {
		if b.language != "sh" {
			continue
		}
		shells++
		for line := range strings.Lines(b.text) {
			if comment.MatchString(line) {
				t.Errorf("a comment: %s", line)
			}
		}
	}
	if shells < 5 {
		t.Errorf("the README has %d blocks of commands", shells)
	}
}

// TestREADME_TourTakesTheDefaultsOfMake: who gives `make run` nothing has to set
// nothing.
func TestREADME_TourTakesTheDefaultsOfMake(t *testing.T) {
	b, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"ADDR", "DATA"} {
		value := regexp.MustCompile(`(?m)^` + variable + ` \?= (.*)$`).FindStringSubmatch(string(b))
		if value == nil || !strings.Contains(readme(t), "${"+variable+":-"+value[1]+"}") {
			t.Errorf("%s is %q in the Makefile, and another in the tour", variable, value)
		}
	}
}
