package cursor

// Cursor encodes a cursor on demand, because most cursors of a page are not requested.
type Cursor interface {
	// AppendCursor appends the cursor to b. A cursor has no character that JSON escapes.
	AppendCursor(b []byte) []byte
}

// Sealed is a Position with the Sealer and the binding of its cursor.
type Sealed struct {
	Sealer   *Sealer
	Binding  []byte
	Position Position
}

// AppendCursor implements Cursor.
func (s *Sealed) AppendCursor(b []byte) []byte { return s.Sealer.AppendSeal(b, s.Binding, s.Position) }
