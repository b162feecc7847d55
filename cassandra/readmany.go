package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/library"
	"carrel/principal"
)

const selectShownRows = `SELECT ` + shownColumns + ` FROM content WHERE content_id = ? AND (kind, key) IN ?`

// ReadMany implements library.ContentStore. It reads each partition once, session.Width of them at
// a time, which costs a page less than one statement for all.
func (s contents) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	rows := make([]library.ContentRows, len(ids))
	first := make(map[library.ContentID]int, len(ids))
	var distinct []int // positions in ids
	for i, id := range ids {
		if _, known := first[id]; !known {
			first[id] = i
			distinct = append(distinct, i)
		}
	}
	keys := partitionKeys(members, nil)
	read := func(ctx context.Context, n int) (*library.ContentRows, error) {
		return s.readShown(ctx, ids[distinct[n]], members, keys)
	}
	err := session.ReadEach(ctx, s.session, len(distinct), read, func(n int, found *library.ContentRows) { rows[distinct[n]] = *found })
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if f := first[id]; f != i {
			rows[i] = rows[f]
			rows[i].Members = slices.Clone(rows[f].Members)
		}
	}
	return rows, nil
}

// readShown reads a header and the rows of members in one statement. keys are the keys of the rows.
func (s contents) readShown(ctx context.Context, id library.ContentID, members []principal.ID, keys rowKeys) (*library.ContentRows, error) {
	r := session.Query{Operation: "read contents", Stmt: selectShownRows, PartitionKey: string(id), Args: []any{string(id), keys}}
	iter, err := s.session.ReadOnce(ctx, &r)
	if err != nil {
		return nil, err
	}
	rows := &library.ContentRows{Members: noMembers(members)}
	row := new(contentRow)
	for cells := row.shownCells(); iter.Scan(cells...); {
		switch row.kind {
		case kindHeader:
			if rows.Header, err = row.header(id); err != nil {
				return nil, session.WrapError(r.Operation, err)
			}
		case kindMember:
			putMemberRow(rows.Members, row.member())
		}
	}
	return rows, session.WrapError(r.Operation, iter.Close())
}

// noMembers returns empty rows for principals.
func noMembers(ps []principal.ID) []library.Member {
	if len(ps) == 0 {
		return nil
	}
	rows := make([]library.Member, len(ps))
	for i, p := range ps {
		rows[i].Principal = p
	}
	return rows
}

// putMemberRow stores a row in rows at the position of its principal.
func putMemberRow(rows []library.Member, m library.Member) {
	for i := range rows {
		if rows[i].Principal == m.Principal {
			rows[i] = m
		}
	}
}
