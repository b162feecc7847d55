package cassandra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"carrel/cassandra/session"
	"carrel/core/fault"
	"carrel/interchange/archive"
)

var _ archive.Store = (*Store)(nil)

// ReadRows reads partitions in the order of their tokens, in which a cluster stores them, and the
// rows of a partition in their order. Partitions with the same token are in the order of their keys. This
// order is stable and the same for every process, so any process can continue after the last row that
// another has read.

// rowPosition is the position of a row in its table.
type rowPosition struct {
	Token int64  `json:"token"`
	Part  []byte `json:"part"`          // the key of its partition
	Row   []byte `json:"row,omitempty"` // its key within the partition; empty if the partition is a single row
}

// archiveTable describes how to read the rows of a chapter. Its statements return the same columns.
type archiveTable struct {
	doing string
	// onward reads the rows of the partitions from a token on. within reads the rows of a partition after
	// one of them; it is empty if each partition has only one row.
	onward, within string
	// after converts the keys of a position to the arguments of within.
	after func(part, row []byte) ([]any, error)
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

// run reads the rest of the partition in which the last page ended, and then everything from its token
// on that follows it.
func (w *archiveWalk) run(ctx context.Context) error {
	token := beforeAllTokens
	if w.at != nil {
		token = w.at.Token
	}
	if w.at != nil && w.table.within != "" {
		args, err := w.table.after(w.at.Part, w.at.Row)
		if err != nil {
			return session.WrapError(w.table.doing, err)
		}
		if err := w.collect(ctx, w.table.within, nil, args...); err != nil {
			return err
		}
	}
	return w.collect(ctx, w.table.onward, w.at, token)
}

// collect runs a statement and collects its rows, up to the limit. It passes over the partitions with the
// token of a position up to that of the position: hardly ever more than one, whose rows are read again.
func (w *archiveWalk) collect(ctx context.Context, stmt string, done *rowPosition, args ...any) error {
	had := len(w.rows)
	if had >= w.limit {
		return nil
	}
	r := session.Query{Operation: w.table.doing, Stmt: stmt, Args: args, PageSize: min(archivePage, w.limit+1)}
	return w.store.withRetries(ctx, func() error {
		w.rows = w.rows[:had]
		var token int64
		var last rowPosition
		cells, next := w.table.rows()
		err := w.store.session.Read(ctx, r, append([]any{&token}, cells...), func() error {
			row, at, err := next()
			if at.Token = token; err != nil || done != nil && token == done.Token && bytes.Compare(at.Part, done.Part) <= 0 {
				return err
			}
			if w.rows, last = append(w.rows, row), at; len(w.rows) == w.limit {
				return session.ErrEnough
			}
			return nil
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
