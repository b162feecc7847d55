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

// block is a block of code of a page.
type block struct{ language, text string }

// fenced matches a block of code in Markdown.
var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// blocksOf returns the blocks of a text, in order.
func blocksOf(text string) (blocks []block) {
	for _, found := range fenced.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block{found[1], found[2]})
	}
	return blocks
}

// document returns a page of the documentation, by its path in the project.
func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// commandsAndAnswers returns the blocks of a text that run in a shell, and those that
// show their output.
func commandsAndAnswers(text string) (script, shown string) {
	for _, b := range blocksOf(text) {
		if b.language == "sh" {
			script += b.text
		} else {
			shown += b.text
		}
	}
	return script, shown
}

// TestREADME_QueryCanBePasted runs the query of the README against a gateway with the
// demo data, and compares the answer with the one shown.
func TestREADME_QueryCanBePasted(t *testing.T) {
	_, text, found := strings.Cut(document(t, "README.md"), "\n## One query")
	text, _, ended := strings.Cut(text, "\n## ")
	if !found || !ended {
		t.Fatal("README.md has no query")
	}
	script, shown := commandsAndAnswers(text)
	want := answersOf(t, shown)
	if len(want) != 1 || !strings.Contains(script, "http://127.0.0.1:8080/") {
		t.Fatalf("README.md shows %d answers to\n%s", len(want), script)
	}
	if !hasCurl(t) {
		return
	}
	g := serveDemo(t)
	command := exec.Command("bash", "-eu", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8080/", g.url+"/"))
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if diff := cmp.Diff(want, answersOf(t, string(out))); diff != "" {
		t.Errorf("README.md shows (-) and the gateway answers (+):\n%s\n%s", diff, out)
	}
}

// hasCurl reports whether the commands of a page can run. Without curl they do not, as .ci/test says;
// where everything has to run, the test fails.
func hasCurl(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("curl")
	if err == nil {
		return true
	}
	if os.Getenv("CI") == "true" {
		t.Error(err)
	} else {
		t.Log(err)
	}
	return false
}

// serveDemo starts a gateway with the data of `make run`.
func serveDemo(t *testing.T) *gateway {
	t.Helper()
	g := serveWith(t, "--rate-limit", "0")
	g.stop()
	if code, _, errs := g.run("import", demoData(t), "--store", g.store); code != 0 {
		t.Fatal(errs)
	}
	g.start()
	return g
}

// TestREADME_TourCanBePasted runs the commands of docs/tour.md as they are written, in
// each shell of this machine, and compares the answers with those shown, for any address
// and directory that `make run` was given.
func TestREADME_TourCanBePasted(t *testing.T) {
	script, shown := commandsAndAnswers(document(t, "docs/tour.md"))
	want := answersOf(t, shown)
	if len(want) < 10 {
		t.Fatalf("the tour shows %d answers", len(want))
	}
	if !hasCurl(t) {
		return
	}
	for _, shell := range []string{"sh", "bash", "dash", "zsh"} {
		path, err := exec.LookPath(shell)
		if err != nil && shell != "sh" && shell != "bash" { // both must be installed
			t.Logf("%s is not installed", shell)
			continue
		}
		t.Run(shell, func(t *testing.T) {
			g := serveDemo(t)
			command := exec.Command(path)
			command.Dir = checkout(t, g)
			command.Env = append(os.Environ(), "ADDR="+strings.TrimPrefix(g.url, "http://"), "DATA=elsewhere")
			command.Stdin = strings.NewReader(script)
			var errs strings.Builder
			command.Stderr = &errs
			out, err := command.Output()
			if err != nil || errs.Len() > 0 {
				t.Fatalf("%v: %s", err, errs.String())
			}
			t.Logf("%s", out)
			if diff := cmp.Diff(want, answersOf(t, string(out))); diff != "" {
				t.Errorf("docs/tour.md shows (-) and the gateway answers (+):\n%s\n%s", diff, out)
			}
		})
	}
}

// demoData returns a file with the data of `make run`.
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

// checkout returns a directory with the binary and the secret where the tour expects
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

// answersOf returns the JSON values of a text, without what differs from run to run and
// between versions of Go: numbers, and strings that are neither constants nor messages.
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

// constant matches a value of an enum, or a code.
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

// TestREADME_CommandsHaveNoComments checks the blocks that readers paste into a shell:
// zsh does not know comments there, and would pass the words after the hash as arguments.
func TestREADME_CommandsHaveNoComments(t *testing.T) {
	comment := regexp.MustCompile(`(^|\s)#`)
	shells := 0
	text := document(t, "README.md")
	for _, name := range []string{"CONTRIBUTING.md", "deploy/README.md", "docs/tour.md", "docs/configuration.md", "docs/authentication.md"} {
		text += "\n" + document(t, name)
	}
	for _, b := range blocksOf(text) {
		if b.language != "sh" {
			continue
		}
		shells++
		for line := range strings.Lines(b.text) {
			if comment.MatchString(line) {
				t.Errorf("a command has a comment: %s", line)
			}
		}
	}
	if shells < 12 {
		t.Errorf("the pages have %d blocks of commands", shells)
	}
}

// TestREADME_TourUsesTheDefaultsOfMake checks that the tour works with the default settings of
// `make run`.
func TestREADME_TourUsesTheDefaultsOfMake(t *testing.T) {
	b, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"ADDR", "DATA"} {
		value := regexp.MustCompile(`(?m)^` + variable + ` \?= (.*)$`).FindStringSubmatch(string(b))
		if value == nil || !strings.Contains(document(t, "docs/tour.md"), "${"+variable+":-"+value[1]+"}") {
			t.Errorf("%s is %q in the Makefile, and another in the tour", variable, value)
		}
	}
}
