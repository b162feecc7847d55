package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/domain"
	"carrel/storetest"
)

// openStore opens a store that is closed at the end of the test.
func openStore(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	if opts.Fatal == nil {
		opts.Fatal = func(msg string) { t.Error(msg) }
	}
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance_InMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) domain.Store {
		return openStore(t, "", Options{FS: vfs.NewMem()}).Store
	})
}

func TestConformance_ArchiveInMemory(t *testing.T) {
	storetest.RunArchive(t, func(t *testing.T) (domain.Store, storetest.Archive) {
		s := openStore(t, "", Options{FS: vfs.NewMem()})
		return s.Store, s
	})
}
