package session

import (
	"context"

	"github.com/gocql/gocql"
)

// Write runs a statement that may be executed twice, but not late. It is sent to one node, and to
// another one if the first fails.
func (s *Session) Write(ctx context.Context, operation, stmt string, args ...any) error {
	return s.request(ctx, operation, func() (sent, error) {
		q := s.driver.Query(stmt, args...).WithContext(ctx).Consistency(s.level)
		err := q.Idempotent(true).RetryPolicy(s.retryOnce).Exec()
		return sent{outcomeName(err), q.Attempts()}, WrapError(operation, err)
	})
}

// WriteStamped is Write for a statement with its own timestamp, which may be executed
// twice and late. It is sent to a second node if the first is slow.
func (s *Session) WriteStamped(ctx context.Context, operation, stmt string, args ...any) error {
	return s.WriteEach(ctx, 1, func(ctx context.Context, _ int) error { return s.Write(ctx, operation, stmt, args...) })
}

// Width is how many statements one call may have in flight. It is enough to read a page of 20 items
// at once, and an import of thousands does not fill the gate.
const Width = 64

// WriteEach calls send for 0 to n-1, Width of them at a time. send makes one Write with
// its own timestamp; it is called a second time if a node is slow.
func (s *Session) WriteEach(ctx context.Context, n int, send func(ctx context.Context, i int) error) error {
	try := func(t *attempt, i int) (struct{}, error) { return struct{}{}, send(t, i) }
	return hedgedAll(ctx, s.hedges, n, Width, try, func(int, struct{}) {})
}

// Batch is a list of statements for one partition, which are applied together.
type Batch struct{ Entries []gocql.BatchEntry }

// Append adds a statement.
func (b *Batch) Append(stmt string, args ...any) {
	b.Entries = append(b.Entries, gocql.BatchEntry{Stmt: stmt, Args: args})
}

// WriteBatch applies statements with their own timestamps as one atomic mutation. It may
// be executed twice and late. An empty batch is not sent.
func (s *Session) WriteBatch(ctx context.Context, operation string, c *Batch) error {
	if len(c.Entries) == 0 {
		return nil
	}
	for i := range c.Entries {
		c.Entries[i].Idempotent = true
	}
	return s.WriteEach(ctx, 1, func(ctx context.Context, _ int) error {
		return s.request(ctx, operation, func() (sent, error) {
			b := s.driver.NewBatch(gocql.UnloggedBatch).WithContext(ctx).RetryPolicy(s.retryOnce)
			b.Cons, b.Entries = s.level, c.Entries
			err := s.driver.ExecuteBatch(b)
			return sent{outcomeName(err), b.Attempts()}, WrapError(operation, err)
		})
	})
}
