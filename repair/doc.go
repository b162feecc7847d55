// Package repair restores derived rows from the authoritative ones: libraries that are missing or
// wrong, memberships and the directory. It audits and scrubs a store, and rebuilds what an operator
// requests. A derived row is justified if the authoritative rows require it. The package does not
// know how rows are stored.
package repair
