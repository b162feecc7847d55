package backendtest

import "carrel/core/cursor"

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }

// First asks for the first n edges.
func First(n int) cursor.PageArgs { return cursor.PageArgs{First: &n} }

// Last asks for the last n edges.
func Last(n int) cursor.PageArgs { return cursor.PageArgs{Last: &n} }

// FirstAfter asks for the first n edges after a cursor.
func FirstAfter(n int, c *string) cursor.PageArgs { return cursor.PageArgs{First: &n, After: c} }

// LastBefore asks for the last n edges before a cursor.
func LastBefore(n int, c *string) cursor.PageArgs { return cursor.PageArgs{Last: &n, Before: c} }

// CursorOf returns a pointer to a cursor, nil if it is empty.
func CursorOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
