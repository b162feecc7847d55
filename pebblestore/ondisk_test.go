//go:build !race

package pebblestore

import (
	"testing"

	"carrel/domain"
	"carrel/storetest"
)

func TestConformance_OnDisk(t *testing.T) {
	shared := openStore(t, t.TempDir(), Options{})
	storetest.Run(t, func(*testing.T) domain.Store { return shared.Store })
}

func TestConformance_ArchiveOnDisk(t *testing.T) {
	shared := openStore(t, t.TempDir(), Options{})
	storetest.RunArchive(t, func(*testing.T) (domain.Store, storetest.Archive) { return shared.Store, shared })
}
