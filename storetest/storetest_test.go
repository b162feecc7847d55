package storetest

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// contracts are the files that say what stores must do.
var contracts = []string{
	"../library/store.go", "../library/changes.go", "../principal/store.go", "../core/commit/inflightlist.go",
	"../core/commit/registers.go", "../core/commit/rowstore.go", "../core/claim/store.go", "../note/store.go", "../paste/store.go",
	"../core/feed/store.go",
	"../interchange/archive/archive.go",
}

// TestContract_EveryMustIsASubtest checks that every sentence of the contracts with a "must" is the
// name of a subtest, under the method that it is about.
func TestContract_EveryMustIsASubtest(t *testing.T) {
	names := make(map[string]bool)
	for _, c := range checks() {
		names[c.name] = true
	}
	for _, c := range durableChecks() {
		names[c.name] = true
	}
	for _, c := range append(archiveChecks(), durableArchiveChecks()...) {
		names[c.name] = true
	}
	for _, c := range notifierChecks() {
		names[c.name] = true
	}
	for _, file := range contracts {
		musts := sentences(t, file)
		if len(musts) == 0 {
			t.Errorf("%s has no sentence with a must", file)
		}
		for _, m := range musts {
			if !names[m] {
				t.Errorf("no subtest is named %q (%s)", m, file)
			}
		}
	}
}

// sentences returns the sentences with a "must" in a file's comments.
func sentences(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	end := regexp.MustCompile(`\.(\s+|$)`)
	must := regexp.MustCompile(`\bmust\b`)
	var found []string
	for _, group := range f.Comments {
		for _, s := range end.Split(group.Text(), -1) {
			s = strings.Join(strings.Fields(s), " ")
			// The one sentence about this rule has the word in quotes.
			if must.MatchString(s) && !strings.Contains(s, `"must"`) {
				found = append(found, s)
			}
		}
	}
	return found
}

// TestContract_SubtestNamesAreUnique checks that no subtest hides another one.
func TestContract_SubtestNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range checks() {
		name := c.area + "/" + c.name
		if seen[name] {
			t.Errorf("two subtests are named %q", name)
		}
		seen[name] = true
	}
}
