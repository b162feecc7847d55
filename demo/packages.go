package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Package is a package in the output of `go list -json`.
type Package struct {
	ImportPath string
	Name       string // main for a command
	Doc        string // the first sentence of its documentation
}

// Packages returns the packages of the standard library and its commands, from the go command, in
// order of import path. It leaves out vendored packages, the packages of commands, and packages
// without documentation, whose pages are not worth a link.
func Packages(ctx context.Context) ([]Package, error) {
	// -e: packages that do not build on this platform are listed too.
	out, err := exec.CommandContext(ctx, "go", "list", "-e", "-json=ImportPath,Name,Doc", "std", "cmd").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("list the standard library: %w", err)
	}
	return parseList(bytes.NewReader(out))
}

// parseList parses the output of go list: one JSON object after the other.
func parseList(r io.Reader) ([]Package, error) {
	var all []Package
	dec := json.NewDecoder(r)
	for {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		if p.listed() {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Package) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return all, nil
}

func (p *Package) listed() bool {
	switch {
	case p.Doc == "" || p.Name == "":
		return false
	case strings.HasPrefix(p.ImportPath, "vendor/") || strings.Contains(p.ImportPath, "/vendor/"):
		return false
	case p.isCommand():
		return p.Name == "main" && strings.Count(p.ImportPath, "/") == 1
	}
	return true
}

func (p *Package) isCommand() bool { return strings.HasPrefix(p.ImportPath, "cmd/") }

// isInternal reports whether only the standard library may import the package.
func (p *Package) isInternal() bool {
	return slices.Contains(strings.Split(p.ImportPath, "/"), "internal")
}

// topic is the first element of the path.
func (p *Package) topic() string {
	first, _, _ := strings.Cut(p.ImportPath, "/")
	return first
}
