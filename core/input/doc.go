// Package input checks the fields of mutations: optional fields, and texts written by people.
// It does not know what a field is for.
package input
