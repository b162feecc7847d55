package cassandra

import (
	"context"
	"math"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// A slice without a start or a bound gets one that no entry can have, so that two statements can
// read every slice.
var (
	beforeAll = library.EntryKey{Position: math.MinInt64}
	afterAll  = library.EntryKey{Position: math.MaxInt64}
)

// The slice also returns the static column of the partition, at no cost.
const (
	pageOlder = `SELECT position, content_id, mts, role, built FROM library_by_principal
 WHERE principal_id = ? AND bucket = ? AND (position, content_id) < (?, ?) LIMIT ?`
	pageNewer = `SELECT position, content_id, mts, role, built FROM library_by_principal
 WHERE principal_id = ? AND bucket = ? AND (position, content_id) > (?, ?) AND (position, content_id) <= (?, ?)
 ORDER BY bucket DESC, position ASC, content_id ASC LIMIT ?`
)

// libraries implements library.LibraryStore.
type libraries struct{ *Store }

// PageLibrary implements library.LibraryStore: one clustering slice.
func (s libraries) PageLibrary(ctx context.Context, p library.Slice) ([]library.Entry, error) {
	es, _, err := s.page(ctx, p)
	return es, err
}

// OpenLibrary implements library.LibraryStore. Unless it is empty, the slice shows whether the
// library is complete. The newest entry is read at the same time.
func (s libraries) OpenLibrary(ctx context.Context, p library.Slice, newest bool) (*library.Opening, error) {
	o := new(library.Opening)
	whole := true // according to the newest entry
	readings := []func(context.Context) error{func(ctx context.Context) (err error) {
		o.Entries, o.Built, err = s.page(ctx, p)
		if err == nil && len(o.Entries) == 0 {
			o.Built, err = s.Built(ctx, p.Owner)
		}
		return err
	}}
	if newest {
		readings = append(readings, func(ctx context.Context) error {
			es, built, err := s.page(ctx, library.Slice{Owner: p.Owner, Bucket: p.Bucket, Limit: 1})
			if len(es) == 1 {
				o.Newest, whole = &library.EntryKey{Position: es[0].Position, Content: es[0].Content}, built
			}
			return err
		})
	}
	err := session.ForEach(ctx, len(readings), len(readings), func(ctx context.Context, n int) error { return readings[n](ctx) })
	if err != nil {
		return nil, err
	}
	// A partition may be deleted by hand between the two reads.
	o.Built = o.Built && whole && (!newest || o.Newest != nil || len(o.Entries) == 0)
	return o, nil
}

// page reads a slice. built is that of the library only if there are entries.
func (s libraries) page(ctx context.Context, p library.Slice) (es []library.Entry, built bool, err error) {
	if p.Limit <= 0 {
		return nil, false, nil
	}
	r := session.Query{Operation: "page a library", PartitionKey: string(p.Owner), Args: []any{string(p.Owner), int8(p.Bucket)}}
	if p.Newer {
		from, bound := keyOr(p.From, beforeAll), keyOr(p.Bound, afterAll)
		r.Stmt = pageNewer
		r.Args = append(r.Args, int64(from.Position), string(from.Content), int64(bound.Position), string(bound.Content), p.Limit)
	} else {
		from := keyOr(p.From, afterAll)
		r.Stmt = pageOlder
		r.Args = append(r.Args, int64(from.Position), string(from.Content), p.Limit)
	}
	es = make([]library.Entry, 0, min(p.Limit, 128))
	var (
		position, mts int64
		id            string
		role          int8
	)
	err = s.session.ScanRows(ctx, r, []any{&position, &id, &mts, &role, &built}, func() {
		es = append(es, library.Entry{Position: clock.Instant(position), Content: library.ContentID(id), MTS: clock.Instant(mts),
			Role: library.ContentRole(role)})
	})
	if err != nil {
		return nil, false, err
	}
	return es, built, nil
}

func keyOr(k *library.EntryKey, otherwise library.EntryKey) library.EntryKey {
	if k == nil {
		return otherwise
	}
	return *k
}

// countPage is the number of rows in a page when rows are counted.
const countPage = 5000

// A LIMIT would limit the one row of a COUNT, so rows are counted here.
const countEntries = `SELECT role FROM library_by_principal WHERE principal_id = ? AND bucket = ? LIMIT ?`

// CountLibrary implements library.LibraryStore.
func (s libraries) CountLibrary(ctx context.Context, owner principal.ID, b library.Bucket, limit int) (int, error) {
	n := 0
	var role int8
	r := session.Query{Operation: "count a library", Stmt: countEntries, Args: []any{string(owner), int8(b), min(limit, math.MaxInt32)},
		PageSize: countPage}
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(&role) {
			return false
		}
		n++
		return true
	})
	return n, err
}

const selectBuilt = `SELECT DISTINCT principal_id, built FROM library_by_principal WHERE principal_id = ?`

// Built implements library.LibraryStore.
func (s libraries) Built(ctx context.Context, owner principal.ID) (bool, error) {
	var (
		id    string
		built bool
	)
	r := session.Query{Operation: "read a library", Stmt: selectBuilt, Args: []any{string(owner)}}
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool { return iter.Scan(&id, &built) })
	return built, err
}

// The record of what is shared with a principal is marked as complete by a row with the empty id,
// which no item has and no listing shows. A partition that is deleted loses its mark, and later
// shares do not restore it.
const selectRecorded = `SELECT role FROM content_by_principal WHERE principal_id = ? AND content_id = ''`

