// Package repair restores derived rows from the authoritative ones: libraries that are missing
// or wrong, memberships and the directory. It audits and scrubs a store, and rebuilds what an
// operator requests. It does not know how rows are stored.
package repair
