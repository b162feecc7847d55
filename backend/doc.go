// Package backend composes the domains: Store is what all of them together need of a
// kind of store, and Open connects their Services on one. It has no rules of its own, and
// does not know who calls the Services or which kind of store it is given.
package backend
