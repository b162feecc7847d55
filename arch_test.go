package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The shape of the house (ARCHITECTURE.md), as far as a program can see it. The
// layers of the domain are in layers_test.go, smells inside the rooms in smells_test.go.

const module = "carrel"

// A source is a Go file of the project, in version control or about to be.
type source struct {
	path   string // from the root, with slashes
	room   string // the part of the project that it belongs to, see roomOf
	test   bool   // a test, or of a suite of tests that several packages run
	syntax *ast.File
	lines  int
}

// generated tells whether the file was written by a program.
func (s *source) generated() bool { return ast.IsGenerated(s.syntax) }

// imports are the paths that the file imports.
func (s *source) imports() []string {
	paths := make([]string, len(s.syntax.Imports))
	for i, spec := range s.syntax.Imports {
		paths[i], _ = strconv.Unquote(spec.Path.Value) // the parser has checked it
	}
	return paths
}

// roomOf names the room of a folder: "main" for the root, otherwise the first
// folder of its path. Each package below test/ is a room of its own, because
// what it may import depends on what it tests, and so is cassandra/session,
// which knows less than the store above it.
func roomOf(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	switch {
	case dir == ".":
		return "main"
	case dir == "cassandra/session":
		return dir
	case first == "test" && rest != "":
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}

// isTest tells whether the file is a test, or of a suite that tests of several
// packages run: a conformance suite beside its contract, or the oracle.
func isTest(name string) bool {
	dir := path.Dir(name)
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(dir, "test") || dir == "test/oracle"
}

// otherModules are folders with a go.mod of their own. They import nothing of the project, and
// nothing of the project imports them.
var otherModules = []string{"test/bench/peers/gqlgen"}

// house is the tree as it stands, read once for all tests of this package.
type house struct {
	files   []string // all that git would take, Go or not
	fset    *token.FileSet
	sources []*source
}

var readHouse = sync.OnceValues(func() (*house, error) {
	// Untracked files count too, unless they are ignored: what is not yet
	// committed is judged before it is.
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of the project with git: %w", err)
	}
	h := &house{fset: token.NewFileSet()}
	for name := range strings.SplitSeq(string(list), "\x00") {
		if _, err := os.Stat(name); name == "" || err != nil {
			continue // deleted, and not yet committed as deleted
		}
		h.files = append(h.files, name)
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") || under(name, otherModules) {
			continue // the go command does not look there either
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		syntax, err := parser.ParseFile(h.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		h.sources = append(h.sources, &source{
			path: name, room: roomOf(path.Dir(name)), test: isTest(name),
			syntax: syntax, lines: bytes.Count(text, []byte("\n")),
		})
	}
	return h, nil
})

func theHouse(t *testing.T) *house {
	t.Helper()
	h, err := readHouse()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// at is the place of a node, for a message.
func (h *house) at(n ast.Node) string { return h.fset.Position(n.Pos()).String() }

// domain are the rooms that hold rules. They import one another as layers says.
var domain = []string{"core", "principal", "library", "page", "paste", "lease"}

// mayImport says which rooms of the project each room may import, besides its
// own and the domain's. Nobody imports main.
var mayImport = map[string][]string{
	"main":              {"auth", "cli", "config", "demo", "edge", "gateway", "graph", "heap", "observe", "resolvers", "web"},
	"cli":               {"auth", "config", "gateway", "interchange", "observe", "progress"},
	"gateway":           {"backend", "cassandra", "cassandra/session", "config", "edge", "interchange", "observe", "pebblestore"},
	"backend":           {},
	"core":              {},
	"library":           {},
	"principal":         {},
	"lease":             {},
	"paste":             {},
	"page":              {},
	"pebblestore":       {"backend", "interchange"}, // interchange: archive
	"cassandra":         {"backend", "interchange", "cassandra/session"},
	"cassandra/session": {},
	"interchange":       {},
	"test/nemesis":      {"backend"},
	"config":            {"edge", "graph", "observe", "heap"},
	"progress":          {},
	"heap":              {},
	"answer":            {},
	"graph":             {"answer"},
	"auth":              {},
	"observe":           {"backend"},
	"dataloader":        {},
	"resolvers":         {"graph", "dataloader", "auth"},
	"edge":              {"answer", "graph", "auth", "dataloader", "observe"},
	"web":               {},
	"demo":              {"auth", "interchange", "web"},
	"test/simulator":    {"backend", "interchange"}, // interchange: archive
	"test/scenario":     {},
}

// anyRoom may import whatever it measures.
var anyRoom = []string{"test/bench"}

// standard says which rooms import nothing but the standard library, the
// packages named, and the domain. The suites of a contract are no part of it.
var standard = []string{"backend", "library", "library/feed", "library/repair", "lease", "page", "paste", "principal"}

// isStandard tells whether the package of a folder is one of them, or of core.
func isStandard(dir string) bool {
	return strings.HasPrefix(dir, "core/") || slices.Contains(standard, dir)
}

// coreOnly are the rooms that of the domain may import core alone.
var coreOnly = []string{"cassandra/session"}

var standardAlso = []string{"golang.org/x/net/idna", "golang.org/x/text/cases", "golang.org/x/text/language", "golang.org/x/text/unicode/norm"}

// libraries says which rooms may import a library, by the prefix of its path,
// outside tests. What is not listed may be imported by nobody: a new
// dependency is a decision (docs/adr), and gets its line here.
var libraries = []struct {
	prefix string
	rooms  []string
}{
	{"golang.org/x/net/idna", domain},
	{"golang.org/x/text/cases", domain},
	{"golang.org/x/text/language", domain},
	{"golang.org/x/text/unicode/norm", domain},
	{"github.com/cockroachdb/pebble/v2", []string{"pebblestore"}},
	// The bench measures the gateway beside a handler that uses the driver itself.
	{"github.com/gocql/gocql", []string{"cassandra", "cassandra/session", "test/bench"}},
	{"github.com/apache/cassandra-gocql-driver", []string{"cassandra"}},
	{"github.com/99designs/gqlgen", []string{"graph", "resolvers", "dataloader", "edge", "observe", "test/bench"}},
	{"github.com/vektah/gqlparser/v2", []string{"graph", "resolvers", "dataloader", "edge", "observe", "test/bench"}},
	{"github.com/lestrrat-go/jwx/v3", []string{"auth"}},
	{"github.com/alecthomas/kong", []string{"cli", "config"}},
	{"github.com/rs/cors", []string{"edge"}},
	{"github.com/coder/websocket", []string{"edge", "test/scenario", "test/bench"}},
	{"github.com/klauspost/compress/gzhttp", []string{"edge"}},
	{"golang.org/x/time/rate", []string{"edge", "observe"}},
	{"github.com/schollz/progressbar/v3", []string{"progress"}},
	{"github.com/prometheus/client_golang", []string{"observe"}},
	{"go.opentelemetry.io/otel", []string{"observe"}},
	{"go.opentelemetry.io/contrib/bridges/prometheus", []string{"observe"}},
	{"golang.org/x/net/http/httpguts", []string{"config"}},
}

// testing is what tests of every room may import besides, and what they may
// not: drivers stay in their rooms even there, but for Pebble's file systems,
// on which tests of other rooms open a store.
var forTests = []string{
	"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/anishathalye/porcupine",
	"github.com/cockroachdb/pebble/v2/vfs",
	// Files of deploy/.
	"github.com/goccy/go-yaml",
	// What a collector is sent.
	"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf/proto",
}

func TestImportsPointOneWay(t *testing.T) {
	h := theHouse(t)
	for _, s := range h.sources {
		if s.test || slices.Contains(anyRoom, s.room) {
			continue
		}
		allowed, known := mayImport[s.room]
		if !known {
			t.Errorf("%s: the room %q is not in the plan of the house (mayImport in arch_test.go)", s.path, s.room)
			continue
		}
		for _, imp := range s.imports() {
			rest, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			room := roomOf(rest)
			if slices.Contains(coreOnly, s.room) {
				if room != s.room && room != "core" {
					t.Errorf("%s imports %s: %s may import core alone", s.path, imp, s.room)
				}
				continue
			}
			if room != s.room && !slices.Contains(domain, room) && !slices.Contains(allowed, room) {
				t.Errorf("%s imports %s: %s may import the domain and %v", s.path, imp, s.room, allowed)
			}
		}
	}
}

// Package main starts the process and connects the layers. Whatever else grows
// there belongs into a package that can be imported and tested.
func TestMain_IsStartAndWiringAlone(t *testing.T) {
	var files []string
	for _, s := range theHouse(t).sources {
		if s.room == "main" && !s.test {
			files = append(files, s.path)
		}
	}
	slices.Sort(files)
	if want := []string{"main.go", "server.go"}; !slices.Equal(files, want) {
		t.Errorf("package main is made of %v, want %v", files, want)
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	h := theHouse(t)
	for _, s := range h.sources {
		for _, imp := range s.imports() {
			if !strings.Contains(strings.Split(imp, "/")[0], ".") || s.test && under(imp, forTests) {
				continue
			}
			if isStandard(path.Dir(s.path)) && !s.test && !slices.Contains(standardAlso, imp) {
				t.Errorf("%s imports %s: %s takes the standard library and %v only", s.path, imp, s.room, standardAlso)
			}
			rooms, known := roomsOf(imp)
			switch {
			case !known:
				t.Errorf("%s imports %s: a new dependency needs a reason in docs/adr and a line in arch_test.go", s.path, imp)
			case !slices.Contains(rooms, s.room) && !slices.Contains(rooms, path.Dir(s.path)):
				t.Errorf("%s imports %s, which belongs in %v", s.path, imp, rooms)
			}
		}
	}
}

// under tells whether the import path lies at or below one of the prefixes.
func under(imp string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return imp == p || strings.HasPrefix(imp, p+"/")
	})
}

func roomsOf(imp string) (rooms []string, known bool) {
	for _, l := range libraries {
		if under(imp, []string{l.prefix}) {
			return l.rooms, true
		}
	}
	return nil, false
}

// A folder says what is in it; these words do not.
var emptyWords = []string{"util", "utils", "helper", "helpers", "common", "misc", "model", "models", "shared", "lib", "pkg", "base"}

func TestFoldersAndPackagesSayWhatTheyAreFor(t *testing.T) {
	h := theHouse(t)
	documented := map[string]bool{}
	for _, s := range h.sources {
		documented[path.Dir(s.path)] = documented[path.Dir(s.path)] || s.syntax.Doc != nil
	}
	for _, name := range h.files {
		for word := range strings.SplitSeq(path.Dir(name), "/") {
			if slices.Contains(emptyWords, word) {
				t.Errorf("%s: a folder named %q says nothing about what is in it", name, word)
			}
		}
	}
	for dir, has := range documented {
		if !has {
			t.Errorf("%s: the package has no comment saying what it answers for and what it must not know", dir)
		}
	}
}

func TestGeneratedCodeIsOneFile(t *testing.T) {
	h := theHouse(t)
	for _, s := range h.sources {
		if s.generated() && s.path != "graph/generated.go" {
			t.Errorf("%s: graph/generated.go is the only generated file", s.path)
		}
	}
	for _, name := range h.files {
		if under(name, otherModules) && path.Base(path.Dir(name)) == "generated" {
			t.Errorf("%s: what is generated for another module is made when it is built", name)
		}
	}
	if slices.Contains(h.files, "graph/models_gen.go") {
		t.Error("graph/models_gen.go: gqlgen made up a type; bind it to one of the domain instead (gqlgen.yml)")
	}
}

// Files longer than this hide a second concept.
const maxFileLines = 450

// longFiles are the exceptions, with their reasons.
var longFiles = map[string]string{}

func TestFilesAreOfOneConcept(t *testing.T) {
	for _, s := range theHouse(t).sources {
		if s.lines > maxFileLines && !s.generated() && longFiles[s.path] == "" {
			t.Errorf("%s has %d lines, at most %d are readable as one concept", s.path, s.lines, maxFileLines)
		}
	}
	for name, reason := range longFiles {
		if _, err := os.Stat(name); err != nil || reason == "" {
			t.Errorf("longFiles names %s, which is gone or has no reason", name)
		}
	}
}

const maxFileBytes = 1 << 20

// machinePlaces are names of the place a file was made at. The pieces are
// joined here so that this file does not name them itself.
var machinePlaces = regexp.MustCompile(strings.Join([]string{
	`(^|[^\w./-])/(work|root|home/\w+|Users/\w+)/`,
	`registry\.` + `npmjs\.org`, `registry\.` + `yarnpkg\.com`, `proxy\.` + `golang\.org`, `sum\.` + `golang\.org`,
	`artifact` + `ory`, `\bnex` + `us[.:/]`,
}, "|"))

func TestFilesKnowNoMachine(t *testing.T) {
	for _, name := range theHouse(t).files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > maxFileBytes {
			t.Errorf("%s has %d bytes: large files are made by the build, not kept", name, len(text))
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // a picture
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if found := machinePlaces.Find(line); found != nil {
				t.Errorf("%s:%d names a machine's path or a registry: %q", name, n+1, found)
			}
			if path.Base(name) == lockFile && bytes.Contains(line, []byte(`"resolved"`)) {
				t.Errorf("%s:%d tells where a package came from; its integrity is enough (npm: omit-lockfile-registry-resolved)", name, n+1)
			}
		}
	}
}

// lockFile pins what npm installs.
const lockFile = "package-lock.json"

// TestPackagesArePinnedByContent: a version can be published anew, or come from
// somewhere else; what it holds cannot differ from its integrity.
func TestPackagesArePinnedByContent(t *testing.T) {
	locks := 0
	for _, name := range theHouse(t).files {
		if path.Base(name) != lockFile {
			continue
		}
		locks++
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var lock struct {
			Packages map[string]struct{ Integrity string }
		}
		if err := json.Unmarshal(text, &lock); err != nil {
			t.Fatal(err)
		}
		for at, p := range lock.Packages {
			if at != "" && p.Integrity == "" { // "" is the project itself
				t.Errorf("%s: %s has no integrity", name, at)
			}
		}
	}
	if locks != 5 {
		t.Errorf("%d lock files were looked at", locks)
	}
}
