package cassandra

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/principal"
)

// directoryShards is the number of partitions for the names with one initial in one tenant. A
// look-up reads all of them at the same time, in one round trip. With a million principals in a
// tenant, a partition of whole names has 62,500 rows.
const directoryShards = 16

// directoryPartition is the key of a partition of the directory.
type directoryPartition struct {
	tenant, initial string
	shard           int8
}

// directoryPartitionOf returns the partition of a row. It depends on the first character of a name,
// which the name shares with all its prefixes.
func directoryPartitionOf(k principal.DirectoryKey, id principal.ID) directoryPartition {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // hash writes never fail
	n := directoryPartition{tenant: id.Tenant(), shard: int8(h.Sum32() % directoryShards)}
	if !k.Whole {
		n.initial = initialOf(k.Name)
	}
	return n
}

// initialOf returns the first character of a name.
func initialOf(name string) string {
	_, size := utf8.DecodeRuneInString(name)
	return name[:size]
}

const (
	putName  = `INSERT INTO principal_names (tenant, initial, shard, name, principal_id, visibility, mts) VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropName = `DELETE FROM principal_names USING TIMESTAMP ? WHERE tenant = ? AND initial = ? AND shard = ? AND name = ? AND principal_id = ?`
)

// directory implements principal.DirectoryStore.
type directory struct{ *Store }

// ApplyDirectory implements principal.DirectoryStore. It writes one mutation per row, with the
// timestamp of the state.
func (s directory) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	const doing = "update the directory"
	h := e.Header
	id, mts := string(h.ID), int64(h.MTS)
	put, drop := e.Derive(h)
	return s.session.WriteEach(ctx, len(put)+len(drop), func(ctx context.Context, i int) error {
		if i < len(put) {
			n := directoryPartitionOf(put[i], h.ID)
			return s.session.Write(ctx, doing, putName, n.tenant, n.initial, n.shard, put[i].Name, id, int8(h.Visibility), mts, mts)
		}
		k := drop[i-len(put)]
		n := directoryPartitionOf(k, h.ID)
		return s.session.Write(ctx, doing, dropName, mts, n.tenant, n.initial, n.shard, k.Name, id)
	})
}

const (
	nameColumns      = `SELECT tenant, initial, shard, name, principal_id, visibility, mts FROM principal_names`
	selectNames      = nameColumns + ` WHERE tenant = ? AND initial = ? AND shard = ? AND (name, principal_id) > (?, ?) LIMIT ?`
	selectNamesUntil = nameColumns +
		` WHERE tenant = ? AND initial = ? AND shard = ? AND (name, principal_id) > (?, ?) AND (name) < (?) LIMIT ?`
)

// PageDirectory implements principal.DirectoryStore. It reads the first rows of the slice from each
// shard and merges them.
func (s directory) PageDirectory(ctx context.Context, p principal.DirectorySlice) ([]principal.DirectoryRow, error) {
	if p.Limit <= 0 {
		return nil, ctx.Err()
	}
	from := principal.DirectoryPosition{Name: p.Prefix}
	if p.After != nil {
		from = *p.After
	}
	until, bounded := beyond(p.Prefix)
	var shards [directoryShards][]principal.DirectoryRow
	err := session.ForEach(ctx, directoryShards, directoryShards, func(ctx context.Context, shard int) error {
		r := session.Query{Operation: "page the directory", Stmt: selectNames}
		r.Args = []any{p.Tenant, initialOf(p.Prefix), int8(shard), from.Name, string(from.Principal)}
		if bounded {
			r.Stmt, r.Args = selectNamesUntil, append(r.Args, until)
		}
		r.Args = append(r.Args, p.Limit)
		var err error
		shards[shard], err = s.names(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.Concat(shards[:]...)
	slices.SortFunc(rows, func(a, b principal.DirectoryRow) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Principal, b.Principal))
	})
	return rows[:min(len(rows), p.Limit)], nil
}

// beyond returns the smallest text after all that start with prefix. bounded is false if there is
// none. Texts are ordered by code point.
func beyond(prefix string) (until string, bounded bool) {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.MaxRune:
			continue // there is no next code point: increment an earlier one
		case last == 0xd7ff:
			last = 0xdfff // surrogates are not valid code points
		}
		return prefix + string(last+1), true
	}
	return "", false
}

const selectName = nameColumns + ` WHERE tenant = ? AND initial = ? AND shard = ? AND name = ? AND principal_id = ?`

// ReadDirectory implements principal.DirectoryStore.
func (s directory) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) ([]principal.DirectoryRow, error) {
	rows := make([]principal.DirectoryRow, len(keys))
	err := session.ForEach(ctx, len(keys), session.Width, func(ctx context.Context, i int) error {
		k := keys[i]
		n := directoryPartitionOf(k, p)
		found, err := s.names(ctx, session.Query{Operation: "read the directory", Stmt: selectName,
			Args: []any{n.tenant, n.initial, n.shard, k.Name, string(p)}})
		rows[i] = principal.DirectoryRow{DirectoryKey: k, Principal: p}
		if len(found) > 0 {
			rows[i] = found[0]
		}
		return err
	})
	return rows, err
}

// names runs a SELECT of nameColumns.
func (s directory) names(ctx context.Context, r session.Query) ([]principal.DirectoryRow, error) {
	var (
		rows       []principal.DirectoryRow
		n          directoryPartition
		name, id   string
		visibility int8
		mts        int64
	)
	err := s.session.Read(ctx, r, []any{&n.tenant, &n.initial, &n.shard, &name, &id, &visibility, &mts}, func() error {
		if n.tenant != "" {
			// A row that was inserted by hand may have no mts, but is still a row.
			rows = append(rows, principal.DirectoryRow{DirectoryKey: principal.DirectoryKey{Whole: n.initial == "", Name: name},
				Principal: principal.ID(id), Visibility: principal.Visibility(visibility), MTS: clock.Instant(max(mts, 1))})
		}
		return nil
	})
	return rows, err
}

const (
	scanNames      = nameColumns + ` LIMIT ?`
	scanNamesAfter = nameColumns + ` WHERE token(tenant, initial, shard) > token(?, ?, ?) LIMIT ?`
	// scanNamesAfter skips the other partitions with the same token. This statement lists them.
	selectSameToken = `SELECT DISTINCT tenant, initial, shard FROM principal_names WHERE token(tenant, initial, shard) = token(?, ?, ?)`
)

// ScanDirectory implements principal.DirectoryStore. It reads the partitions in the order of their
// tokens. The position is the last row that was read.
func (s directory) ScanDirectory(ctx context.Context, after []byte, limit int) (rows []principal.DirectoryRow, next []byte, err error) {
	const doing = "scan the directory"
	if limit <= 0 {
		return nil, after, ctx.Err()
	}
	if after == nil {
		rows, err = s.names(ctx, session.Query{Operation: doing, Stmt: scanNames, Args: []any{limit + 2}})
		return cutScan(rows, err, limit)
	}
	last, err := directoryRowOf(after)
	if err != nil {
		return nil, nil, session.WrapError(doing, err)
	}
	at := directoryPartitionOf(last.DirectoryKey, last.Principal)
	parts, err := s.partsOfToken(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	from := last.Position()
	for _, n := range parts {
		some, err := s.names(ctx, session.Query{Operation: doing, Stmt: selectNames,
			Args: []any{n.tenant, n.initial, n.shard, from.Name, string(from.Principal), limit + 1 - len(rows)}})
		if rows = append(rows, some...); err != nil || len(rows) > limit {
			return cutScan(rows, err, limit)
		}
		from = principal.DirectoryPosition{}
	}
	some, err := s.names(ctx, session.Query{Operation: doing, Stmt: scanNamesAfter,
		Args: []any{at.tenant, at.initial, at.shard, limit + 2 - len(rows)}})
	return cutScan(append(rows, some...), err, limit)
}

// partsOfToken returns a partition and those that follow it with the same token, which hardly ever
// exist.
func (s directory) partsOfToken(ctx context.Context, at directoryPartition) ([]directoryPartition, error) {
	var n directoryPartition
	r := session.Query{Operation: "scan the directory", Stmt: selectSameToken, Args: []any{at.tenant, at.initial, at.shard}}
	parts, err := session.List(ctx, s.session, r, []any{&n.tenant, &n.initial, &n.shard}, func() (directoryPartition, error) { return n, nil })
	if i := slices.Index(parts, at); i >= 0 {
		return parts[i:], err
	}
	// Its last row was deleted meanwhile.
	return append([]directoryPartition{at}, parts...), err
}

// cutScan returns the first limit rows of a scan. The scan reads one more to know whether there are
// more, and another in case one is the row that marks the directory as filled.
func cutScan(rows []principal.DirectoryRow, err error, limit int) ([]principal.DirectoryRow, []byte, error) {
	if err != nil || len(rows) <= limit {
		return rows, nil, err
	}
	last := &rows[limit-1]
	list := "0"
	if last.Whole {
		list = "1"
	}
	return rows[:limit], []byte(strings.Join([]string{list, string(last.Principal), strconv.Quote(last.Name)}, " ")), nil
}

// directoryRowOf decodes a position to its row.
func directoryRowOf(position []byte) (r principal.DirectoryRow, err error) {
	parts := strings.SplitN(string(position), " ", 3)
	if len(parts) != 3 {
		return r, session.ErrMalformedCell
	}
	r.Whole, r.Principal = parts[0] == "1", principal.ID(parts[1])
	r.Name, err = strconv.Unquote(parts[2])
	return r, err
}

// DropDirectory implements principal.DirectoryStore. It deletes with the timestamps of the rows, so
// that newer writes stay.
func (s directory) DropDirectory(ctx context.Context, rows []principal.DirectoryRow) error {
	return s.session.WriteEach(ctx, len(rows), func(ctx context.Context, i int) error {
		r := &rows[i]
		n := directoryPartitionOf(r.DirectoryKey, r.Principal)
		return s.session.Write(ctx, "drop a row of the directory", dropName, int64(r.MTS), n.tenant, n.initial, n.shard,
			r.Name, string(r.Principal))
	})
}
