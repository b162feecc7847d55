package cassandra

import (
	"flag"
	"testing"

	"carrel/test/oracle"
)

// oracleGames is the number of games, which take about five seconds each. The hundred of the
// embedded store would take minutes; -rapid.checks sets another number.
const oracleGames = "6"

// TestOracle plays games of random operations, each in its own tenants.
func TestOracle(t *testing.T) {
	t.Parallel()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set(oracleGames); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := checks.Value.Set(checks.DefValue); err != nil {
				t.Error(err)
			}
		})
	}
	shared := open(t, options(t))
	oracle.Run(t, func(*testing.T) oracle.Opened { return oracle.Opened{Store: shared, Notifier: shared} })
}

// TestKeyRaces runs concurrent creations with one idempotency key on a real node.
func TestKeyRaces(t *testing.T) {
	oracle.RunKeyRaces(t, open(t, options(t)), "races")
}
