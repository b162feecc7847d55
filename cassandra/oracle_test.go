package cassandra

import (
	"testing"

	"carrel/library"
	"carrel/library/oracletest"
)

// TestOracle plays games of random operations; each has tenants of its own.
func TestOracle(t *testing.T) {
	shared := open(t, options(t))
	oracletest.Run(t, func(*testing.T) (library.Store, func()) { return shared, func() {} })
}
