package lease

import "context"

// Row is a lease as stores keep it. Data is opaque to them.
type Row struct {
	ID   ID
	Seq  int64
	Data []byte
}

// Store keeps leases. All its writes are compare-and-set. The error of a write that may
// have been applied satisfies fault.MayHaveCommitted.
type Store interface {
	// ReadLease reads a lease serially: it finishes a pending write, and returns the last
	// decided row. It must return the zero Row where there is none.
	ReadLease(ctx context.Context, id ID) (Row, error)
	// CommitLease stores r if the Seq of the lease is one less than that of r, or if there is
	// no lease and the Seq of r is 1. It must return the row that the lease has then, the zero
	// Row where it has none. So it also returns r if r was stored before.
	CommitLease(ctx context.Context, r Row) (Row, error)
	// DropLease must remove a lease iff it has this Seq.
	DropLease(ctx context.Context, id ID, seq int64) error
	// ScanLeases lists at most limit leases after an id, each once, in a stable order of the
	// store's choice. The empty id comes before all others.
	ScanLeases(ctx context.Context, after ID, limit int) ([]Row, error)
}
