package listing_test

import (
	"fmt"
	"testing"

	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// BenchmarkPage compares a page of 20 through the Service with the reads that
// it cannot do without: one slice and its headers.
func BenchmarkPage(b *testing.B) {
	r := backendtest.NewRows(b)
	r.Principals("u:acme:ann", "u:acme:bob", "g:acme:team")
	r.Join("g:acme:team", true, backendtest.GroupMember("u:acme:bob", principal.GroupMember))
	for i := range 1000 {
		r.Item(library.ContentID(fmt.Sprintf("c:acme:host/%d", i)), clock.Instant(i+1), principal.Public,
			backendtest.ContentMember("u:acme:ann", library.Manages), backendtest.ContentMember("u:acme:bob", library.Viewing))
	}
	middle := r.Read(backendtest.Ann(), "u:acme:ann", library.LibraryQuery{Descending: true, PageArgs: backendtest.First(100)}).Edges[99].Cursor()
	middleASC := r.Read(backendtest.Ann(), "u:acme:ann", library.LibraryQuery{PageArgs: backendtest.First(100)}).Edges[99].Cursor()
	for _, c := range []struct {
		name    string
		viewer  func() *principal.Viewer
		q       library.LibraryQuery
		cursors bool
	}{
		{"newest", backendtest.Ann, library.LibraryQuery{Descending: true}, false},
		{"newest with cursors", backendtest.Ann, library.LibraryQuery{Descending: true}, true},
		{"oldest", backendtest.Ann, library.LibraryQuery{}, false},
		{"middle, newest first", backendtest.Ann, library.LibraryQuery{Descending: true, PageArgs: backendtest.FirstAfter(20, &middle)}, false},
		{"middle, oldest first", backendtest.Ann, library.LibraryQuery{PageArgs: backendtest.FirstAfter(20, &middleASC)}, false},
		{"middle with both flags", backendtest.Ann, library.LibraryQuery{Descending: true, OtherSide: true, PageArgs: backendtest.FirstAfter(20, &middle)}, false},
		{"anonymous", backendtest.Anonymous, library.LibraryQuery{Descending: true}, false},
		{"with permissions", backendtest.Bob, library.LibraryQuery{Descending: true, WithPermissions: true}, false},
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
