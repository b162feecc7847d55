package cassandra

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/commit"
	"carrel/core/fault"
)

// laneParts is over how many partitions the lanes are spread, so that many
// gateways do not write one: all of them are read each second by each gateway.
const laneParts = 4

// laneRows remember how many rows a write of this process may have given each
// of its lanes, so that a shorter list takes the others away.
type laneRows struct {
	mu   sync.Mutex
	rows map[commit.LaneID]int
}

// begin notes that a lane is about to be written in n rows, and tells how many
// it may have; ok is false where that is not known.
func (l *laneRows) begin(id commit.LaneID, n int) (had int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, ok = l.rows[id]
	l.rows[id] = max(had, n)
	return had, ok
}

// end notes that a write was acknowledged: older ones that come late are
// shadowed by it.
func (l *laneRows) end(id commit.LaneID, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == 0 {
		delete(l.rows, id)
		return
	}
	l.rows[id] = n
}

// The stamp of a lane is the timestamp of its rows: what is newer stays, and
// what comes late changes nothing.
const (
	putLaneRow   = `INSERT INTO inflight (part, lane, n, pending) VALUES (?, ?, ?, ?) USING TIMESTAMP ?`
	dropLaneRows = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = ? AND lane = ? AND n >= ?`
	dropLane     = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = ? AND lane = ?`
	selectLanes  = `SELECT lane, n, pending, writetime(pending) FROM inflight WHERE part = ?`
)

// PutLane implements library.JournalStore: one mutation with the stamp as its
// timestamp.
func (s *Store) PutLane(ctx context.Context, l commit.Lane) error {
	if len(l.Blocks) == 0 {
		err := s.DropLane(ctx, l.ID, l.Stamp)
		if err == nil {
			s.lanes.end(l.ID, 0)
		}
		return err
	}
	if len(l.Blocks) > math.MaxInt16 {
		return fault.Unavailablef(nil, "too many changes are under way")
	}
	part, id := partOf(l.ID), string(l.ID)
	var ch session.Batch
	for n, block := range l.Blocks {
		ch.Append(putLaneRow, part, id, int16(n), block, l.Stamp)
	}
	if had, known := s.lanes.begin(l.ID, len(l.Blocks)); !known || had > len(l.Blocks) {
		ch.Append(dropLaneRows, l.Stamp, part, id, int16(len(l.Blocks)))
	}
	if err := s.session.WriteBatch(ctx, "write the in-flight list", &ch); err != nil {
		return err
	}
	s.lanes.end(l.ID, len(l.Blocks))
	return nil
}

// DropLane implements library.JournalStore.
func (s *Store) DropLane(ctx context.Context, id commit.LaneID, stamp int64) error {
	return s.session.WriteStamped(ctx, "drop an in-flight list", dropLane, stamp, partOf(id), string(id))
}

// partOf is the partition of a lane.
func partOf(id commit.LaneID) int8 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	return int8(h.Sum32() % laneParts)
}

// laneRow is a row of the table inflight.
type laneRow struct {
	id    commit.LaneID
	n     int16
	stamp int64
	block []byte
}

// Lanes implements library.JournalStore. A reading that falls between two
// writes of a lane may show rows of both: each is whole, and an entry too many
// is harmless.
func (s *Store) Lanes(ctx context.Context) ([]commit.Lane, error) {
	const doing = "read in-flight lists"
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	var parts [laneParts][]laneRow
	err := session.ForEach(ctx, laneParts, laneParts, func(ctx context.Context, part int) (err error) {
		parts[part], err = s.lanePart(ctx, doing, int8(part))
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.Concat(parts[:]...)
	slices.SortFunc(rows, func(a, b laneRow) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.n, b.n)) })
	var lanes []commit.Lane
	for _, row := range rows {
		if n := len(lanes); n == 0 || lanes[n-1].ID != row.id {
			lanes = append(lanes, commit.Lane{ID: row.id})
		}
		l := &lanes[len(lanes)-1]
		l.Stamp = max(l.Stamp, row.stamp)
		l.Blocks = append(l.Blocks, row.block)
	}
	return lanes, nil
}

// lanesPage is how many rows of at most 512 KiB are fetched at a time.
const lanesPage = 16

func (s *Store) lanePart(ctx context.Context, doing string, part int8) ([]laneRow, error) {
	var (
		rows    []laneRow
		id      string
		n       int16
		pending []byte
		stamp   int64
	)
	err := s.session.Read(ctx, session.Query{Operation: doing, Stmt: selectLanes, Args: []any{part}, PageSize: lanesPage}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&id, &n, &pending, &stamp) {
			return false
		}
		rows = append(rows, laneRow{id: commit.LaneID(id), n: n, stamp: stamp, block: slices.Clone(pending)})
		return true
	})
	return rows, err
}
