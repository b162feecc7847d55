package paste

import (
	"context"

	"carrel/core/clock"
	"carrel/core/commit"
)

// Row is a paste as stores keep it. They read no more of its Data than CreatedAt does.
type Row = commit.Row[ID]

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

// Store keeps pastes.
type Store interface {
	commit.RowStore[ID]
	// ReadPastes must return the rows in the order of refs, at most MaxRows, the zero Row
	// where there is none. It must return the same row if CreatedAt is unknown or wrong. It shows
	// every write that was acknowledged before.
	ReadPastes(ctx context.Context, refs []Ref) ([]Row, error)

	// PutBody stores a body before the commit that refers to it. It must be durable when a
	// CommitRow that follows it is.
	PutBody(ctx context.Context, ref BodyRef, body string) error
	// ReadBodies must return the bodies in the order of refs, at most MaxRows, nil where
	// there is none.
	ReadBodies(ctx context.Context, refs []BodyRef) ([]*string, error)
	// ListBodies must list the bodies of a paste, without their texts.
	ListBodies(ctx context.Context, id ID) ([]BodyID, error)
	// DropBodies removes bodies, at most MaxRows. It must be harmless when repeated.
	DropBodies(ctx context.Context, refs []BodyRef) error
}
