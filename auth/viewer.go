// Package auth turns a request into who is asking: it reads the bearer token,
// verifies it, and makes the library.Viewer of it.
//
// It answers for which tokens are good. It must not know what a viewer may do
// (that is the domain's), nor how an answer is written (that is the edge's).
// No error and no log line of it holds a token or a key.
package auth

import (
	"context"

	"carrel/library"
)

type viewerKey struct{}

// WithViewer returns a context that carries v.
func WithViewer(ctx context.Context, v *library.Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerFrom is the viewer of the request; an anonymous one if there is none,
// so that a path that forgot to authenticate sees less, never more.
func ViewerFrom(ctx context.Context) *library.Viewer {
	if v, ok := ctx.Value(viewerKey{}).(*library.Viewer); ok {
		return v
	}
	return &library.Viewer{}
}
