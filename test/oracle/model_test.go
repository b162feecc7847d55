//go:build !race

package oracle_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/pebblestore"
	"carrel/test/oracle"
)

// TestRun_PebbleAgreesWithTheModel plays on the embedded store.
func TestRun_PebbleAgreesWithTheModel(t *testing.T) {
	oracle.Run(t, func(t *testing.T) oracle.Opened {
		store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatalf("opening the store: %v", err)
		}
		return oracle.Opened{Store: store.Store, Done: func() {
			if err := store.Close(); err != nil {
				t.Errorf("closing the store: %v", err)
			}
		}}
	})
}
