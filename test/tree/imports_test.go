package tree

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

// The structure of the project (ARCHITECTURE.md), as far as a program can check it. The layers of
// the domain are in layers_test.go, code smells in smells_test.go.

const module = "carrel"

// A source is a Go file of the project, including files that are not committed yet.
type source struct {
	path      string // from the root, with slashes
	component string // the component that it belongs to, see componentOf
	test      bool   // a test, or part of a test suite that several packages run
	syntax    *ast.File
	lines     int
}

// generated reports whether the file was generated.
func (s *source) generated() bool { return ast.IsGenerated(s.syntax) }

// imports returns the import paths of the file.
func (s *source) imports() []string {
	paths := make([]string, len(s.syntax.Imports))
	for i, spec := range s.syntax.Imports {
		paths[i], _ = strconv.Unquote(spec.Path.Value) // the parser has checked it
	}
	return paths
}

// componentOf returns the component of a folder: "main" for the root, otherwise the first folder of
// its path. Each package below test/ is a component of its own, because its imports depend on what
// it tests, and so is cassandra/session, which may import less than the store above it.
func componentOf(dir string) string {
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

// isTest reports whether the file is a test, or part of a suite that tests of several packages run:
// a conformance suite next to its contract, or the oracle.
func isTest(name string) bool {
	dir := path.Dir(name)
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(dir, "test") || dir == "test/oracle"
}

// otherModules are folders with their own go.mod. They import nothing of the project, and nothing
// of the project imports them.
var otherModules = []string{"test/bench/peers/gqlgen"}

// tree is the source tree, read once for all tests of this package.
type tree struct {
	files   []string // all files that git would commit, Go or not
	fset    *token.FileSet
	sources []*source
}

var readTree = sync.OnceValues(func() (*tree, error) {
	// Untracked files count too, unless they are ignored, so that files are checked before they are
	// committed.
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of the project with git: %w", err)
	}
	h := &tree{fset: token.NewFileSet()}
	for name := range strings.SplitSeq(string(list), "\x00") {
		if _, err := os.Stat(name); name == "" || err != nil {
			continue // deleted, and the deletion is not committed yet
		}
		h.files = append(h.files, name)
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") || under(name, otherModules) {
			continue // the go command ignores it too
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
			path: name, component: componentOf(path.Dir(name)), test: isTest(name),
			syntax: syntax, lines: bytes.Count(text, []byte("\n")),
		})
	}
	return h, nil
})

