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
	listPart    = 0
	formerParts = 4
)

// noEntries is written for an empty list: a block of package commit without entries, which
// the former release reads too.
var noEntries = []byte{2}

// The stamp of a lane is the timestamp of its rows: what is newer stays, and
// what comes late changes nothing.
const (
	putListRow          = `INSERT INTO inflight (part, lane, n, pending) VALUES (?, ?, 0, ?) USING TIMESTAMP ?`
	deleteInFlightList  = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = ? AND lane = ?`
	selectInFlightLists = `SELECT lane, n, pending, writetime(pending) FROM inflight WHERE part = ?`
)

// listName returns the name of a lane in the table. The former release finds the partition
// of a lane by a hash of its name. So that it can delete a lane that it has taken over, the
// name ends in a letter by which that hash is listPart.
func listName(id commit.ListID) string {
	for c := 'a'; ; c++ {
		if name := string(id) + "." + string(c); formerPart(name) == listPart {
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

// formerInFlightList begins the id of a lane that the former release has written. No name of a
// lane there has a colon in it.
const formerInFlightList = "former:"

// inFlightListOf returns the id of the lane of a name.
func inFlightListOf(name string) commit.ListID {
	if n := len(name) - len(".a"); n > 0 && name[n] == '.' {
		return commit.ListID(name[:n])
	}
	return commit.ListID(formerInFlightList + name)
}

// PutInFlightList implements commit.JournalStore: one row with the stamp as its timestamp.
func (s *Store) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	pending := noEntries
	if len(l.Blocks) > 0 {
		pending = l.Blocks[0]
	}
	return s.session.WriteStamped(ctx, "write the in-flight list", putListRow, int8(listPart), listName(l.ID), pending, l.Stamp)
}

// DeleteInFlightList implements commit.JournalStore.
func (s *Store) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	part, name := int8(listPart), listName(id)
	if former, ok := strings.CutPrefix(string(id), formerInFlightList); ok {
		part, name = formerPart(former), former
	}
	return s.session.WriteStamped(ctx, "drop an in-flight list", deleteInFlightList, stamp, part, name)
}

// listRow is a row of the table inflight.
type listRow struct {
	id    commit.ListID
	n     int16
	stamp int64
	block []byte
}

// former reports whether the former release has written the row.
func (r listRow) former() bool { return strings.HasPrefix(string(r.id), formerInFlightList) }

// InFlight implements commit.JournalStore: one statement.
func (s *Store) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	if err := s.vouching.check(); err != nil {
		return nil, err
	}
	rows, err := s.listPart(ctx, "read what is in flight", listPart, inFlightPage)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(rows, listRow.former) {
		return nil, errFormerRelease
	}
	return inFlightListsOf(rows), nil
}

// InFlightLists implements commit.JournalStore. A reading that falls between two writes of a
// lane of the former release may show rows of both: each is whole, and an entry too many
// is harmless.
func (s *Store) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	const doing = "read in-flight lists"
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	var parts [formerParts][]listRow
	err := session.ForEach(ctx, formerParts, formerParts, func(ctx context.Context, part int) (err error) {
		parts[part], err = s.listPart(ctx, doing, int8(part), listsPage)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.Concat(parts[:]...)
	s.vouching.sawLists(slices.ContainsFunc(rows, listRow.former))
	return inFlightListsOf(rows), nil
}

// inFlightListsOf returns the lanes that rows make up.
func inFlightListsOf(rows []listRow) []commit.InFlightList {
	slices.SortFunc(rows, func(a, b listRow) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.n, b.n)) })
	var inFlightLists []commit.InFlightList
	for _, row := range rows {
		if n := len(inFlightLists); n == 0 || inFlightLists[n-1].ID != row.id {
			inFlightLists = append(inFlightLists, commit.InFlightList{ID: row.id})
		}
		l := &inFlightLists[len(inFlightLists)-1]
		l.Stamp = max(l.Stamp, row.stamp)
		if !slices.Equal(row.block, noEntries) {
			l.Blocks = append(l.Blocks, row.block)
		}
	}
	return inFlightLists
}

// How many rows are fetched at a time: few where all is read that lists hold in times of
// trouble, and as many as there may be gateways where a page waits for it.
const (
	listsPage    = 16
	inFlightPage = 1000
)

func (s *Store) listPart(ctx context.Context, doing string, part int8, size int) ([]listRow, error) {
	var (
		rows    []listRow
		name    string
		n       int16
		pending []byte
		stamp   int64
	)
	err := s.session.Read(ctx, session.Query{Operation: doing, Stmt: selectInFlightLists, Args: []any{part}, PageSize: size}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&name, &n, &pending, &stamp) {
			return false
		}
		rows = append(rows, listRow{id: inFlightListOf(name), n: n, stamp: stamp, block: slices.Clone(pending)})
		return true
	})
	return rows, err
}
