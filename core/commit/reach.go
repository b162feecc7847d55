package commit

import (
	"cmp"
	"encoding/binary"
)

// Reach describes the derived rows that a change affects.
type Reach struct {
	Scope Scope
	// All, for an item, is whether all derived rows are affected, and not only the entries in the order of the last
	// change; for a user or a group, whether it was created.
	All bool
	// Former is the former name of a user or a group whose name has changed; otherwise
	// empty.
	Former string
	// Principals are the affected principals if the scope is ScopeListed, ordered by id.
	Principals []string
}

// isAll is the flag of Reach.All.
const isAll = 1

// AffectsNothing reports whether no derived row is affected.
func (r *Reach) AffectsNothing() bool {
	return r.Scope == ScopeNone && !r.All && r.Former == "" && len(r.Principals) == 0
}

// With returns what both affect. If both have a former name, it is that of r.
func (r Reach) With(other Reach) Reach {
	return Reach{
		Scope: max(r.Scope, other.Scope), All: r.All || other.All, Former: cmp.Or(r.Former, other.Former),
		Principals: Union(r.Principals, other.Principals),
	}
}

// encode returns the stored form, or nil if no derived row is affected.
func (r *Reach) encode() []byte {
	if r.AffectsNothing() {
		return nil
	}
	var flags byte
	if r.All {
		flags |= isAll
	}
	b := AppendText([]byte{byte(r.Scope), flags}, r.Former)
	b = binary.AppendUvarint(b, uint64(len(r.Principals)))
	for _, p := range r.Principals {
		b = AppendText(b, p)
	}
	return b
}

// decodeReach reads what encode has returned; ok is false if it cannot be read.
func decodeReach[T ~string | ~[]byte](b T) (r Reach, ok bool) {
	if len(b) == 0 {
		return Reach{}, true
	}
	in := NewReader(b)
	r = Reach{Scope: Scope(in.Byte()), All: in.Byte()&isAll != 0, Former: in.Text(), Principals: in.Texts()}
	return r, in.End()
}

// Size returns the most bytes that the stored form takes.
func (r *Reach) Size() int {
	size := 2 + 2*binary.MaxVarintLen32 + len(r.Former)
	for _, p := range r.Principals {
		size += binary.MaxVarintLen16 + len(p)
	}
	return size
}
