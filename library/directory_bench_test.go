package library_test

import (
	"fmt"
	"testing"

	"carrel/core/commit"
	"carrel/library"
)

// BenchmarkFind looks somebody up among 20,000 users of a tenant: by a letter
// that a tenth of them begin with, by a whole word, without a prefix, and where
// all but one in fifty are hidden from the viewer.
func BenchmarkFind(b *testing.B) {
	r := newRoom(b)
	for i := range 20_000 {
		id := library.UserID("acme", fmt.Sprintf("user%05d", i))
		vis := library.Private
		if i%50 == 0 {
			vis = library.LoggedIn
		}
		h := library.PrincipalHeader{ID: id, DisplayName: fmt.Sprintf("%c\u00e9cile Name%d", 'A'+i%10, i), Visibility: vis, State: commit.Live, Seq: 1, MTS: 1}
		r.applied(r.store.CommitPrincipal(b.Context(), &library.PrincipalCommit{ID: id, Header: h}))
		r.must(r.store.EnforceDirectory(b.Context(), &library.DirectoryEnforcement{Header: &h}))
	}
	r.must(r.store.SetDirectoryFilled(b.Context()))
	boss := func() *library.Viewer { return admin("u:acme:boss") }
	for _, c := range []struct {
		name, prefix string
		viewer       func() *library.Viewer
	}{
		{"a letter", "c", boss}, {"a word", "name12", boss}, {"no prefix", "", boss}, {"mostly hidden", "name", ann},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := r.svc.FindPrincipals(b.Context(), c.viewer(), library.PrincipalSearch{Tenant: "acme", Prefix: &c.prefix})
				if err != nil || len(found.Edges) != library.DefaultPageSize {
					b.Fatalf("%d, %v", len(found.Edges), err)
				}
			}
		})
	}
}
