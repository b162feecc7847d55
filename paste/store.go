package paste

import "context"

// Row is a paste as stores keep it. They do not look into Data.
type Row struct {
	ID   ID
	Seq  int64
	Data []byte
}

// BodyID names a long body among those of its paste: 16 random bytes.
type BodyID [16]byte

// BodyRef names a long body.
type BodyRef struct {
	Paste ID
	Body  BodyID
}

// MaxRows is the most rows or bodies that one call of a Store names.
const MaxRows = 100

// Store keeps pastes. The error of a CommitPaste that may have been applied satisfies
// fault.MayHaveCommitted.
type Store interface {
	// ReadPaste reads a paste serially: it finishes a write under way, and returns the row
	// that was decided last. It must return the zero Row where there is none.
	ReadPaste(ctx context.Context, id ID) (Row, error)
	// ReadPastes must return the rows in the order of ids, at most MaxRows, the zero Row
	// where there is none. It shows every write that was acknowledged before.
	ReadPastes(ctx context.Context, ids []ID) ([]Row, error)
	// CommitPaste stores r where the paste has the Seq before r's, or none and r's is 1, by
	// compare-and-set. It must return the row that the paste has then, the zero Row where it
	// has none. So r is the answer also where it was stored before.
	CommitPaste(ctx context.Context, r Row) (Row, error)
	// DropPaste must remove a paste iff it has this Seq.
	DropPaste(ctx context.Context, id ID, seq int64) error
	// ScanPastes lists at most limit pastes after an id, each once, in an order of the
	// store's own that lasts. The empty id comes before all others.
	ScanPastes(ctx context.Context, after ID, limit int) ([]Row, error)

	// PutBody stores a body before the commit that refers to it. It must be durable when a
	// CommitPaste that follows it is.
	PutBody(ctx context.Context, ref BodyRef, body string) error
	// ReadBodies must return the bodies in the order of refs, at most MaxRows, nil where
	// there is none.
	ReadBodies(ctx context.Context, refs []BodyRef) ([]*string, error)
	// ListBodies must list the bodies of a paste, without their texts.
	ListBodies(ctx context.Context, id ID) ([]BodyID, error)
	// DropBodies removes bodies, at most MaxRows. It must be harmless when repeated.
	DropBodies(ctx context.Context, refs []BodyRef) error
}
