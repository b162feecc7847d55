// Package pebblestore keeps the rows of the gateway in an embedded Pebble database. It is the
// default store of a single process, and the store on which most tests of other packages run.
//
// The package provides atomic and durable rows: keys in the order that the Store contract wants
// (keys.go), their values (rows.go), compare-and-set under a lock for each key, one fsync per
// mutation, and clear errors when a disk is full or damaged. It knows the types of the Store
// interfaces of the domain packages, but none of their rules: permissions, positions and the
// consequences of a change are decided by those packages.
//
// The write-ahead log keeps the order of writes. So a conditional write, which is synced, makes all
// earlier writes durable too, and other writes need no sync of their own: if a crash loses such a
// write, it is repeated from the in-flight entry that the conditional write made durable.
package pebblestore
