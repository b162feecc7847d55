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

// The in-flight lists of all processes are in one partition, one row each, so that one read of that
// partition returns all of them. A list is always written as a whole, even if it is empty: there is
// a tombstone for each process that has ended, and none for a change.
//
// Gateways of the former release spread their lists over formerParts partitions, use several rows
// for a long list, and delete empty lists. Their lists are read and taken over here, and they do
// the same with ours.
const (
	listPart    = 0
	formerParts = 4
)

// noEntries is written for an empty list. It is a block of package commit without entries, which
// the former release can read too.
var noEntries = []byte{2}

// The stamp of a list is the timestamp of its rows: a newer write wins, and a late one changes
// nothing.
const (
	putListRow          = `INSERT INTO inflight (part, lane, n, pending) VALUES (?, ?, 0, ?) USING TIMESTAMP ?`
	deleteInFlightList  = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = ? AND lane = ?`
	selectInFlightLists = `SELECT lane, n, pending, writetime(pending) FROM inflight WHERE part = ?`
)

// listName returns the name of a list in the table. The former release finds the partition of a
// list by a hash of its name. The name ends in a letter for which that hash is listPart, so that
// the former release can delete a list that it has taken over.
func listName(id commit.ListID) string {
	for c := 'a'; ; c++ {
		if name := string(id) + "." + string(c); formerPart(name) == listPart {
			return name // one of any four consecutive letters has that hash
		}
	}
}

// formerPart returns the partition in which the former release looks for a list.
func formerPart(name string) int8 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // hash writes never fail
	return int8(h.Sum32() % formerParts)
}

// formerInFlightList is the prefix of the id of a list that the former release has written. No name
// of such a list contains a colon.
const formerInFlightList = "former:"

// inFlightListOf returns the id of the list with a name.
func inFlightListOf(name string) commit.ListID {
	if n := len(name) - len(".a"); n > 0 && name[n] == '.' {
		return commit.ListID(name[:n])
	}
	return commit.ListID(formerInFlightList + name)
}

// PutInFlightList implements commit.JournalStore. It writes one row with the stamp as its
// timestamp.
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
func (s *Store) InFlight(ctx context.Context) (lists []commit.InFlightList, linger bool, err error) {
	if err := s.vouching.check(); err != nil {
		return nil, false, err
	}
	linger = s.vouching.linger()
	rows, err := s.listRows(ctx, "read what is in flight", listPart, inFlightPage)
	if err != nil {
		return nil, false, err
	}
	if slices.ContainsFunc(rows, listRow.former) {
		return nil, false, errFormerRelease
	}
	return inFlightListsOf(rows), linger, nil
}

// InFlightLists implements commit.JournalStore. A read between two writes of a list of the former
// release may return rows of both: each is complete, and an extra entry is harmless.
func (s *Store) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	const doing = "read in-flight lists"
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	var parts [formerParts][]listRow
	err := session.ForEach(ctx, formerParts, formerParts, func(ctx context.Context, part int) (err error) {
		parts[part], err = s.listRows(ctx, doing, int8(part), listsPage)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.Concat(parts[:]...)
	s.vouching.sawLists(slices.ContainsFunc(rows, listRow.former))
	return inFlightListsOf(rows), nil
}

// inFlightListsOf returns the lists that consist of rows.
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

// The page sizes of reads of lists: small for lists that may have many entries after failures, and
// at least the number of gateways for a read for which a page of a library waits.
const (
	listsPage    = 16
	inFlightPage = 1000
)

// listRows reads the rows of a partition of in-flight lists, in pages of size rows.
func (s *Store) listRows(ctx context.Context, doing string, part int8, size int) ([]listRow, error) {
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
