package oracle_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"carrel/headercache"
	"carrel/pebblestore"
	"carrel/test/oracle"
	"carrel/test/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun_TwoGatewaysAgreeWithTheModel plays on the simulated store, which several processes may
// use: changes through one gateway are delivered by the other.
func TestRun_TwoGatewaysAgreeWithTheModel(t *testing.T) {
	oracle.Run(t, func(*testing.T) oracle.Opened {
		store := simulator.NewClient(simulator.NewStore(nil), nil)
		return oracle.Opened{Store: store.Store, Notifier: store}
	})
}

// TestRun_TwoGatewaysServeCopies plays on the simulated store, with pages from copies of headers.
func TestRun_TwoGatewaysServeCopies(t *testing.T) {
	oracle.Limit(t, 30)
	oracle.Run(t, func(*testing.T) oracle.Opened {
		store := simulator.NewClient(simulator.NewStore(nil), nil)
		cache := headercache.Config{Bytes: 1000 << 10, AlwaysOn: true, SampleEvery: 1}
		return oracle.Opened{Store: store.Store, Notifier: store, HeaderCache: cache}
	})
}

// TestRunKeyRaces_PebbleCreatesOneItemPerKey lets creations of one key race on the embedded store.
func TestRunKeyRaces_PebbleCreatesOneItemPerKey(t *testing.T) {
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	oracle.RunKeyRaces(t, store.Store, "acme")
}
