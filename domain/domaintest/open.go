// Package domaintest contains fixtures for tests of the domains: they open the Services on a
// store, create users, groups and content, and compare what a viewer sees.
package domaintest

import (
	"context"

	"carrel/domain"
)

// Tester is the part of testing.TB that fixtures need. A round of a random test implements it too.
type Tester interface {
	Helper()
	Context() context.Context
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Open connects the domains on a store.
func Open(t Tester, c domain.Config) *domain.Services {
	t.Helper()
	services, err := domain.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("opening the Services: %v", err)
	}
	return services
}
