package cassandra

import (
	"context"
	"slices"

	"github.com/gocql/gocql"

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
	return scan(ctx, s.Store, "list contents", scanContents, scanContentsAfter, after, limit)
}

// ScanPrincipals implements principal.Store.
func (s principals) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	return scan(ctx, s.Store, "list principals", scanPrincipals, scanPrincipalsAfter, after, limit)
}

// scan lists at most limit partition keys that follow a given one. The slice starts at its token,
// so that no other key with the same token is skipped.
func scan[ID ~string](ctx context.Context, s *Store, doing, all, rest string, after ID, limit int) ([]ID, error) {
	if limit <= 0 {
		return nil, nil
	}
	r := session.Query{Operation: doing, Stmt: all, Args: []any{limit + 1}}
	if after != "" {
		r.Stmt, r.Args = rest, []any{string(after), limit + 1}
	}
	var (
		ids []ID
		id  string
	)
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(&id) {
			return false
		}
		ids = append(ids, ID(id))
		return true
	})
	if err != nil {
		return nil, err
	}
	// The given key and those before it were returned by earlier calls.
	if at := slices.Index(ids, after); after != "" && at >= 0 {
		ids = ids[at+1:]
	}
	return ids[:min(len(ids), limit)], nil
}