// Recorded implements library.LibraryStore.
func (s libraries) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	var role int8
	recorded := false
	r := session.Query{Operation: "read what is shared", Stmt: selectRecorded, Args: []any{string(owner)}}
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		found := iter.Scan(&role)
		recorded = recorded || found
		return found
	})
	return recorded, err
}

const (
	setBuilt    = `UPDATE library_by_principal USING TIMESTAMP ? SET built = true WHERE principal_id = ?`
	setRecorded = `INSERT INTO content_by_principal (principal_id, content_id, role) VALUES (?, '', 0) USING TIMESTAMP ?`
)

// SetBuilt implements library.LibraryStore. Both marks carry the instant as of which they are
// valid, so that a later deletion of the partition deletes them too.
func (s libraries) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	var ch session.Batch
	ch.Append(setBuilt, int64(asOf), string(owner))
	ch.Append(setRecorded, string(owner), int64(asOf))
	return s.session.WriteBatch(ctx, "mark a library as built", &ch)
}

// The note of a rebuild carries the instant at which the rebuild started, so that a later deletion
// of the partition deletes the note too, and the rebuild cannot restore it. Of notes with the same
// timestamp the greater one wins.
const (
	selectRebuild = `SELECT DISTINCT principal_id, rebuild FROM library_by_principal WHERE principal_id = ?`
	putRebuild    = `UPDATE library_by_principal USING TIMESTAMP ? SET rebuild = ? WHERE principal_id = ?`
	dropRebuild   = `DELETE rebuild FROM library_by_principal USING TIMESTAMP ? WHERE principal_id = ?`
)

// RebuildNote implements library.LibraryStore.
func (s libraries) RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error) {
	var (
		id   string
		note []byte
	)
	r := session.Query{Operation: "read the note of a rebuild", Stmt: selectRebuild, Args: []any{string(owner)}}
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool { return iter.Scan(&id, &note) })
	return note, err
}

// PutRebuildNote implements library.LibraryStore.
func (s libraries) PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error {
	var ch session.Batch
	ch.Append(putRebuild, int64(asOf), note, string(owner))
	return s.session.WriteBatch(ctx, "keep the note of a rebuild", &ch)
}

// DropRebuildNote implements library.LibraryStore.
func (s libraries) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	var ch session.Batch
	ch.Append(dropRebuild, int64(asOf), string(owner))
	return s.session.WriteBatch(ctx, "drop the note of a rebuild", &ch)
}

const (
	dropLibrary = `DELETE FROM library_by_principal USING TIMESTAMP ? WHERE principal_id = ?`
	dropRecord  = `DELETE FROM content_by_principal USING TIMESTAMP ? WHERE principal_id = ?`
)

// DropLibrary implements library.LibraryStore. It deletes both partitions with the instant as the
// timestamp, so that late writes of older rows have no effect.
func (s libraries) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	var ch session.Batch
	ch.Append(dropLibrary, int64(asOf), string(owner))
	ch.Append(dropRecord, int64(asOf), string(owner))
	return s.session.WriteBatch(ctx, "drop a library", &ch)
}

// dropsAtOnce keeps a mutation well below the largest that a node accepts.
const dropsAtOnce = 500

// DropEntries implements library.LibraryStore. It deletes each entry with its own timestamp, so
// that newer writes stay.
func (s libraries) DropEntries(ctx context.Context, owner principal.ID, es []library.BucketEntry) error {
	for part := range slices.Chunk(es, dropsAtOnce) {
		var ch session.Batch
		for _, e := range part {
			ch.Append(dropEntry, int64(e.MTS), string(owner), int8(e.Bucket), int64(e.Position), string(e.Content))
		}
		if err := s.session.WriteBatch(ctx, "drop entries", &ch); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectShared = `SELECT content_id, role FROM content_by_principal WHERE principal_id = ? AND content_id > ? LIMIT ?`
	selectRoles  = `SELECT content_id, role FROM content_by_principal WHERE principal_id = ? AND content_id IN ?`
)

// SharedWith implements library.LibraryStore.
func (s libraries) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	if limit <= 0 {
		return nil, nil
	}
	return s.shared(ctx, session.Query{Operation: "list what is shared", Stmt: selectShared, Args: []any{string(owner), string(after), limit}})
}

func (s libraries) shared(ctx context.Context, r session.Query) ([]library.Shared, error) {
	var (
		all  []library.Shared
		id   string
		role int8
	)
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(&id, &role) {
			return false
		}
		all = append(all, library.Shared{Content: library.ContentID(id), Role: library.ContentRole(role)})
		return true
	})
	return all, err
}

// Roles implements library.LibraryStore.
func (s libraries) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	roles := make([]library.ContentRole, len(ids))
	at := make(map[library.ContentID]library.ContentRole, len(ids))
	for part := range slices.Chunk(ids, maxInList) {
		keys := make([]string, len(part))
		for i, id := range part {
			keys[i] = string(id)
		}
		found, err := s.shared(ctx, session.Query{Operation: "read roles", Stmt: selectRoles, Args: []any{string(owner), keys}})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			at[f.Content] = f.Role
		}
	}
	for i, id := range ids {
		roles[i] = at[id]
	}
	return roles, nil
}

// maxInList limits the number of keys in one statement.
const maxInList = 100
