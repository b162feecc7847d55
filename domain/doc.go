// Package domain connects the domains: Store is the interface of a store for all of them, and Open
// creates their Services on one. It has no rules of its own, and does not know the callers of the
// Services or the kind of store.
package domain
