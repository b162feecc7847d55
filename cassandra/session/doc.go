// Package session is the connection to an Apache Cassandra cluster: it opens the
// driver's session, sends statements over it, and turns the driver's errors into
// those of the domain.
//
// A Session bounds the statements under way (gate.go), asks a second node where
// the first one is slow (hedge.go, nodes.go), lets readers of the same partition
// share a reading (sharing.go), and compares the nodes' clocks with this one
// (clock.go). errors.go alone knows what the driver's errors mean.
//
// It knows no table: statements, rows and migrations belong to package cassandra.
package session
