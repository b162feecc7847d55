// Package auth turns a request into who is asking: it reads the bearer token,
// verifies it, and makes the library.Viewer of it.
//
// It answers for which tokens are good. It must not know what a viewer may do
// (that is the domain's), nor how an answer is written (that is the edge's).
// No error and no log line of it holds a token or a key.
package auth

import (
	"context"
	"time"

	"carrel/principal"
)

// Caller is who asks, for as long as the token is good: one request, or all
// that is asked over a connection that stays open.
type Caller struct {
	User               principal.ID // empty: anonymous
	Admin, GlobalAdmin bool
	// Until is when the token is no longer accepted; zero without a token.
	Until time.Time
}

// SignedIn tells whether the caller is known by name.
func (c Caller) SignedIn() bool { return c.User != "" }

// Viewer is the caller for one operation. Each gets its own, because a viewer
// keeps what was resolved of its groups.
func (c Caller) Viewer() *principal.Viewer {
	return &principal.Viewer{User: c.User, Admin: c.Admin, GlobalAdmin: c.GlobalAdmin}
}

type viewerKey struct{}

// WithViewer returns a context that carries v.
func WithViewer(ctx context.Context, v *principal.Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerFrom is the viewer of the request; an anonymous one if there is none,
// so that a path that forgot to authenticate sees less, never more.
func ViewerFrom(ctx context.Context) *principal.Viewer {
	if v, ok := ctx.Value(viewerKey{}).(*principal.Viewer); ok {
		return v
	}
	return &principal.Viewer{}
}
