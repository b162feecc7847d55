// Package cursor seals and reads the cursors of connections, and checks the arguments of
// a page. It does not know what a connection lists.
package cursor
