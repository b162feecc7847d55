package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/vikstrous/dataloadgen"

	"carrel-bench-gqlgen/library"
)

// A userLoader asks once for all creators of a page.
type userLoader = dataloadgen.Loader[string, *library.User]

type loaderKey struct{}

// withLoader gives each request a loader of its own, which waits a millisecond for further keys, as
// in gqlgen's documentation.
func withLoader(data *library.Data, next http.Handler) http.Handler {
	fetch := func(_ context.Context, ids []string) ([]*library.User, []error) {
		users, errs := make([]*library.User, len(ids)), make([]error, len(ids))
		for i, id := range ids {
			if users[i] = data.Users[id]; users[i] == nil {
				errs[i] = fmt.Errorf("no user %s", id)
			}
		}
		return users, errs
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loader := dataloadgen.NewLoader(fetch, dataloadgen.WithWait(time.Millisecond))
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), loaderKey{}, loader)))
	})
}

func loaderOf(ctx context.Context) *userLoader { return ctx.Value(loaderKey{}).(*userLoader) }
