package tree

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layers are the packages of the domain, lowest first. Each imports only packages of lower layers.
var layers = [][]string{
	{"core/collation", "core/fault", "core/lru", "core/naming", "core/urlname"},
	{"core/clock", "core/id", "core/input", "core/sched"},
	{"core/claim", "core/commit"},
	{"core/cursor", "core/journal"},
	{"core/feed"},
	{"principal"},
	{"library", "lease", "paste"},
	{"headercache", "exchange", "library/listing"},
	{"library/follow", "note"},
	{"repair"},
}

// layerOf returns the layer of a package, or -1 outside the domain.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, dir) })
}

func TestDomain_IsLayered(t *testing.T) {
	for _, s := range projectTree(t).sources {
		dir := path.Dir(s.path)
		if s.test || !slices.Contains(domain, s.component) {
			continue
		}
		layer := layerOf(dir)
		if layer < 0 {
			t.Errorf("%s: the package %q is in no layer of the domain (layers in layers_test.go)", s.path, dir)
			continue
		}
		for _, imp := range s.imports() {
			if rest, ours := strings.CutPrefix(imp, module+"/"); ours && layerOf(rest) >= layer {
				t.Errorf("%s imports %s, which is not in a lower layer", s.path, imp)
			}
		}
	}
}

// TestComponents_HaveNoCycles: the compiler only refuses cycles of packages, and a component may
// have several.
func TestComponents_HaveNoCycles(t *testing.T) {
	h := projectTree(t)
	uses := map[string]map[string]bool{}
	for _, s := range h.sources {
		for _, imp := range s.imports() {
			rest, ours := strings.CutPrefix(imp, module+"/")
			component := componentOf(rest)
			if s.test || !ours || component == s.component {
				continue
			}
			if uses[s.component] == nil {
				uses[s.component] = map[string]bool{}
			}
			uses[s.component][component] = true
		}
	}
	reported := map[string]bool{}
	var walk func(component string, above []string)
	walk = func(component string, above []string) {
		if i := slices.Index(above, component); i >= 0 {
			cycle := strings.Join(append(above[i:], component), " -> ")
			if component == slices.Min(above[i:]) && !reported[cycle] { // each cycle is reported once
				reported[cycle] = true
				t.Errorf("components import one another: %s", cycle)
			}
			return
		}
		for next := range uses[component] {
			walk(next, append(slices.Clone(above), component))
		}
	}
	for component := range uses {
		walk(component, nil)
	}
}

// testSupport are folders whose packages are not tests, but are for tests and for developers.
var testSupport = []string{"cassandra/cluster"}

// TestTestSupport_IsImportedByTestsOnly: packages that support tests are not linked into the
// product.
func TestTestSupport_IsImportedByTestsOnly(t *testing.T) {
	for _, s := range projectTree(t).sources {
		if s.test || strings.HasPrefix(s.path, "test/") || slices.Contains(testSupport, path.Dir(s.path)) {
			continue
		}
		for _, imp := range s.imports() {
			rest, ours := strings.CutPrefix(imp, module+"/")
			if ours && (isTest(path.Join(rest, "x.go")) || strings.HasPrefix(rest, "test/")) {
				t.Errorf("%s imports %s, which is for tests", s.path, imp)
			}
		}
	}
}

// maxPackageLines is the most lines that a package has without its tests. A larger one contains a
// second concept. Generated code, and packages that exist for tests (conformance suites and test/),
// do not count: they contain the cases of many concepts.
const maxPackageLines = 6_200

func TestPackages_AreOfOneConcept(t *testing.T) {
	lines := map[string]int{}
	for _, s := range projectTree(t).sources {
		if !s.test && !s.generated() && !strings.HasPrefix(s.path, "test/") {
			lines[path.Dir(s.path)] += s.lines
		}
	}
	for dir, n := range lines {
		if n > maxPackageLines {
			t.Errorf("%s has %d lines without its tests, more than %d: move one concept into a package of its own", dir, n, maxPackageLines)
		}
	}
}

// TestPermissions_AreUsed: each import that the plan permits occurs. An unused permission would
// permit it to somebody later, without a decision.
func TestPermissions_AreUsed(t *testing.T) {
	h := projectTree(t)
	imports := func(component, prefix string, tests bool) bool {
		return slices.ContainsFunc(h.sources, func(s *source) bool {
			return (s.component == component || path.Dir(s.path) == component) && (tests || !s.test) &&
				slices.ContainsFunc(s.imports(), func(imp string) bool { return under(imp, []string{prefix}) })
		})
	}
	for component, others := range mayImport {
		for _, other := range others {
			if !imports(component, module+"/"+other, false) {
				t.Errorf("mayImport permits %s to import %s, which it does not", component, other)
			}
		}
	}
	for _, l := range libraries {
		isImported := func(component string) bool { return imports(component, l.prefix, true) }
		if slices.Equal(l.components, domain) {
			if !slices.ContainsFunc(domain, isImported) {
				t.Errorf("libraries lists %s, which the domain does not import", l.prefix)
			}
			continue
		}
		for _, component := range l.components {
			if !isImported(component) {
				t.Errorf("libraries permits %s to import %s, which it does not", component, l.prefix)
			}
		}
	}
}
