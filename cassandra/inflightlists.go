package cassandra

import (
	"context"
	"errors"
	"slices"

	"carrel/cassandra/session"
	"carrel/core/commit"
)

// The in-flight lists of all processes are in one partition, one row each, so that one read of that
// partition returns all of them. A list is always written as a whole, even if it is empty: there is
// a tombstone for each process that has ended, and none for a change. The stamp of a list is the
// timestamp of its row: a newer write wins, and a late one changes nothing.
const (
	putInFlightList     = `INSERT INTO inflight (part, process, block) VALUES (0, ?, ?) USING TIMESTAMP ?`
	deleteInFlightList  = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = 0 AND process = ?`
	selectInFlightLists = `SELECT process, block, writetime(block) FROM inflight WHERE part = 0`
)

// journalStore implements commit.JournalStore.
type journalStore struct{ *Store }

// PutInFlightList implements commit.JournalStore. It writes one row with the stamp as its
// timestamp.
func (s journalStore) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	return s.session.WriteStamped(ctx, "write the in-flight list", putInFlightList, string(l.ID), notNull(l.Block), l.Stamp)
}

// DeleteInFlightList implements commit.JournalStore.
func (s journalStore) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	return s.session.WriteStamped(ctx, "drop an in-flight list", deleteInFlightList, stamp, string(id))
}

// errApart is the error of InFlight if writes of another data centre may be missing here.
var errApart = errors.New("gateways of several data centres decide independently of each other")

// InFlight implements commit.JournalStore: one statement. It needs a replica that the read and the
// writes of all processes have in common.
func (s journalStore) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	if s.apart {
		return nil, errApart
	}
	return s.readInFlightLists(ctx, "read what is in flight", inFlightPage)
}

// InFlightLists implements commit.JournalStore.
func (s journalStore) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	return s.readInFlightLists(ctx, "read in-flight lists", listsPage)
}

// The page sizes of reads of lists: small for lists that may have many entries after failures, and
// at least the number of gateways for a read for which a page of a library waits.
const (
	listsPage    = 16
	inFlightPage = 1000
)

// readInFlightLists reads all lists, ordered by id, in pages of size rows.
func (s journalStore) readInFlightLists(ctx context.Context, doing string, size int) ([]commit.InFlightList, error) {
	var (
		id    string
		block []byte
		stamp int64
	)
	q := session.Query{Operation: doing, Stmt: selectInFlightLists, PageSize: size}
	return session.List(ctx, s.session, q, []any{&id, &block, &stamp}, func() (commit.InFlightList, error) {
		return commit.InFlightList{ID: commit.ListID(id), Stamp: stamp, Block: slices.Clone(block)}, nil
	})
}
