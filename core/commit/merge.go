package commit

import (
	"cmp"
	"slices"
)

// maxMerged is how many principals a merged entry may name, so that one entry takes a
// small part of a list.
const maxMerged = 1000

// Recoverable reports whether the change must be on the list: there is work to finish after it,
// or it lingers.
func (e *Entry) Recoverable() bool { return len(e.Payload) > 0 || e.Due != 0 || e.Lingers }

// Merge returns one entry for two decided ones of the same kind and key, of which both or
// neither are deferred. ok is false if they cannot be finished as one: together they name
// too many principals, or two former names.
func Merge(a, b Entry) (merged Entry, ok bool) {
	x, err := DecodeReach(a.Payload)
	if err != nil {
		return Entry{}, false
	}
	y, err := DecodeReach(b.Payload)
	if err != nil || x.Former != "" && y.Former != "" && x.Former != y.Former {
		return Entry{}, false
	}
	principals := Union(x.Principals, y.Principals)
	if len(principals) > maxMerged {
		return Entry{}, false
	}
	both := Reach{
		Scope: max(x.Scope, y.Scope), All: x.All || y.All, Former: cmp.Or(x.Former, y.Former), Principals: principals,
	}
	first := min(a.Base-a.Span, b.Base-b.Span)
	a.Base, a.Lingers = max(a.Base, b.Base), a.Lingers || b.Lingers
	a.Span = a.Base - first
	a.Payload = both.Encode()
	return a, true
}

// Union returns the elements of both lists, sorted and without duplicates.
func Union[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
