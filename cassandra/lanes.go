package cassandra

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/commit"
)

// The in-flight lists of all processes are in one partition, one row each, so that one
// reading of one partition shows all of them. A list is always written whole, and an empty
// one too: there is a tombstone for each process that has ended, and for no change.
//
// Gateways of the former release spread their lists over formerParts partitions, in several
// rows where a list is long, and delete those that are empty. Their lists are read and taken
// over here, and they do the same with ours.
const (
	lanePart    = 0
	formerParts = 4
)

// noEntries is written for an empty list: a block of package commit without entries, which
// the former release reads too.
var noEntries = []byte{2}

// The stamp of a lane is the timestamp of its rows: what is newer stays, and
// what comes late changes nothing.
const (
	putLaneRow  = `INSERT INTO inflight (part, lane, n, pending) VALUES (?, ?, 0, ?) USING TIMESTAMP ?`
	dropLane    = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = ? AND lane = ?`
	selectLanes = `SELECT lane, n, pending, writetime(pending) FROM inflight WHERE part = ?`
)

// laneName returns the name of a lane in the table. The former release finds the partition
// of a lane by a hash of its name. So that it can delete a lane that it has taken over, the
// name ends in a letter by which that hash is lanePart.
func laneName(id commit.LaneID) string {
	for c := 'a'; ; c++ {
		if name := string(id) + "." + string(c); formerPart(name) == lanePart {
			return name // of four letters in a row one does
		}
	}
}

// formerPart is the partition in which the former release looks for a lane.
func formerPart(name string) int8 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return int8(h.Sum32() % formerParts)
}

// formerLane begins the id of a lane that the former release has written. No name of a
// lane there has a colon in it.
const formerLane = "former:"

// laneOf returns the id of the lane of a name.
func laneOf(name string) commit.LaneID {
	if n := len(name) - len(".a"); n > 0 && name[n] == '.' {
		return commit.LaneID(name[:n])
	}
	return commit.LaneID(formerLane + name)
}

// PutLane implements commit.JournalStore: one row with the stamp as its timestamp.
func (s *Store) PutLane(ctx context.Context, l commit.Lane) error {
	pending := noEntries
	if len(l.Blocks) > 0 {
		pending = l.Blocks[0]
	}
	return s.session.WriteStamped(ctx, "write the in-flight list", putLaneRow, int8(lanePart), laneName(l.ID), pending, l.Stamp)
}

// DropLane implements commit.JournalStore.
func (s *Store) DropLane(ctx context.Context, id commit.LaneID, stamp int64) error {
	part, name := int8(lanePart), laneName(id)
	if former, ok := strings.CutPrefix(string(id), formerLane); ok {
		part, name = formerPart(former), former
	}
	return s.session.WriteStamped(ctx, "drop an in-flight list", dropLane, stamp, part, name)
}

// laneRow is a row of the table inflight.
type laneRow struct {
	id    commit.LaneID
	n     int16
	stamp int64
	block []byte
}

// former reports whether the former release has written the row.
func (r laneRow) former() bool { return strings.HasPrefix(string(r.id), formerLane) }

// InFlight implements commit.JournalStore: one statement.
func (s *Store) InFlight(ctx context.Context) ([]commit.Lane, error) {
	if err := s.vouching.check(); err != nil {
		return nil, err
	}
	rows, err := s.lanePart(ctx, "read what is in flight", lanePart, inFlightPage)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(rows, laneRow.former) {
		return nil, errFormerRelease
	}
	return lanesOf(rows), nil
}

// Lanes implements commit.JournalStore. A reading that falls between two writes of a
// lane of the former release may show rows of both: each is whole, and an entry too many
// is harmless.
func (s *Store) Lanes(ctx context.Context) ([]commit.Lane, error) {
	const doing = "read in-flight lists"
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	var parts [formerParts][]laneRow
	err := session.ForEach(ctx, formerParts, formerParts, func(ctx context.Context, part int) (err error) {
		parts[part], err = s.lanePart(ctx, doing, int8(part), lanesPage)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.Concat(parts[:]...)
	s.vouching.sawLanes(slices.ContainsFunc(rows, laneRow.former))
	return lanesOf(rows), nil
}

// lanesOf returns the lanes that rows make up.
func lanesOf(rows []laneRow) []commit.Lane {
	slices.SortFunc(rows, func(a, b laneRow) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.n, b.n)) })
	var lanes []commit.Lane
	for _, row := range rows {
		if n := len(lanes); n == 0 || lanes[n-1].ID != row.id {
			lanes = append(lanes, commit.Lane{ID: row.id})
		}
		l := &lanes[len(lanes)-1]
		l.Stamp = max(l.Stamp, row.stamp)
		if !slices.Equal(row.block, noEntries) {
			l.Blocks = append(l.Blocks, row.block)
		}
	}
	return lanes
}

// How many rows are fetched at a time: few where all is read that lists hold in times of
// trouble, and as many as there may be gateways where a page waits for it.
const (
	lanesPage    = 16
	inFlightPage = 1000
)

func (s *Store) lanePart(ctx context.Context, doing string, part int8, size int) ([]laneRow, error) {
	var (
		rows    []laneRow
		name    string
		n       int16
		pending []byte
		stamp   int64
	)
	err := s.session.Read(ctx, session.Query{Operation: doing, Stmt: selectLanes, Args: []any{part}, PageSize: size}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&name, &n, &pending, &stamp) {
			return false
		}
		rows = append(rows, laneRow{id: laneOf(name), n: n, stamp: stamp, block: slices.Clone(pending)})
		return true
	})
	return rows, err
}
