// Package auth authenticates the caller of a request: it reads the bearer token, verifies it, and
// returns the principal.Viewer of the caller.
//
// It decides which tokens are valid. It must not know what a viewer may do (the domain decides
// that) or how an answer is written (package edge does that). Its errors and log lines contain no
// tokens or keys.
package auth

import (
	"time"

	"carrel/principal"
)

// Caller is the authenticated or anonymous caller of one request, or of all operations of a
// connection.
type Caller struct {
	User               principal.ID // empty if anonymous
	Admin, GlobalAdmin bool
	// Until is when the token is no longer accepted; zero without a token.
	Until time.Time
}

// SignedIn reports whether the caller is authenticated.
func (c Caller) SignedIn() bool { return c.User != "" }

// Viewer returns the viewer for one operation. Each operation gets its own, because a viewer caches
// its resolved groups.
func (c Caller) Viewer() *principal.Viewer {
	return &principal.Viewer{User: c.User, Admin: c.Admin, GlobalAdmin: c.GlobalAdmin}
}
