// Package repair brings derived rows in line with the authoritative ones: libraries that
// are missing or wrong, memberships and the directory. It audits and scrubs a store, and
// rebuilds what an operator asks for. It does not know how rows are stored.
package repair
