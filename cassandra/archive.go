package cassandra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"carrel/cassandra/session"
	"carrel/core/fault"
	"carrel/interchange/archive"
)

var _ archive.Store = (*Store)(nil)

// ReadRows reads partitions in the order of their tokens, in which a cluster stores them, and the
// rows of a partition in their order. This order is stable and the same for every process, so any
// process can continue after the last row that another has read.

// rowPosition is the position of a row in its table.
type rowPosition struct {
	Token int64  `json:"token"`
	Part  []byte `json:"part"`          // the key of its partition
	Row   []byte `json:"row,omitempty"` // its key within the partition; empty if the partition is a single row
}

// archiveTable describes how to read the rows of a chapter. All its statements return the same
// columns.
type archiveTable struct {
	doing string
	// beyond reads the rows of the partitions after a token. within reads the rows of a partition
	// after one of them. beside lists the keys of the partitions with a token.
	beyond, within, beside string
	// single reports that each partition has only one row.
	single bool
	// partition and row convert the keys of a position to the arguments of the statements. row of
	// nil is the position before the first row.
	partition func(part []byte) ([]any, error)
	row       func(row []byte) ([]any, error)
	// key returns the cells of the key of a partition that beside lists, and a function that makes the
	// key of them.
	key func() (cells []any, part func() ([]byte, error))
	// rows returns the cells of a row after its token, and a function that makes the row of them.
	rows func() ([]any, rowReader)
}

// rowReader returns a row and its position, without its token.
type rowReader func() (r archive.Row, at rowPosition, err error)

// beforeAllTokens is smaller than the token of any partition.
const beforeAllTokens int64 = math.MinInt64

// archivePage is the number of rows in a page. Most rows are small, a header may have tens of
// kilobytes, and a text or the body of a paste up to 512 KiB.
const archivePage = 100

// ReadRows implements archive.Store.
func (s *Store) ReadRows(ctx context.Context, c archive.Chapter, after []byte, limit int) (rows []archive.Row, next []byte, err error) {
	t, err := archiveTableOf(c)
	if err != nil {
		return nil, nil, err
	}
	w := &archiveWalk{store: s, table: t, limit: limit}
	if after != nil {
		w.at = new(rowPosition)
		if err := json.Unmarshal(after, w.at); err != nil {
			return nil, nil, session.WrapError(t.doing, fmt.Errorf("%w: a position", session.ErrMalformedCell))
		}
	}
	if err := w.run(ctx); err != nil {
		return nil, nil, err
	}
	if len(w.rows) < limit {
		return w.rows, nil, nil
	}
	next, err = json.Marshal(w.at)
	return w.rows, next, session.WrapError(t.doing, err)
}

// archiveWalk reads one page.
type archiveWalk struct {
	store *Store
	table *archiveTable
	limit int
	rows  []archive.Row
	at    *rowPosition // the position of the last row; nil before the first
}

// run reads the rest of the partition in which the last page ended, then the partitions with the
// same token, then everything after the token.
func (w *archiveWalk) run(ctx context.Context) error {
	token := beforeAllTokens
	if w.at != nil {
		token = w.at.Token
		if err := w.rest(ctx, *w.at); err != nil {
			return err
		}
	}
	if len(w.rows) >= w.limit {
		return nil
	}
	return w.collect(ctx, w.table.beyond, token)
}

// rest reads the remaining rows of one token.
func (w *archiveWalk) rest(ctx context.Context, at rowPosition) error {
	if !w.table.single {
		if err := w.partition(ctx, at.Part, at.Row); err != nil {
			return err
		}
	}
	if len(w.rows) >= w.limit {
		return nil
	}
	parts, err := w.beside(ctx, at.Token)
	if err != nil {
		return err
	}
	// Partitions with the same token are stored in the order of their keys.
	for _, part := range parts {
		if bytes.Compare(part, at.Part) <= 0 || len(w.rows) >= w.limit {
			continue
		}
		if err := w.partition(ctx, part, nil); err != nil {
			return err
		}
	}
	return nil
}

// beside lists the partitions with a token. There is hardly ever more than one.
func (w *archiveWalk) beside(ctx context.Context, token int64) (parts [][]byte, err error) {
	r := session.Query{Operation: w.table.doing, Stmt: w.table.beside, Args: []any{token}}
	err = w.store.withRetries(ctx, func() (err error) {
		cells, part := w.table.key()
		parts, err = session.List(ctx, w.store.session, r, cells, part)
		return err
	})
	slices.SortFunc(parts, bytes.Compare)
	return parts, err
}

// partition reads the rows of a partition after one of them.
func (w *archiveWalk) partition(ctx context.Context, part, row []byte) error {
	args, err := w.table.partition(part)
	if err != nil {
		return session.WrapError(w.table.doing, err)
	}
	if !w.table.single {
		more, err := w.table.row(row)
		if err != nil {
			return session.WrapError(w.table.doing, err)
		}
		args = append(args, more...)
	}
	return w.collect(ctx, w.table.within, args...)
}

// collect runs a statement that ends with a limit and collects its rows.
func (w *archiveWalk) collect(ctx context.Context, stmt string, args ...any) error {
	had := len(w.rows)
	r := session.Query{Operation: w.table.doing, Stmt: stmt, Args: append(args, w.limit-had), PageSize: archivePage}
	return w.store.withRetries(ctx, func() error {
		w.rows = w.rows[:had]
		var last rowPosition
		var tokenOf int64
		cells, next := w.table.rows()
		err := w.store.session.Read(ctx, r, append([]any{&tokenOf}, cells...), func() error {
			row, at, err := next()
			at.Token = tokenOf
			w.rows, last = append(w.rows, row), at
			return err
		})
		if err == nil && len(w.rows) > had {
			w.at = &last
		}
		return err
	})
}

// Limits for retrying. A copy takes long, and must continue after a node was restarted.
const (
	unavailableTries = 6
	unavailablePause = 500 * time.Millisecond
)

// withRetries calls do, which must be repeatable, and calls it again after a doubling pause while
// the cluster is unavailable.
func (s *Store) withRetries(ctx context.Context, do func() error) error {
	wait := unavailablePause
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == unavailableTries || fault.CodeOf(err) != fault.Unavailable || session.Pause(ctx, wait) != nil {
			return err
		}
		wait *= 2
	}
}
