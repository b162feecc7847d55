// Package scenario tests the built binary on a real Cassandra node as operators
// use it: moving there and back, what notices that a store is served, readiness.
package scenario
