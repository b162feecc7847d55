// Package cassandra keeps the rows of the gateway in an Apache Cassandra 5 cluster, for
// installations that need more than one machine.
//
// It contains the statements (constants above the methods that run them), their timestamps, and the
// schema with its migrations. Package session sends the statements; it chooses the consistency
// levels and interprets the driver's errors. This package knows the types of the Stores that the
// domains declare, but none of their rules: permissions, positions and the consequences of a change
// are decided by the packages above it.
//
// Authoritative rows are changed only by compare-and-set on one partition. Derived rows carry the
// timestamp of the state that they were derived from, so they may be written late, twice and in any
// order.
package cassandra
