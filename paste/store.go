package paste

import (
	"context"

	"carrel/core/clock"
)

// Row is a paste as stores keep it. Data is opaque to them, except for what CreatedAt returns.
type Row struct {
	ID   ID
	Seq  int64
	Data []byte
}

// Ref refers to a paste. CreatedAt helps a store find the row faster; it is 0 if it is not known.
type Ref struct {
	ID        ID
	CreatedAt clock.Instant
}

// BodyID identifies a long body of a paste: 16 bytes, of which the last 8 are random.
type BodyID [16]byte

// BodyRef identifies a long body in a store.
type BodyRef struct {
	Paste ID
	Body  BodyID
}

// MaxRows is how many rows or bodies one call of a Store may name.
const MaxRows = 100

// Store keeps pastes. The error of a CommitPaste that may have been applied satisfies
// fault.MayHaveCommitted.
type Store interface {
	// ReadPaste reads a paste serially: it finishes a pending write, and returns the last decided
	// row. It must return the zero Row where there is none.
	ReadPaste(ctx context.Context, id ID) (Row, error)
	// ReadPastes must return the rows in the order of refs, at most MaxRows, the zero Row
	// where there is none. It must return the same row if CreatedAt is unknown or wrong. It shows
	// every write that was acknowledged before.
	ReadPastes(ctx context.Context, refs []Ref) ([]Row, error)
	// CommitPaste stores r, by compare-and-set, if the Seq of the paste is one less than that of
	// r, or if there is no paste and the Seq of r is 1. It must return the row that the paste has
	// then, the zero Row where it has none. So it also returns r if r was stored before.
	CommitPaste(ctx context.Context, r Row) (Row, error)
	// DropPaste must remove a paste iff it has this Seq.
	DropPaste(ctx context.Context, id ID, seq int64) error
	// ScanPastes lists at most limit pastes after an id, each once, in a stable order of the
	// store's choice. The empty id comes before all others.
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
