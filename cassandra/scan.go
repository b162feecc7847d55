package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/library"
	"carrel/principal"
)

// Partitions are read in the order of their tokens. It is not the order of ids, but it is stable
// and the same on all nodes, so a walk in that order passes each partition once.
const (
	scanContents        = `SELECT DISTINCT content_id FROM content LIMIT ?`
	scanContentsAfter   = `SELECT DISTINCT content_id FROM content WHERE token(content_id) >= token(?) LIMIT ?`
	scanPrincipals      = `SELECT DISTINCT principal_id FROM principal LIMIT ?`
	scanPrincipalsAfter = `SELECT DISTINCT principal_id FROM principal WHERE token(principal_id) >= token(?) LIMIT ?`
)

// ScanContents implements library.ContentStore.
func (s contents) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	return scanIDs(ctx, s.Store, "list contents", scanContents, scanContentsAfter, after, limit)
}

// ScanPrincipals implements principal.Store.
func (s principals) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	return scanIDs(ctx, s.Store, "list principals", scanPrincipals, scanPrincipalsAfter, after, limit)
}

// scanIDs lists at most limit ids of partitions that follow a given one.
func scanIDs[ID ~string](ctx context.Context, s *Store, doing, all, rest string, after ID, limit int) ([]ID, error) {
	q := session.Query{Operation: doing, Stmt: all}
	if after != "" {
		q.Stmt, q.Args = rest, []any{string(after)}
	}
	var id string
	return scan(ctx, s, q, limit, []any{&id}, func() (ID, error) { return ID(id), nil }, func(id ID) bool { return id == after })
}

// scan lists at most limit rows, like session.List. The statement ends with a limit. It begins at the
// token of the row behind which the list begins, so that no other row with the same token is skipped,
// and isAfter recognizes that row.
func scan[T any](ctx context.Context, s *Store, q session.Query, limit int, cells []any, row func() (T, error),
	isAfter func(T) bool) ([]T, error) {
	if limit <= 0 {
		return nil, nil
	}
	q.Args = append(q.Args, limit+1)
	all, err := session.List(ctx, s.session, q, cells, row)
	// That row and those before it were returned by earlier calls.
	if at := slices.IndexFunc(all, isAfter); at >= 0 {
		all = all[at+1:]
	}
	return all[:min(len(all), limit)], err
}
