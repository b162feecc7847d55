package domaintest

import "carrel/core/cursor"

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }

// First requests the first n edges.
func First(n int) cursor.PageArgs { return cursor.PageArgs{First: &n} }

// Last requests the last n edges.
func Last(n int) cursor.PageArgs { return cursor.PageArgs{Last: &n} }

// FirstAfter requests the first n edges after a cursor.
func FirstAfter(n int, c *string) cursor.PageArgs { return cursor.PageArgs{First: &n, After: c} }

// LastBefore requests the last n edges before a cursor.
func LastBefore(n int, c *string) cursor.PageArgs { return cursor.PageArgs{Last: &n, Before: c} }

// CursorOf returns a pointer to a cursor, or nil if it is empty.
func CursorOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
