// Package scenario tests the built binary on a real Cassandra node as operators use it: moving a
// store there and back, how commands notice that a store is in use, and readiness.
package scenario
