// Package exchange exports users, groups, items and their texts in the form in which they are
// imported. It reads the authoritative rows, and checks no rights. It does not know how an export
// is written.
package exchange
