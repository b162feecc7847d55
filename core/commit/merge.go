package commit

import (
	"cmp"
	"slices"
)

// maxMerged is how many principals a merged entry may name, so that one entry takes a
// small part of a list.
const maxMerged = 1000

// Merge returns one entry for two decided ones of the same kind and key, of which both or
// neither are deferred. ok is false if they cannot be finished as one: together they name
// too many principals, or two former names.
func Merge(a, b Entry) (merged Entry, ok bool) {
	both := a.With(b.Reach)
	if a.Former != "" && b.Former != "" && a.Former != b.Former || len(both.Principals) > maxMerged {
		return Entry{}, false
	}
	first := min(a.Base-a.Span, b.Base-b.Span)
	a.Base, a.Lingers = max(a.Base, b.Base), a.Lingers || b.Lingers
	a.Span = a.Base - first
	a.Reach = both
	return a, true
}

// Union returns the elements of both lists, sorted and without duplicates.
func Union[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
