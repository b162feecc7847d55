// Package session is the connection to an Apache Cassandra cluster: it opens the driver's session,
// sends statements over it, and converts the driver's errors to those of the domain.
//
// A Session limits the statements in flight (gate.go), sends a request to a second node if the
// first one is slow (hedge.go, nodes.go), and compares the nodes' clocks with this one (clock.go).
// Only errors.go interprets the driver's errors.
//
// It knows no table: statements, rows and migrations belong to package cassandra.
package session
