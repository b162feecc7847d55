package main_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layers are the packages of the domain, from the lowest. Each imports packages of lower
// layers only.
var layers = [][]string{
	{"core/fault", "core/naming", "core/urlname"},
	{"core/clock", "core/id", "core/input", "core/sched"},
	{"core/claim", "core/commit", "core/copies"},
	{"core/cursor", "core/journal"},
	{"core/timeline"},
	{"principal"},
	{"library", "lease", "paste"},
	{"library/feed", "page"},
	{"library/repair"},
}

// layerOf returns the layer of a package, -1 for what is outside the domain.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, dir) })
}

func TestTheDomainIsLayered(t *testing.T) {
	for _, s := range theHouse(t).sources {
		dir := path.Dir(s.path)
		if s.test || !slices.Contains(domain, s.room) {
			continue
		}
		layer := layerOf(dir)
		if layer < 0 {
			t.Errorf("%s: the package %q is in no layer of the domain (layers in arch_test.go)", s.path, dir)
			continue
		}
		for _, imp := range s.imports() {
			if rest, ours := strings.CutPrefix(imp, module+"/"); ours && layerOf(rest) >= layer {
				t.Errorf("%s imports %s, which is not below it", s.path, imp)
			}
		}
	}
}

// The compiler refuses cycles of packages; a room is made of several.
func TestRoomsHaveNoCycles(t *testing.T) {
	h := theHouse(t)
	uses := map[string]map[string]bool{}
	for _, s := range h.sources {
		for _, imp := range s.imports() {
			rest, ours := strings.CutPrefix(imp, module+"/")
			room := roomOf(rest)
			if s.test || !ours || room == s.room {
				continue
			}
			if uses[s.room] == nil {
				uses[s.room] = map[string]bool{}
			}
			uses[s.room][room] = true
		}
	}
	told := map[string]bool{}
	var walk func(room string, above []string)
	walk = func(room string, above []string) {
		if i := slices.Index(above, room); i >= 0 {
			cycle := strings.Join(append(above[i:], room), " -> ")
			if room == slices.Min(above[i:]) && !told[cycle] { // each cycle is told once
				told[cycle] = true
				t.Errorf("rooms import one another: %s", cycle)
			}
			return
		}
		for next := range uses[room] {
			walk(next, append(slices.Clone(above), room))
		}
	}
	for room := range uses {
		walk(room, nil)
	}
}

// testSupport are folders whose packages are no tests, but are for tests and for
// people who work on the project.
var testSupport = []string{"cassandra/cluster"}

// Packages that support tests are not linked into the product.
func TestTestSupport_IsForTestsAlone(t *testing.T) {
	for _, s := range theHouse(t).sources {
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
