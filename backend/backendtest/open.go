// Package backendtest opens the Services of the domains for tests.
package backendtest

import (
	"context"

	"carrel/backend"
	"carrel/library/repair"
)

// Tester is what Open needs of a test; *testing.T, *testing.B and *rapid.T have it.
type Tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Open connects the domains on a store, and returns the Service of libraries.
func Open(t Tester, c backend.Config) *repair.Service {
	t.Helper()
	services, err := backend.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("opening the Services: %v", err)
	}
	return services.Library
}
