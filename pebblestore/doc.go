// Package pebblestore keeps the rows of the gateway in an embedded Pebble
// database: the default store of a single process, and the double that every
// other package's tests run on.
//
// It answers for atomic and durable rows: keys that sort as the contract wants
// (keys.go), values (rows.go), compare-and-set under a lock for each key, one
// fsync a mutation, and clear errors where a disk is full or damaged. It must
// not know a rule of the domain beyond the words of library/store.go: who may,
// what stands where and what follows a change is decided above it.
//
// The write-ahead log keeps the order of writes. So a conditional write, which
// is synced, makes everything durable that was written before it, and all other
// writes need no sync of their own: what a crash takes of them is redone from
// the in-flight entry that the conditional write has made durable.
package pebblestore
