package cassandra

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// BenchmarkPage measures a page of 20: one slice, and the headers of its items.
func BenchmarkPage(b *testing.B) {
	s := open(b, options(b))
	const reader principal.ID = "u:t:pages"
	for n := range 100 {
		c := creation(library.ContentID(fmt.Sprintf("c:t:page%03d", n)), someTime+clock.Instant(n))
		if v, err := s.Contents.Commit(b.Context(), c); err != nil || !v.Applied {
			b.Fatal(v, err)
		}
		if err := s.Contents.ApplyIndex(b.Context(), &library.IndexUpdate{Header: &c.Header,
			Rows: []library.Member{{Principal: reader, Role: library.Viewing, Seq: 1}}}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("slice", func(b *testing.B) {
		for b.Loop() {
			if es, err := s.Libraries.PageLibrary(b.Context(), library.Slice{Owner: reader, Bucket: principal.Private, Limit: 21}); err != nil ||
				len(es) != 21 {
				b.Fatal(len(es), err)
			}
		}
	})
	b.Run("slice and headers", func(b *testing.B) {
		for b.Loop() {
			es, err := s.Libraries.PageLibrary(b.Context(), library.Slice{Owner: reader, Bucket: principal.Private, Limit: 21})
			if err != nil {
				b.Fatal(err)
			}
			ids := make([]library.ContentID, 0, 20)
			for _, e := range es[:20] {
				ids = append(ids, e.Content)
			}
			if _, err := s.Contents.ReadMany(b.Context(), ids, []principal.ID{reader}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("commit", func(b *testing.B) {
		c := creation("c:t:commits", someTime)
		for b.Loop() {
			if v, err := s.Contents.Commit(b.Context(), c); err != nil || !v.Applied {
				b.Fatal(v, err)
			}
			c = moveOf(c)
			c.Supersede = nil
		}
	})
}
