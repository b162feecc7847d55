package cassandra

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/principal"
)

// directoryShards is over how many partitions the names of one letter in one
// tenant are spread. A look-up reads all of them at the same time: that is one
// round trip, and with a million principals in a tenant a partition of whole
// names has 62,500 rows.
const directoryShards = 16

// names is a partition of the directory.
type names struct {
	tenant, initial string
	shard           int8
}

// namesOf is the partition of a row. The partition of a name is that of its
// first character, and so that of all prefixes of it.
func namesOf(k principal.DirectoryKey, id principal.ID) names {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	n := names{tenant: id.Tenant(), shard: int8(h.Sum32() % directoryShards)}
	if !k.Whole {
		n.initial = initialOf(k.Name)
	}
	return n
}

// initialOf is the first character of a name.
func initialOf(name string) string {
	_, size := utf8.DecodeRuneInString(name)
	return name[:size]
}

const (
	putName  = `INSERT INTO principal_names (tenant, initial, shard, name, principal_id, visibility, mts) VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropName = `DELETE FROM principal_names USING TIMESTAMP ? WHERE tenant = ? AND initial = ? AND shard = ? AND name = ? AND principal_id = ?`
)

// ApplyDirectory implements principal.DirectoryStore: a mutation a row, with
// the timestamp of the state.
func (s *Store) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	const doing = "enforce the directory"
	h := e.Header
	id, mts := string(h.ID), int64(h.MTS)
	put, drop := e.Derive(h)
	return s.session.WriteEach(ctx, len(put)+len(drop), func(ctx context.Context, i int) error {
		if i < len(put) {
			n := namesOf(put[i], h.ID)
			return s.session.Write(ctx, doing, putName, n.tenant, n.initial, n.shard, put[i].Name, id, int8(h.Visibility), mts, mts)
		}
		k := drop[i-len(put)]
		n := namesOf(k, h.ID)
		return s.session.Write(ctx, doing, dropName, mts, n.tenant, n.initial, n.shard, k.Name, id)
	})
}

const (
	nameColumns      = `SELECT tenant, initial, shard, name, principal_id, visibility, mts FROM principal_names`
	selectNames      = nameColumns + ` WHERE tenant = ? AND initial = ? AND shard = ? AND (name, principal_id) > (?, ?) LIMIT ?`
	selectNamesUntil = nameColumns + ` WHERE tenant = ? AND initial = ? AND shard = ? AND (name, principal_id) > (?, ?) AND (name) < (?) LIMIT ?`
)

// PageDirectory implements principal.DirectoryStore. Each shard gives its first
// rows of the slice, and the first of all of them are the slice.
func (s *Store) PageDirectory(ctx context.Context, p principal.DirectorySlice) ([]principal.DirectoryRow, error) {
	if p.Limit <= 0 {
		return nil, ctx.Err()
	}
	from := principal.DirectoryPlace{Name: p.Prefix}
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

// beyond is the least text that comes after all that begin with prefix; bounded
// is false where there is none. Texts are ordered as their characters are.
func beyond(prefix string) (until string, bounded bool) {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.MaxRune:
			continue // what is before it decides
		case last == 0xd7ff:
			last = 0xdfff // the surrogates are no characters
		}
		return prefix + string(last+1), true
	}
	return "", false
}

const selectName = nameColumns + ` WHERE tenant = ? AND initial = ? AND shard = ? AND name = ? AND principal_id = ?`

// ReadDirectory implements principal.DirectoryStore.
func (s *Store) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) ([]principal.DirectoryRow, error) {
	rows := make([]principal.DirectoryRow, len(keys))
	err := session.ForEach(ctx, len(keys), session.Width, func(ctx context.Context, i int) error {
		k := keys[i]
		n := namesOf(k, p)
		found, err := s.names(ctx, session.Query{Operation: "read the directory", Stmt: selectName, Args: []any{n.tenant, n.initial, n.shard, k.Name, string(p)}})
		rows[i] = principal.DirectoryRow{DirectoryKey: k, Principal: p}
		if len(found) > 0 {
			rows[i] = found[0]
		}
		return err
	})
	return rows, err
}

// names runs a SELECT of nameColumns.
func (s *Store) names(ctx context.Context, r session.Query) ([]principal.DirectoryRow, error) {
	var (
		rows       []principal.DirectoryRow
		n          names
		name, id   string
		visibility int8
		mts        int64
	)
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(&n.tenant, &n.initial, &n.shard, &name, &id, &visibility, &mts) {
			return false
		}
		if n.tenant != "" {
			// A row inserted by hand may tell no mts, and is one all the same.
			rows = append(rows, principal.DirectoryRow{DirectoryKey: principal.DirectoryKey{Whole: n.initial == "", Name: name},
				Principal: principal.ID(id), Visibility: principal.Visibility(visibility), MTS: clock.Instant(max(mts, 1))})
		}
		return true
	})
	return rows, err
}

const (
	scanNames      = nameColumns + ` LIMIT ?`
	scanNamesAfter = nameColumns + ` WHERE token(tenant, initial, shard) > token(?, ?, ?) LIMIT ?`
	// Partitions of one token stand in their own order, after one another.
	selectSameToken = `SELECT DISTINCT tenant, initial, shard FROM principal_names WHERE token(tenant, initial, shard) = token(?, ?, ?)`
)

// ScanDirectory implements principal.DirectoryStore: along the tokens of the
// partitions. A place is the row that was read last.
func (s *Store) ScanDirectory(ctx context.Context, after []byte, limit int) (rows []principal.DirectoryRow, next []byte, err error) {
	const doing = "scan the directory"
	if limit <= 0 {
		return nil, after, ctx.Err()
	}
	if after == nil {
		rows, err = s.names(ctx, session.Query{Operation: doing, Stmt: scanNames, Args: []any{limit + 2}})
		return cutScan(rows, err, limit)
	}
	last, err := placeOfName(after)
	if err != nil {
		return nil, nil, session.WrapError(doing, err)
	}
	at := namesOf(last.DirectoryKey, last.Principal)
	parts, err := s.partsOfToken(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	from := last.Place()
	for _, n := range parts {
		some, err := s.names(ctx, session.Query{Operation: doing, Stmt: selectNames,
			Args: []any{n.tenant, n.initial, n.shard, from.Name, string(from.Principal), limit + 1 - len(rows)}})
		if rows = append(rows, some...); err != nil || len(rows) > limit {
			return cutScan(rows, err, limit)
		}
		from = principal.DirectoryPlace{}
	}
	some, err := s.names(ctx, session.Query{Operation: doing, Stmt: scanNamesAfter, Args: []any{at.tenant, at.initial, at.shard, limit + 2 - len(rows)}})
	return cutScan(append(rows, some...), err, limit)
}

// partsOfToken are the partition and those that stand behind it under the same
// token, which is hardly ever one.
func (s *Store) partsOfToken(ctx context.Context, at names) ([]names, error) {
	var parts []names
	var n names
	r := session.Query{Operation: "scan the directory", Stmt: selectSameToken, Args: []any{at.tenant, at.initial, at.shard}}
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(&n.tenant, &n.initial, &n.shard) {
			return false
		}
		parts = append(parts, n)
		return true
	})
	if i := slices.Index(parts, at); i >= 0 {
		return parts[i:], err
	}
	// Its last row has gone meanwhile.
	return append([]names{at}, parts...), err
}

// cutScan gives the first rows of a scan. One more was asked for, to know whether
// there are any, and one in the place of the row that is nobody's.
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

// placeOfName is the row that a place tells.
func placeOfName(place []byte) (r principal.DirectoryRow, err error) {
	parts := strings.SplitN(string(place), " ", 3)
	if len(parts) != 3 {
		return r, session.ErrMalformedCell
	}
	r.Whole, r.Principal = parts[0] == "1", principal.ID(parts[1])
	r.Name, err = strconv.Unquote(parts[2])
	return r, err
}

// DropDirectory implements principal.DirectoryStore: at the timestamps at which
// the rows were written, so that what was written since stays.
func (s *Store) DropDirectory(ctx context.Context, rows []principal.DirectoryRow) error {
	return s.session.WriteEach(ctx, len(rows), func(ctx context.Context, i int) error {
		r := &rows[i]
		n := namesOf(r.DirectoryKey, r.Principal)
		return s.session.Write(ctx, "drop a row of the directory", dropName, int64(r.MTS), n.tenant, n.initial, n.shard, r.Name, string(r.Principal))
	})
}

const (
	selectFilled = `SELECT mts FROM principal_names WHERE tenant = '' AND initial = '' AND shard = 0`
	putFilled    = `INSERT INTO principal_names (tenant, initial, shard, name, principal_id, mts) VALUES ('', '', 0, '', '', ?)`
)

// DirectoryFilled implements principal.DirectoryStore.
func (s *Store) DirectoryFilled(ctx context.Context) (bool, error) {
	filled := false
	var at int64
	err := s.session.Read(ctx, session.Query{Operation: "read the directory", Stmt: selectFilled}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&at) {
			return false
		}
		filled = true
		return true
	})
	return filled, err
}

// SetDirectoryFilled implements principal.DirectoryStore.
func (s *Store) SetDirectoryFilled(ctx context.Context) error {
	return s.session.Write(ctx, "mark the directory as filled", putFilled, int64(s.now()))
}
