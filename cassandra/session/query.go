package session

import (
	"context"
	"errors"

	"github.com/gocql/gocql"
)

// Query is one SELECT.
type Query struct {
	Operation string // what it is for, in errors and metrics
	Stmt      string
	Args      []any
	Serial    bool // read the last decided state rather than that of a quorum
	PageSize  int  // rows of a page; 0: all, for statements that limit them
	// PartitionKey may be given if it is one text. The driver then need not find it
	// among the arguments, for which it takes a lock that all statements share.
	PartitionKey string
	from         []byte // the driver's state of the page to read; nil for the first one
}

// ErrEnough ends a Read that needs no more rows. Read then returns nil.
var ErrEnough = errors.New("enough rows were read")

// Read runs a SELECT, scans each row into cells and calls see, until see returns an error. Each page is
// a separate request: it waits at the gate, is observed, and is sent to a second node if the first is
// slow.
func (s *Session) Read(ctx context.Context, r Query, cells []any, see func() error) error {
	for {
		iter, err := s.fetch(ctx, r)
		if err != nil {
			return err
		}
		_, err = recoverPanic(func() (struct{}, error) {
			for iter.Scan(cells...) {
				if err := see(); err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		})
		if errors.Is(err, ErrEnough) {
			return nil
		}
		if err != nil {
			return WrapError(r.Operation, err)
		}
		r.from = iter.PageState()
		if err := iter.Close(); err != nil || len(r.from) == 0 {
			return WrapError(r.Operation, err)
		}
	}
}

// ReadRow runs a SELECT of at most one row, and scans it into cells. It returns false if there is none.
func (s *Session) ReadRow(ctx context.Context, r Query, cells ...any) (found bool, err error) {
	err = s.Read(ctx, r, cells, func() error {
		found = true
		return nil
	})
	return found, err
}

// List runs a SELECT, scans each row into cells, and returns what row makes of them.
func List[T any](ctx context.Context, s *Session, r Query, cells []any, row func() (T, error)) ([]T, error) {
	var all []T
	err := s.Read(ctx, r, cells, func() error {
		one, err := row()
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// fetch reads the next page of a SELECT. It has its own copy of the Query, because an
// attempt that was too slow may still use it when Read asks for the page after it.
func (s *Session) fetch(ctx context.Context, r Query) (*gocql.Iter, error) {
	if r.Serial {
		// Serial reads are not hedged, because two of them would compete.
		return s.ReadOnce(ctx, &r)
	}
	return hedged(ctx, s.hedges, func(t *attempt) (*gocql.Iter, error) { return s.ReadOnce(t, &r) })
}

// ReadEach calls read for 0 to n-1, Width of them at a time, and take with each value, one call at a
// time. read sends one statement with ReadOnce; it is called a second time if a node is slow.
func ReadEach[V any](ctx context.Context, s *Session, n int, read func(ctx context.Context, i int) (V, error),
	take func(i int, value V)) error {
	return hedgedAll(ctx, s.hedges, n, Width, func(t *attempt, i int) (V, error) { return read(t, i) }, take)
}

// ReadOnce sends a SELECT to one node and returns its first page, whose rows have all arrived. It is
// for callers that ask a second node themselves, by ReadEach.
func (s *Session) ReadOnce(ctx context.Context, r *Query) (iter *gocql.Iter, err error) {
	err = s.request(ctx, r.Operation, func() (sent, error) {
		level := s.level
		if r.Serial {
			level = gocql.Consistency(s.serial)
		}
		// With a page state, even an empty one, the driver does not fetch pages itself.
		q := s.driver.Query(r.Stmt, r.Args...).WithContext(ctx).Consistency(level).PageSize(r.PageSize).PageState(r.from)
		defer q.Release()
		if r.PartitionKey != "" {
			q.RoutingKey([]byte(r.PartitionKey))
		}
		iter = q.Idempotent(true).RetryPolicy(s.retryOnce).Iter()
		if len(iter.Columns()) > 0 {
			return sent{outcomeOK, q.Attempts()}, nil
		}
		// Only a failed request has no columns, and Close alone returns its error.
		err := iter.Close()
		return sent{outcomeName(err), q.Attempts()}, WrapError(r.Operation, err)
	})
	return iter, err
}
