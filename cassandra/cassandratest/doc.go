// Package cassandratest starts real Cassandra nodes for tests, and for people who want a cluster on
// their own machine. The nodes come from Maven Central and have their own addresses and
// directories, so that several clusters can run at the same time.
//
// The package ensures that nodes answer when they are returned, can be killed, paused and
// restarted, and end with the process that started them, however that ends. It does not know what
// is stored in them.
//
// If CASSANDRA_HOSTS is set (addresses, separated by commas), that cluster is used instead, and no
// node is started or stopped.
package cassandratest
