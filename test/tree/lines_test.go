package tree

import (
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxLine is the most characters of a line of source text or documentation.
	maxLine = 140
	// maxLiteral is the length from which a literal may make its line longer: text, a request or a struct tag.
	maxLiteral = 100
)

// aLiteral is a literal of TypeScript or JavaScript.
var aLiteral = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`(?:[^`\\\\]|\\\\.)*`")

// TestLines_AreShort checks sources and documentation. Data may be longer: literals, rows of tables and examples of JSON. The
// descriptions of the schema are one line each, as clients read them.
func TestLines_AreShort(t *testing.T) {
	for _, name := range projectTree(t).files {
		ext := path.Ext(name)
		known := slices.Contains([]string{".go", ".ts", ".tsx", ".mjs", ".js", ".css", ".md"}, ext)
		if !known || strings.Contains(name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range linesToWrap(ext, string(text)) {
			t.Errorf("%s:%d has %d characters, more than %d", name, n, utf8.RuneCountInString(line), maxLine)
		}
	}
}

// linesToWrap returns the lines of a text that are too long, by their numbers.
func linesToWrap(ext, text string) map[int]string {
	found := map[int]string{}
	if ext == ".go" && strings.HasPrefix(text, "// Code generated") {
		return found
	}
	data := map[int]bool{}
	if ext == ".go" {
		data = linesWithData([]byte(text))
	}
	for i, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > maxLine && !data[i+1] && !isData(ext, strings.TrimSpace(line)) {
			found[i+1] = line
		}
	}
	return found
}

// isData reports whether a line may be long: in Go an example in a comment, in documentation a row or JSON, and elsewhere one
// with a long literal.
func isData(ext, line string) bool {
	switch ext {
	case ".go":
		return strings.HasPrefix(line, "//\t")
	case ".md":
		return strings.ContainsAny(line[:1], `|{"`)
	}
	return slices.ContainsFunc(aLiteral.FindAllString(line, -1), func(l string) bool { return utf8.RuneCountInString(l) > maxLiteral })
}

// linesWithData returns the lines of a Go file with a literal of more than maxLiteral characters, or of several lines.
func linesWithData(text []byte) map[int]bool {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	data := map[int]bool{}
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return data
		}
		if n := strings.Count(literal, "\n"); kind == token.STRING && (n > 0 || utf8.RuneCountInString(literal) > maxLiteral) {
			for line := file.Line(pos); n >= 0; n-- {
				data[line+n] = true
			}
		}
	}
}

func TestLinesToWrap_AreLongWithoutData(t *testing.T) {
	long, text := strings.Repeat("xx ", maxLine/3+1), strings.Repeat("x", maxLiteral-1)
	for name, c := range map[string]struct {
		ext, text string
		want      []int
	}{
		"short":               {".go", "package p\n", nil},
		"a comment":           {".go", "package p\n\n// " + long + "\n", []int{3}},
		"an example":          {".go", "package p\n\n//\t" + long + "\n", nil},
		"generated":           {".go", "// Code generated\n// " + long + "\n", nil},
		"a long literal":      {".go", "package p\n\nvar a = \"" + text + "\" // " + text + "\n", nil},
		"a shorter one":       {".go", "package p\n\nvar a = \"" + text[1:] + "\" // " + text[1:] + "\n", []int{3}},
		"several lines":       {".go", "package p\n\nvar a = `x\n" + long + "\nz`\n// " + long + "\n", []int{6}},
		"a script":            {".ts", "// " + long + "\n\n" + long, []int{1, 3}},
		"a string":            {".tsx", "a('" + text + "x', 1)" + strings.Repeat(" ", 60) + "\n", nil},
		"two shorter strings": {".mjs", "a('" + text[:70] + "', '" + text[:70] + "')\n", []int{1}},
		"documentation":       {".md", long + "\n| " + long + "\n{" + long + "\n", []int{1}},
	} {
		if got := slices.Sorted(maps.Keys(linesToWrap(c.ext, c.text))); !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", name, got, c.want)
		}
	}
}
