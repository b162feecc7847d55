package commit

import "context"

// Row is the state of what is one row, such as a lease or a paste, as stores keep it. Data is opaque to
// them.
type Row[ID ~string] struct {
	ID   ID
	Seq  int64
	Data []byte
}

// RowStore keeps the rows of one kind. All its writes are compare-and-set. The error of a
// write that may have been applied satisfies fault.MayHaveCommitted.
type RowStore[ID ~string] interface {
	// ReadRow reads a row serially: it finishes a pending write, and returns the last decided row.
	// It must return the zero Row where there is none.
	ReadRow(ctx context.Context, id ID) (Row[ID], error)
	// CommitRow stores r if the Seq of the row is one less than that of r, or if there is no row and
	// the Seq of r is 1. It must return the row that is stored then, the zero Row where there is
	// none. So it also returns r if r was stored before.
	CommitRow(ctx context.Context, r Row[ID]) (Row[ID], error)
	// DropRow must remove a row iff it has this Seq.
	DropRow(ctx context.Context, id ID, seq int64) error
	// ScanRows lists at most limit rows after an id, each once, in a stable order of the store's
	// choice. The empty id comes before all others.
	ScanRows(ctx context.Context, after ID, limit int) ([]Row[ID], error)
}
