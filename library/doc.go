// Package library is content and the libraries that list it: items and their members, who may see
// what, the mutations of items, and the write protocol that keeps every library correct after every
// crash and under every race. Package listing reads the pages of libraries, feed delivers their
// changes, and repair restores what was lost.
//
// It holds every rule once. It must not know how rows are stored (see the Store interfaces in
// store.go), how a request arrived, or what GraphQL is. It imports only the standard library and
// other packages of the domain; imports_test.go checks what the domain may import.
//
// Concurrency, time and randomness come from a Runtime, so that the simulator can run the same
// code step by step. So the package has no bare go statement, no select and no range over a map
// with effects.
package library