func projectTree(t *testing.T) *tree {
	t.Helper()
	h, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// at returns the position of a node, for messages.
func (h *tree) at(n ast.Node) string { return h.fset.Position(n.Pos()).String() }

// domain are the components that contain business rules. They import one another as layers permits.
var domain = []string{"core", "exchange", "headercache", "principal", "library", "note", "paste", "lease", "repair"}

// mayImport lists the components that each component may import in addition to its own packages and
// the domain's. No component imports main.
var mayImport = map[string][]string{
	"main":              {"auth", "cli", "config", "demo", "edge", "gateway", "graph", "heap", "observe", "resolvers", "web"},
	"cli":               {"auth", "config", "gateway", "interchange", "observe", "progress"},
	"gateway":           {"domain", "cassandra", "cassandra/session", "config", "edge", "interchange", "observe", "pebblestore"},
	"domain":            {},
	"core":              {},
	"library":           {},
	"headercache":       {},
	"principal":         {},
	"lease":             {},
	"paste":             {},
	"note":              {},
	"exchange":          {},
	"repair":            {},
	"storetest":         {},
	"pebblestore":       {"domain", "heap", "interchange"}, // interchange: archive
	"cassandra":         {"domain", "interchange", "cassandra/session"},
	"cassandra/session": {},
	"interchange":       {},
	"test/nemesis":      {},
	"config":            {"edge", "graph", "observe", "heap"},
	"progress":          {},
	"heap":              {},
	"answer":            {"budget"},
	"budget":            {},
	"graph":             {"answer", "dataloader"},
	"auth":              {},
	"observe":           {},
	"dataloader":        {},
	"resolvers":         {"graph", "dataloader"},
	"edge":              {"answer", "budget", "graph", "auth", "observe"},
	"web":               {},
	"demo":              {"auth", "interchange", "web"},
	"test/simulator":    {"domain", "interchange"}, // interchange: archive
	"test/scenario":     {},
	"test/tree":         {},
}

// unrestricted may import whatever it measures.
var unrestricted = []string{"test/bench"}

// standard lists the packages that may import only the standard library, alsoAllowed and the
// domain. The conformance suites of a contract are exempt.
var standard = []string{"domain", "headercache", "library", "exchange", "library/follow", "library/listing", "repair",
	"lease", "note", "paste", "principal"}

// isStandard reports whether the package of a folder is listed in standard or belongs to core.
func isStandard(dir string) bool {
	return strings.HasPrefix(dir, "core/") || slices.Contains(standard, dir)
}

// coreOnly are the components that may import only core of the domain.
var coreOnly = []string{"cassandra/session"}

// alsoAllowed lists the libraries that the packages of standard may import.
var alsoAllowed = []string{
	"github.com/hashicorp/golang-lru/v2/simplelru",
	"golang.org/x/net/idna", "golang.org/x/text/cases", "golang.org/x/text/collate",
	"golang.org/x/text/language", "golang.org/x/text/unicode/norm",
}

// libraries lists which components may import a library, by the prefix of its path, outside tests.
// Unlisted libraries may not be imported: a new dependency is a decision (docs/adr), and gets its
// line here.
var libraries = []struct {
	prefix     string
	components []string
}{
	{"golang.org/x/net/idna", domain},
	{"golang.org/x/text/cases", domain},
	{"golang.org/x/text/language", domain},
	{"golang.org/x/text/collate", []string{"core/collation"}},
	{"golang.org/x/text/unicode/norm", domain},
	{"github.com/cockroachdb/pebble/v2", []string{"pebblestore"}},
	// The bench compares the gateway with a handler that uses the driver itself.
	{"github.com/gocql/gocql", []string{"cassandra", "cassandra/session", "test/bench"}},
	{"github.com/99designs/gqlgen", []string{"graph", "resolvers", "edge"}},
	{"github.com/vektah/gqlparser/v2", []string{"graph", "resolvers", "edge", "test/bench"}},
	{"github.com/lestrrat-go/jwx/v3", []string{"auth"}},
	{"github.com/spf13/cobra", []string{"cli"}},
	{"github.com/spf13/pflag", []string{"cli", "config"}},
	{"github.com/rs/cors", []string{"edge"}},
	{"github.com/coder/websocket", []string{"edge", "main", "test/scenario"}},
	{"github.com/klauspost/compress/gzip", []string{"edge"}},
	{"github.com/hashicorp/golang-lru/v2/simplelru", []string{"core/lru"}},
	{"github.com/KimMachineGun/automemlimit/memlimit", []string{"heap"}},
	{"golang.org/x/sync/errgroup", []string{"cassandra/session"}},
	{"golang.org/x/time/rate", []string{"edge", "observe"}},
	{"github.com/schollz/progressbar/v3", []string{"progress"}},
	{"github.com/prometheus/client_golang", []string{"observe"}},
	{"go.opentelemetry.io/otel", []string{"observe"}},
	{"go.opentelemetry.io/contrib/bridges/prometheus", []string{"observe"}},
	{"golang.org/x/net/http/httpguts", []string{"config"}},
}

// forTests lists libraries that tests of every component may import in addition. Drivers stay in
// their components even in tests, except Pebble's file systems, on which tests elsewhere open a
// store.
var forTests = []string{
	"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/anishathalye/porcupine",
	"github.com/cockroachdb/pebble/v2/vfs",
	// For files of deploy/.
	"github.com/goccy/go-yaml",
	// For data sent to a collector.
	"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf/proto",
}

func TestImports_PointInOneDirection(t *testing.T) {
	h := projectTree(t)
	for _, s := range h.sources {
		if s.test || slices.Contains(unrestricted, s.component) {
			continue
		}
		allowed, known := mayImport[s.component]
		if !known {
			t.Errorf("%s: the component %q is missing from mayImport in imports_test.go", s.path, s.component)
			continue
		}
		for _, imp := range s.imports() {
			rest, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			component := componentOf(rest)
			if slices.Contains(coreOnly, s.component) {
				if component != s.component && component != "core" {
					t.Errorf("%s imports %s: %s may import only core of the domain", s.path, imp, s.component)
				}
				continue
			}
			if component != s.component && !slices.Contains(domain, component) && !slices.Contains(allowed, component) {
				t.Errorf("%s imports %s: %s may import the domain and %v", s.path, imp, s.component, allowed)
			}
		}
	}
}

// TestMain_OnlyStartsAndConnectsLayers: package main starts the process and connects the layers.
// Everything else belongs in a package that can be imported and tested.
func TestMain_OnlyStartsAndConnectsLayers(t *testing.T) {
	var files []string
	for _, s := range projectTree(t).sources {
		if s.component == "main" && !s.test {
			files = append(files, s.path)
		}
	}
	slices.Sort(files)
	if want := []string{"main.go", "server.go"}; !slices.Equal(files, want) {
		t.Errorf("package main consists of %v, want %v", files, want)
	}
}

func TestDependencies_AreImportedByTheirComponentOnly(t *testing.T) {
	h := projectTree(t)
	for _, s := range h.sources {
		for _, imp := range s.imports() {
			if !strings.Contains(strings.Split(imp, "/")[0], ".") || s.test && under(imp, forTests) {
				continue
			}
			if isStandard(path.Dir(s.path)) && !s.test && !slices.Contains(alsoAllowed, imp) {
				t.Errorf("%s imports %s: %s may import only the standard library and %v", s.path, imp, s.component, alsoAllowed)
			}
			components, known := componentsOf(imp)
			switch {
			case !known:
				t.Errorf("%s imports %s: a new dependency needs a reason in docs/adr and a line in imports_test.go", s.path, imp)
			case !slices.Contains(components, s.component) && !slices.Contains(components, path.Dir(s.path)):
				t.Errorf("%s imports %s, which belongs in %v", s.path, imp, components)
			}
		}
	}
}

// under reports whether the import path is one of the prefixes or below one.
func under(imp string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return imp == p || strings.HasPrefix(imp, p+"/")
	})
}

