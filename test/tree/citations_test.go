package tree

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// trackedFiles returns the files of the tree whose names end in one of the suffixes, including
// those not committed yet.
func trackedFiles(t *testing.T, suffixes ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var files []string
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
		if _, err := os.Stat(name); err == nil && slices.ContainsFunc(suffixes, ends) {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		t.Fatalf("no file name ends in %v", suffixes)
	}
	return files
}

// exists reports whether a cited file exists, relative to the citing file's folder or to the root.
func exists(from, cited string) bool {
	for _, name := range []string{path.Join(path.Dir(from), cited), cited} {
		if _, err := os.Stat(name); err == nil {
			return true
		}
	}
	return false
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	heading      = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	citedPage    = regexp.MustCompile(`[A-Za-z0-9_./-]+\.md\b`)
	citedADR     = regexp.MustCompile(`\bADR (\d+)`)
	citedGo      = regexp.MustCompile("`([a-z][A-Za-z0-9_/]*\\.(?:go|graphqls|mjs|yml))`")
	// citedSource matches the name of a source file in a comment of Go.
	citedSource = regexp.MustCompile(`(?m)//.*?\b([a-z][A-Za-z0-9_/-]*\.(?:go|cql|graphqls|mjs|yml))\b`)
)

// TestLinks_HaveTargets checks the links of every page: the file and the heading.
func TestLinks_HaveTargets(t *testing.T) {
	for _, page := range trackedFiles(t, ".md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			target, anchor := m[1], strings.TrimPrefix(m[2], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			name := page
			if target != "" {
				name = path.Join(path.Dir(page), target)
			}
			linked, err := os.ReadFile(name)
			info, statErr := os.Stat(name)
			switch {
			case statErr != nil:
				t.Errorf("%s links to %s, which does not exist", page, target)
			case anchor != "" && (err != nil || info.IsDir() || !slices.Contains(anchors(string(linked)), anchor)):
				t.Errorf("%s links to %s#%s, but the page has no such heading", page, target, anchor)
			}
		}
	}
}

// anchors returns the names by which links refer to the headings of a page.
func anchors(page string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		all = append(all, anchor)
	}
	return all
}

// TestCitations_Exist checks the pages and decisions that code cites, and the source files that
// pages cite.
func TestCitations_Exist(t *testing.T) {
	decisions := map[string]bool{}
	for _, name := range trackedFiles(t, ".md") {
		var n int
		if _, err := fmt.Sscanf(path.Base(name), "%04d-", &n); err == nil && path.Dir(name) == "docs/adr" {
			decisions[fmt.Sprint(n)] = true
		}
	}
	sources := trackedFiles(t, ".go", ".graphqls", ".yml", ".cql", "Makefile")
	pages := trackedFiles(t, ".md")
	names := map[string]bool{}
	for _, name := range trackedFiles(t, ".go", ".graphqls", ".yml", ".mjs", ".cql") {
		names[path.Base(name)] = true
	}
	for _, file := range slices.Concat(sources, pages) {
		if file == "test/tree/citations_test.go" || file == "graph/generated.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range citedADR.FindAllStringSubmatch(string(text), -1) {
			if !decisions[m[1]] {
				t.Errorf("%s cites ADR %s, which does not exist", file, m[1])
			}
		}
		if strings.HasSuffix(file, ".md") {
			for _, m := range citedGo.FindAllStringSubmatch(string(text), -1) {
				if !isSource(file, m[1], names) {
					t.Errorf("%s cites %s, which does not exist", file, m[1])
				}
			}
			continue
		}
		if strings.HasSuffix(file, ".go") {
			for _, m := range citedSource.FindAllStringSubmatch(string(text), -1) {
				if !isSource(file, m[1], names) && m[1] != "pkg.go" { // of pkg.go.dev
					t.Errorf("%s cites %s, which does not exist", file, m[1])
				}
			}
		}
		for _, cited := range citedPage.FindAllString(string(text), -1) {
			if !strings.Contains(cited, "://") && !exists(file, cited) && !exists("docs/", cited) {
				t.Errorf("%s cites %s, which does not exist", file, cited)
			}
		}
	}
}

// isSource reports whether a cited source file exists. Without a folder, it may be in any.
func isSource(from, cited string, names map[string]bool) bool {
	if strings.Contains(cited, "/") {
		return exists(from, cited)
	}
	return names[cited]
}

// TestMakefile_DeletesTargetsOfFailedRecipes runs a recipe that fails after it has written its
// target. If the target stayed, the next run would take it for complete: web/dist/index.html is
// written before the reference client is built.
func TestMakefile_DeletesTargetsOfFailedRecipes(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	text = append(text, "\nhalf-made:\n\t@touch half-made; false\n"...)
	if err := os.WriteFile(path.Join(folder, "Makefile"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-C", folder, "half-made").CombinedOutput(); err == nil {
		t.Fatalf("make succeeded, although its recipe failed: %s", out)
	}
	if _, err := os.Stat(path.Join(folder, "half-made")); err == nil {
		t.Error("the target of the failed recipe is still there")
	}
}
