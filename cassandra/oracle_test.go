package cassandra

import (
	"testing"

	"carrel/headercache"
	"carrel/test/oracle"
)

// oracleGames is the number of games with copies of headers, and of those without. A game takes
// about five seconds, so the hundred of the embedded store would take minutes; -rapid.checks sets
// another number.
const oracleGames = 3

// TestOracle plays games of random operations, each in its own tenants: some with gateways that
// serve pages from copies of headers, and some with gateways that read all headers.
func TestOracle(t *testing.T) {
	t.Parallel()
	oracle.Limit(t, oracleGames)
	for name, cache := range map[string]headercache.Config{
		"every header is read": {},
		"copies are served":    {Bytes: 1000 << 10, AlwaysOn: true, SampleEvery: 1},
	} {
		t.Run(name, func(t *testing.T) {
			shared := open(t, options(t))
			oracle.Run(t, func(*testing.T) oracle.Opened {
				return oracle.Opened{Store: shared.Store, Notifier: shared, HeaderCache: cache}
			})
		})
	}
}

// TestKeyRaces runs concurrent creations with one idempotency key on a real node.
func TestKeyRaces(t *testing.T) {
	oracle.RunKeyRaces(t, open(t, options(t)).Store, "races")
}
