package cassandra

import (
	"context"
	"slices"

	"carrel/library"
)

// readWidth is how many partitions one ReadMany reads at a time. A page of 20
// is read at once, and an import of thousands does not fill the gate.
const readWidth = 64

const selectShownRows = `SELECT ` + shownColumns + ` FROM content WHERE content_id = ? AND (kind, key) IN ?`

// ReadMany implements library.ContentStore: each partition is read once, all of
// them at the same time, which costs a page less than one statement over all.
func (s *Store) ReadMany(ctx context.Context, ids []library.ContentID, members []library.PrincipalID) ([]library.ContentRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, notBegun(err)
	}
	rows := make([]library.ContentRows, len(ids))
	first := make(map[library.ContentID]int, len(ids))
	var distinct []int
	for i, id := range ids {
		if _, known := first[id]; !known {
			first[id] = i
			distinct = append(distinct, i)
		}
	}
	keys := partitionKeys(members, nil)
	err := concurrently(ctx, len(distinct), readWidth, func(ctx context.Context, n int) error {
		i := distinct[n]
		return s.readShown(ctx, ids[i], members, keys, &rows[i])
	})
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

// readShown reads a header and the rows of members, whose keys are given, in
// one statement.
func (s *Store) readShown(ctx context.Context, id library.ContentID, members []library.PrincipalID, keys rowKeys, rows *library.ContentRows) error {
	rows.Members = noMembers(members)
	row := new(contentRow)
	r := reading{doing: "read contents", stmt: selectShownRows, args: []any{string(id), keys}}
	return s.eachRow(ctx, r, row.shownCells(), func() {
		switch row.kind {
		case kindHeader:
			rows.Header = row.header(id)
		case kindMember:
			putMemberRow(rows.Members, row.member())
		}
	})
}

// noMembers are the rows of principals that have none.
func noMembers(ps []library.PrincipalID) []library.Member {
	if len(ps) == 0 {
		return nil
	}
	rows := make([]library.Member, len(ps))
	for i, p := range ps {
		rows[i].Principal = p
	}
	return rows
}

// putMemberRow puts a row in the place of its principal.
func putMemberRow(rows []library.Member, m library.Member) {
	for i := range rows {
		if rows[i].Principal == m.Principal {
			rows[i] = m
		}
	}
}
