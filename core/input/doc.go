// Package input checks the fields of mutations: those that may be left out, and texts
// that people have written. It does not know what a field is for.
package input
