package library_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// BenchmarkPage compares a page of 20 through the Service with the reads that
// it cannot do without: one slice and its headers.
func BenchmarkPage(b *testing.B) {
	r := newRoom(b)
	r.principals("u:acme:ann", "u:acme:bob", "g:acme:team")
	r.join("g:acme:team", true, in("u:acme:bob", principal.GroupMember))
	for i := range 1000 {
		r.item(library.ContentID(fmt.Sprintf("c:acme:host/%d", i)), clock.Instant(i+1), principal.Public,
			has("u:acme:ann", library.Manages), has("u:acme:bob", library.Viewing))
	}
	middle := r.read(ann(), "u:acme:ann", library.LibraryQuery{Descending: true, PageArgs: first(100)}).Edges[99].Cursor()
	middleASC := r.read(ann(), "u:acme:ann", library.LibraryQuery{PageArgs: first(100)}).Edges[99].Cursor()
	for _, c := range []struct {
		name    string
		viewer  func() *principal.Viewer
		q       library.LibraryQuery
		cursors bool
	}{
		{"newest", ann, library.LibraryQuery{Descending: true}, false},
		{"newest with cursors", ann, library.LibraryQuery{Descending: true}, true},
		{"oldest", ann, library.LibraryQuery{}, false},
		{"middle, newest first", ann, library.LibraryQuery{Descending: true, PageArgs: firstAfter(20, &middle)}, false},
		{"middle, oldest first", ann, library.LibraryQuery{PageArgs: firstAfter(20, &middleASC)}, false},
		{"middle with both flags", ann, library.LibraryQuery{Descending: true, OtherSide: true, PageArgs: firstAfter(20, &middle)}, false},
		{"anonymous", anonymous, library.LibraryQuery{Descending: true}, false},
		{"with standings", bob, library.LibraryQuery{Descending: true, WithStanding: true}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				conn, err := r.svc.Library(b.Context(), c.viewer(), "u:acme:ann", c.q)
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
			es, err := r.store.PageLibrary(b.Context(), library.Slice{Owner: "u:acme:ann", Bucket: principal.Private, Limit: 21})
			if err != nil {
				b.Fatal(err)
			}
			ids := make([]library.ContentID, len(es))
			for i, e := range es {
				ids[i] = e.Content
			}
			if _, err := r.store.ReadMany(b.Context(), ids[:20], nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
