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
	{"core/claim", "core/commit"},
	{"core/cursor", "core/journal"},
	{"principal", "lease"},
	{"library", "paste"},
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
