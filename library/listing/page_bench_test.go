package listing_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// BenchmarkPage compares a page of 20 through the Service with the reads that
// it cannot do without: one slice and its headers.
func BenchmarkPage(b *testing.B) {
	r := domaintest.NewRows(b)
	r.Principals("u:acme:ann", "u:acme:bob", "g:acme:team")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:bob", principal.GroupMember))
	for i := range 1000 {
		r.Item(library.ContentID(fmt.Sprintf("c:acme:host/%d", i)), clock.Instant(i+1), principal.Public,
			domaintest.ContentMember("u:acme:ann", library.Manages), domaintest.ContentMember("u:acme:bob", library.Viewing))
	}
	middle := r.Read(domaintest.Ann(), "u:acme:ann",
		library.LibraryQuery{Descending: true, PageArgs: domaintest.First(100)}).Edges[99].Cursor()
	middleASC := r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.First(100)}).Edges[99].Cursor()
	for _, c := range []struct {
		name    string
		viewer  func() *principal.Viewer
		q       library.LibraryQuery
		cursors bool
	}{
		{"newest", domaintest.Ann, library.LibraryQuery{Descending: true}, false},
		{"newest with cursors", domaintest.Ann, library.LibraryQuery{Descending: true}, true},
		{"oldest", domaintest.Ann, library.LibraryQuery{}, false},
		{"middle, newest first", domaintest.Ann, library.LibraryQuery{Descending: true, PageArgs: domaintest.FirstAfter(20, &middle)}, false},
		{"middle, oldest first", domaintest.Ann, library.LibraryQuery{PageArgs: domaintest.FirstAfter(20, &middleASC)}, false},
		{"middle with both flags", domaintest.Ann, library.LibraryQuery{Descending: true, OtherSide: true,
			PageArgs: domaintest.FirstAfter(20, &middle)}, false},
		{"anonymous", domaintest.Anonymous, library.LibraryQuery{Descending: true}, false},
		{"with permissions", domaintest.Bob, library.LibraryQuery{Descending: true, WithPermissions: true}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				conn, err := r.Listing.Library(b.Context(), c.viewer(), "u:acme:ann", c.q)
				if err != nil || len(conn.Edges) != 20 {
					b.Fatal(err)
				}
				if c.cursors {
					for _, e := range conn.Edges {
						e.Cursor()
					}
				}
			}
		})
	}
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			es, err := r.Store.Libraries.PageLibrary(b.Context(), library.Slice{Owner: "u:acme:ann", Bucket: principal.Private, Limit: 21})
			if err != nil {
				b.Fatal(err)
			}
			ids := make([]library.ContentID, len(es))
			for i, e := range es {
				ids[i] = e.Content
			}
			if _, err := r.Store.Contents.ReadMany(b.Context(), ids[:20], nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
