package cassandra

import (
	"testing"

	"carrel/domain"
	"carrel/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	shared := open(t, options(t))
	if _, err := shared.Register(t.Context(), "host", "test", nil); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(*testing.T) domain.Store { return shared.Store })
}

func TestConformance_Archive(t *testing.T) {
	t.Parallel()
	shared := open(t, options(t))
	storetest.RunArchive(t, func(*testing.T) (domain.Store, storetest.Archive) { return shared.Store, shared })
}

// TestConformance_DurableArchive runs under the same conditions as TestConformance_Durable.
func TestConformance_DurableArchive(t *testing.T) {
	t.Parallel()
	o := options(t)
	storetest.RunDurableArchive(t, func(t *testing.T) (domain.Store, storetest.Archive, func() (domain.Store, storetest.Archive)) {
		store := open(t, o)
		return store.Store, store, func() (domain.Store, storetest.Archive) {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = open(t, o)
			return store.Store, store
		}
	})
}

// TestConformance_Durable: the cluster outlives the process, so a crash only loses the session and
// the process's memory.
func TestConformance_Durable(t *testing.T) {
	t.Parallel()
	o := options(t)
	storetest.RunDurable(t, func(t *testing.T) (domain.Store, func() domain.Store) {
		store := open(t, o)
		return store.Store, func() domain.Store {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = open(t, o)
			return store.Store
		}
	})
}
