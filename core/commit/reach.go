package commit

import "encoding/binary"

// Reach is the payload of changes that fan out: which derived rows they concern.
type Reach struct {
	Scope Scope
	// Reverse: for an item, what is shared with whom is concerned too; for a user or
	// a group, it was created.
	Reverse bool
	// Former is what a user or a group was called before, where its name has
	// changed; empty for everything else.
	Former string
	// Principals are in order of id, for ScopeListed.
	Principals []string
}

// isReverse is the bit of a reach that says so.
const isReverse = 1

// Encode returns the payload; nil where nothing derived is concerned.
func (r *Reach) Encode() []byte {
	if r.Scope == ScopeNone && !r.Reverse && r.Former == "" && len(r.Principals) == 0 {
		return nil
	}
	var facts byte
	if r.Reverse {
		facts |= isReverse
	}
	b := AppendText([]byte{byte(r.Scope), facts}, r.Former)
	b = binary.AppendUvarint(b, uint64(len(r.Principals)))
	for _, p := range r.Principals {
		b = AppendText(b, p)
	}
	return b
}

// DecodeReach reads a payload. A nil one is the zero Reach.
func DecodeReach(payload []byte) (Reach, error) {
	if payload == nil {
		return Reach{}, nil
	}
	in := NewReader(payload)
	r := Reach{Scope: Scope(in.Byte()), Reverse: in.Byte()&isReverse != 0, Former: in.Text(), Principals: in.Texts()}
	if !in.OK() || in.More() {
		return Reach{}, errBlock
	}
	return r, nil
}
