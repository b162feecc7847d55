// Package cassandra keeps the rows of the gateway in an Apache Cassandra 5
// cluster, for those who outgrow one machine.
//
// It holds the statements (constants above the methods that run them), their
// timestamps, and the schema with its migrations. Package session sends them: it
// knows consistency levels and what the driver's errors mean. This package must
// not know a rule of the domain beyond the words of library/store.go: who may,
// what stands where and what follows a change is decided above it.
//
// What is authoritative is written by compare-and-set on one partition and by
// nothing else; what is derived carries the timestamp of the state that it was
// derived from, so that it may be written late, twice and in any order.
package cassandra
