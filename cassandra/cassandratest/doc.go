// Package cassandratest starts real Cassandra nodes for tests, and for people
// who want a cluster on their own machine: from the artifacts of Maven Central,
// on addresses and in directories of their own, so that several clusters stand
// side by side.
//
// It answers for the nodes: that they answer when they are handed out, can be
// killed, paused and started again, and are gone when the process that started
// them is, however it ended. It must not know what is stored in them.
//
// With CASSANDRA_HOSTS set (addresses, separated by commas) that cluster is
// used instead, and no node is started or touched.
package cassandratest