func componentsOf(imp string) (components []string, known bool) {
	for _, l := range libraries {
		if under(imp, []string{l.prefix}) {
			return l.components, true
		}
	}
	return nil, false
}

// A folder name says what the folder contains; these words do not.
var emptyWords = []string{"util", "utils", "helper", "helpers", "common", "misc", "model", "models", "shared", "lib", "pkg", "base"}

func TestPackages_HaveACommentAndASpecificName(t *testing.T) {
	h := projectTree(t)
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
			t.Errorf("%s: the package needs a comment that says what it is responsible for and what it must not know", dir)
		}
	}
}

func TestGeneratedCode_IsInGraph(t *testing.T) {
	h := projectTree(t)
	for _, s := range h.sources {
		if s.generated() && s.path != "graph/generated.go" && s.path != "graph/models_gen.go" {
			t.Errorf("%s: graph/generated.go and graph/models_gen.go are the only generated files", s.path)
		}
	}
	for _, name := range h.files {
		if under(name, otherModules) && path.Base(path.Dir(name)) == "generated" {
			t.Errorf("%s: code for another module is generated when it is built", name)
		}
	}
}

// Longer files contain a second concept.
const maxFileLines = 450

// longFiles are the exceptions, with their reasons.
var longFiles = map[string]string{}

func TestFiles_HaveOneConcept(t *testing.T) {
	for _, s := range projectTree(t).sources {
		if s.lines > maxFileLines && !s.generated() && longFiles[s.path] == "" {
			t.Errorf("%s has %d lines, more than the %d that are readable as one concept", s.path, s.lines, maxFileLines)
		}
	}
	for name, reason := range longFiles {
		if _, err := os.Stat(name); err != nil || reason == "" {
			t.Errorf("longFiles names %s, which is gone or has no reason", name)
		}
	}
}

// maxFileBytes leaves room for graph/generated.go, which grows with the schema.
const maxFileBytes = 1_200_000

// machineNames matches names of the machine on which a file was made. The pieces are joined here so
// that this file does not match.
var machineNames = regexp.MustCompile(strings.Join([]string{
	`(^|[^\w./-])/(work|root|home/\w+|Users/\w+)/`,
	`registry\.` + `npmjs\.org`, `registry\.` + `yarnpkg\.com`, `proxy\.` + `golang\.org`, `sum\.` + `golang\.org`,
	`artifact` + `ory`, `\bnex` + `us[.:/]`,
}, "|"))

func TestFiles_ContainNoMachinePaths(t *testing.T) {
	for _, name := range projectTree(t).files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > maxFileBytes {
			t.Errorf("%s has %d bytes: large files are generated by the build, not committed", name, len(text))
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // an image
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if found := machineNames.Find(line); found != nil {
				t.Errorf("%s:%d contains a machine's path or a registry: %q", name, n+1, found)
			}
			if path.Base(name) == lockFile && bytes.Contains(line, []byte(`"resolved"`)) && !bytes.Contains(line, []byte(`"resolved": "../`)) {
				t.Errorf("%s:%d contains the source of a package; its integrity is enough (npm: omit-lockfile-registry-resolved)", name, n+1)
			}
		}
	}
}

// lockFile pins the packages that npm installs.
const lockFile = "package-lock.json"

// TestNpmPackages_ArePinnedByIntegrity: a version can be published again, or come from another
// source, but its integrity fixes its content.
func TestNpmPackages_ArePinnedByIntegrity(t *testing.T) {
	locks := 0
	for _, name := range projectTree(t).files {
		if path.Base(name) != lockFile {
			continue
		}
		locks++
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var lock struct {
			Packages map[string]struct {
				Integrity string
				Link      bool
			}
		}
		if err := json.Unmarshal(text, &lock); err != nil {
			t.Fatal(err)
		}
		for at, p := range lock.Packages {
			isOurs := at == "" || strings.HasPrefix(at, "../") || p.Link
			if !isOurs && p.Integrity == "" {
				t.Errorf("%s: %s has no integrity", name, at)
			}
		}
	}
	if locks != 5 {
		t.Errorf("%d lock files were checked", locks)
	}
}
