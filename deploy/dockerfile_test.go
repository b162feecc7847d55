// Package deploy tests the files for running the gateway in production: the Dockerfile,
// the Compose files, the Kubernetes file and the release. It needs no container engine.
package deploy

import (
	"encoding/json"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the directory of the project, relative to this package.
const root = ".."

// instruction is an instruction of a Dockerfile: its name, its flags such as --from=web,
// and its text.
type instruction struct {
	name  string
	flags map[string]string
	text  string
}

// words returns the words of the text.
func (i instruction) words() []string { return strings.Fields(i.text) }

// list returns the text as a JSON list of strings, the form that needs no shell.
func (i instruction) list(t *testing.T) (words []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(i.text), &words); err != nil {
		t.Fatalf("%s %s: %v; the image has no shell, so it must be a list", i.name, i.text, err)
	}
	return words
}

// stage is a FROM of a Dockerfile, with its instructions.
type stage struct {
	base, name   string
	instructions []instruction
}

// all returns the instructions with a name.
func (s *stage) all(name string) (found []instruction) {
	for _, i := range s.instructions {
		if i.name == name {
			found = append(found, i)
		}
	}
	return found
}

// one returns the only instruction with a name.
func (s *stage) one(t *testing.T, name string) instruction {
	t.Helper()
	found := s.all(name)
	if len(found) != 1 {
		t.Fatalf("the stage from %s has %d of %s, want 1", s.base, len(found), name)
	}
	return found[0]
}

// environment returns the variables of the ENV instructions.
func (s *stage) environment() map[string]string {
	variables := map[string]string{}
	for _, i := range s.all("ENV") {
		for _, word := range i.words() {
			name, value, _ := strings.Cut(word, "=")
			variables[name] = value
		}
	}
	return variables
}

// dockerfile reads the project's Dockerfile.
func dockerfile(t *testing.T) (stages []*stage) {
	t.Helper()
	text := read(t, "Dockerfile")
	text = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		i := instruction{name: words[0], flags: map[string]string{}}
		rest := words[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "--") {
			name, value, _ := strings.Cut(strings.TrimPrefix(rest[0], "--"), "=")
			i.flags[name], rest = value, rest[1:]
		}
		i.text = strings.Join(rest, " ")
		if i.name != "FROM" {
			last := stages[len(stages)-1]
			last.instructions = append(last.instructions, i)
			continue
		}
		s := &stage{base: rest[0]}
		if len(rest) == 3 && rest[1] == "AS" {
			s.name = rest[2]
		}
		stages = append(stages, s)
	}
	if len(stages) < 2 {
		t.Fatalf("the Dockerfile has %d stages", len(stages))
	}
	return stages
}

// final returns the stage that becomes the image.
func final(t *testing.T) *stage {
	t.Helper()
	stages := dockerfile(t)
	return stages[len(stages)-1]
}

// read returns the content of a file of the project.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDockerfile_FinalStageIsOneBinaryOfAnOrdinaryUser checks that the image has no
// shell, no package manager and no root user, and that it has a health check.
func TestDockerfile_FinalStageIsOneBinaryOfAnOrdinaryUser(t *testing.T) {
	image := final(t)
	if image.base != "scratch" {
		t.Errorf("the image is based on %s", image.base)
	}
	if len(image.all("RUN")) > 0 {
		t.Error("RUN needs a shell, which scratch does not have")
	}
	if user := image.one(t, "USER").text; !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER %s: Kubernetes needs a number to check that the user is not root", user)
	}
	entry := image.one(t, "ENTRYPOINT").list(t)
	_, check, isCommand := strings.Cut(image.one(t, "HEALTHCHECK").text, "CMD ")
	health := instruction{name: "HEALTHCHECK", text: check}.list(t)
	if !isCommand || !slices.Equal(health, append(slices.Clone(entry), "health")) {
		t.Errorf("the entry is %q and the health check %q", entry, health)
	}
	if got := image.one(t, "CMD").list(t); !slices.Equal(got, []string{"serve"}) {
		t.Errorf("the image runs %q", got)
	}
}

// TestDockerfile_BuildsWithTheVersionsOfTheProject compares the images of its stages
// with go.mod and package.json. They are pinned to a patch version.
func TestDockerfile_BuildsWithTheVersionsOfTheProject(t *testing.T) {
	gomod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	engine := regexp.MustCompile(`"node": ">=(\d+)`).FindStringSubmatch(read(t, "web/package.json"))
	if gomod == nil || engine == nil {
		t.Fatal("go.mod or web/package.json has no version")
	}
	var bases []string
	for _, s := range dockerfile(t) {
		bases = append(bases, s.base)
	}
	want := `^node:` + engine[1] + `\.\d+\.\d+-bookworm-slim golang:` + regexp.QuoteMeta(gomod[1]) + `\.\d+-bookworm scratch$`
	if !regexp.MustCompile(want).MatchString(strings.Join(bases, " ")) {
		t.Errorf("the stages are based on %q, want %s", bases, want)
	}
}
