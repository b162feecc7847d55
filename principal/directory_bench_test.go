package principal_test

import (
	"fmt"
	"testing"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// BenchmarkFind searches among 20,000 users of a tenant: by a letter with which a tenth of them
// start, by a whole word, without a prefix, and if all but one in fifty are hidden from the
// viewer.
func BenchmarkFind(b *testing.B) {
	r := domaintest.NewRows(b)
	for i := range 20_000 {
		id := principal.UserID("acme", fmt.Sprintf("user%05d", i))
		vis := principal.Private
		if i%50 == 0 {
			vis = principal.LoggedIn
		}
		h := principal.Header{ID: id, DisplayName: fmt.Sprintf("%c\u00e9cile Name%d", 'A'+i%10, i), Visibility: vis,
			State: commit.Live, Seq: 1, MTS: 1}
		r.Applied(r.Store.Principals.CommitPrincipal(b.Context(), &principal.Commit{ID: id, Header: h}))
		r.Must(r.Store.Directory.ApplyDirectory(b.Context(), &principal.DirectoryUpdate{Header: &h}))
	}
	boss := func() *principal.Viewer { return domaintest.Admin("u:acme:boss") }
	for _, c := range []struct {
		name, prefix string
		viewer       func() *principal.Viewer
	}{
		{"a letter", "c", boss}, {"a word", "name12", boss}, {"no prefix", "", boss}, {"mostly hidden", "name", domaintest.Ann},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := r.People.FindPrincipals(b.Context(), c.viewer(), principal.Search{Tenant: "acme", Prefix: &c.prefix})
				if err != nil || len(found.Edges) != cursor.DefaultPageSize {
					b.Fatalf("%d, %v", len(found.Edges), err)
				}
			}
		})
	}
}
