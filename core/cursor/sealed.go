package cursor

// Cursor makes a cursor when it is asked for: of most places of a page nobody asks.
type Cursor interface {
	// AppendCursor appends the cursor to b. It has no character that JSON escapes.
	AppendCursor(b []byte) []byte
}

// Sealed is a place in a connection with what seals it.
type Sealed struct {
	Sealer *Sealer
	Bound  []byte
	Place  Place
}

// AppendCursor implements Cursor.
func (s *Sealed) AppendCursor(b []byte) []byte { return s.Sealer.AppendSeal(b, s.Bound, s.Place) }
