// Package library is the domain of the gateway: principals and their
// libraries, the content shared with them, who may see what, the cursors and
// pages by which it is read, and the write protocol that keeps every library
// right at every crash point and under every race.
//
// It answers for every rule, once. It must not know how rows are stored (that
// is what the Store interfaces in store.go are for), how a request arrived, or
// what GraphQL is. It imports the standard library, golang.org/x/net/idna and
// golang.org/x/text/unicode/norm, nothing else; arch_test.go enforces it.
//
// Concurrency, time and randomness come in through Runtime, so that the
// simulator can drive the same code step by step: no bare go statement, no
// select and no range over a map with effects is found here.
package library
