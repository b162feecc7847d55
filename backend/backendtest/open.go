// Package backendtest is the fixture of tests of the domains: it opens their Services on a
// store, creates users, groups and content, and compares what a viewer reads.
package backendtest

import (
	"context"

	"carrel/backend"
	"carrel/library/repair"
)

// Tester is what a fixture needs of a test, or of one round of a random test.
type Tester interface {
	Helper()
	Context() context.Context
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Open connects the domains on a store, and returns the Service of libraries.
func Open(t Tester, c backend.Config) *repair.Service {
	t.Helper()
	return OpenAll(t, c).Library
}

// OpenAll connects the domains on a store.
func OpenAll(t Tester, c backend.Config) *backend.Services {
	t.Helper()
	services, err := backend.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("opening the Services: %v", err)
	}
	return services
}
