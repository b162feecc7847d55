package commit

import (
	"cmp"
	"slices"
)

// maxMerged is how many principals a merged entry names at most, so that one entry takes
// little of a list.
const maxMerged = 1000

// Recoverable reports whether something is to be finished after the change.
func (e *Entry) Recoverable() bool { return len(e.Payload) > 0 || e.Due != 0 }

// Merge returns one entry for two decided ones of the same kind and key, which both or
// neither wait for a time. ok is false where they cannot be finished as one: together
// they name too many principals, or two former names.
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
		Scope: max(x.Scope, y.Scope), Reverse: x.Reverse || y.Reverse, Former: cmp.Or(x.Former, y.Former), Principals: principals,
	}
	a.Base = max(a.Base, b.Base)
	a.Payload = both.Encode()
	return a, true
}

// Union returns the elements of both lists, in order and each once.
func Union[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
