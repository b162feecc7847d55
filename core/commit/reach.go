package commit

import "encoding/binary"

// Reach is the payload of changes that fan out: the derived rows that they affect.
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

// Encode returns the payload, or nil if no derived row is affected.
func (r *Reach) Encode() []byte {
	if r.Scope == ScopeNone && !r.All && r.Former == "" && len(r.Principals) == 0 {
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

// DecodeReach reads a payload. A nil payload is the zero Reach.
func DecodeReach(payload []byte) (Reach, error) {
	if payload == nil {
		return Reach{}, nil
	}
	in := NewReader(payload)
	r := Reach{Scope: Scope(in.Byte()), All: in.Byte()&isAll != 0, Former: in.Text(), Principals: in.Texts()}
	if !in.End() {
		return Reach{}, errBlock
	}
	return r, nil
}
