package library_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// BenchmarkMutation measures mutations of items with one member, on an embedded store in
// memory. No item is changed so often that its moves are deferred.
func BenchmarkMutation(b *testing.B) {
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		b.Fatal(err)
	}
	rt := sched.NewReal()
	b.Cleanup(func() {
		rt.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	s := domaintest.Open(b, domain.Config{
		Store: store.Store, Runtime: rt, Journal: journal.New(b.Context(), store.Journal, rt, nil), Names: &domaintest.CountingNames{},
	})
	const ann = "u:acme:ann"
	if _, err := s.People.CreateUser(b.Context(), domaintest.As(ann), principal.CreateUser{
		Tenant: "acme", Name: "ann", DisplayName: "Ann", Email: "ann@example.com", Visibility: principal.Public,
	}); err != nil {
		b.Fatal(err)
	}
	create := func() library.ContentID {
		out, err := s.Library.CreateContent(b.Context(), domaintest.As(ann), library.CreateContent{Kind: library.Note,
			Title: "t", Visibility: principal.Public})
		if err != nil {
			b.Fatal(err)
		}
		return out.ID
	}
	const updates = 10 // of each item
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("updateContent, keyed %v", keyed), func(b *testing.B) {
			b.ReportAllocs()
			var id library.ContentID
			n := 0
			for b.Loop() {
				if n%updates == 0 {
					b.StopTimer()
					id = create()
					b.StartTimer()
				}
				n++
				title := fmt.Sprint(n)
				in := library.UpdateContent{ID: string(id), Title: input.Some(&title)}
				if keyed {
					in.IdempotencyKey = &title
				}
				if _, err := s.Library.UpdateContent(b.Context(), domaintest.As(ann), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("createContent", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			create()
		}
	})
	b.Run("updateUser", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			email := fmt.Sprintf("ann%d@example.com", n)
			if _, err := s.People.UpdateUser(b.Context(), domaintest.As(ann), principal.UpdateUser{ID: ann, Email: input.Some(&email)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
