package cassandra

import (
	"context"
	"math"
	"slices"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/library"
	"carrel/principal"
)

// A slice without a start or a bound gets one that no entry can have, so that two statements can
// read every slice.
var (
	beforeAll = library.EntryKey{Position: math.MinInt64}
	afterAll  = library.EntryKey{Position: math.MaxInt64, Title: "\xff\xff\xff\xff"}
)

// The slice also returns the static column of the partition, at no cost.
const (
	titlesDown = `SELECT title, content_id, mts, role, title_hash, built FROM library_by_title
 WHERE principal_id = ? AND bucket = ? AND (title, content_id) < (?, ?) ORDER BY bucket DESC, title DESC, content_id DESC LIMIT ?`
	titlesUp = `SELECT title, content_id, mts, role, title_hash, built FROM library_by_title
 WHERE principal_id = ? AND bucket = ? AND (title, content_id) > (?, ?) AND (title, content_id) <= (?, ?) LIMIT ?`
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
			o.Built, err = s.Built(ctx, p.Owner, p.Order)
		}
		return err
	}}
	if newest {
		readings = append(readings, func(ctx context.Context) error {
			es, built, err := s.page(ctx, library.Slice{Owner: p.Owner, Bucket: p.Bucket, Limit: 1})
			if len(es) == 1 {
				o.Newest, whole = &es[0].EntryKey, built
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
	if p.Order == library.ByTitle {
		return s.titles(ctx, p)
	}
	r := session.Query{Operation: "page a library", PartitionKey: string(p.Owner), Args: []any{string(p.Owner), int8(p.Bucket)}}
	if p.Ascending {
		from, bound := keyOr(p.From, beforeAll), keyOr(p.Bound, afterAll)
		r.Stmt = pageNewer
		r.Args = append(r.Args, int64(from.Position), string(from.Content), int64(bound.Position), string(bound.Content), p.Limit)
	} else {
		from := keyOr(p.From, afterAll)
		r.Stmt = pageOlder
		r.Args = append(r.Args, int64(from.Position), string(from.Content), p.Limit)
	}
	return s.scanEntries(ctx, r, min(p.Limit, 128))
}

// scanEntries runs a statement that returns about n entries in the order of the last change.
func (s libraries) scanEntries(ctx context.Context, r session.Query, n int) (es []library.Entry, built bool, err error) {
	es = make([]library.Entry, 0, n)
	var (
		position, mts int64
		id            string
		role          int8
	)
	err = s.session.Read(ctx, r, []any{&position, &id, &mts, &role, &built}, func() error {
		es = append(es, library.Entry{EntryKey: library.EntryKey{Position: clock.Instant(position), Content: library.ContentID(id)},
			MTS: clock.Instant(mts), Role: library.ContentRole(role)})
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return es, built, nil
}

// titles is page for the order of titles.
func (s libraries) titles(ctx context.Context, p library.Slice) (es []library.Entry, built bool, err error) {
	r := session.Query{Operation: "page a library", PartitionKey: string(p.Owner), Args: []any{string(p.Owner), int8(p.Bucket)}}
	if p.Ascending {
		from, bound := keyOr(p.From, library.EntryKey{}), keyOr(p.Bound, afterAll)
		r.Stmt = titlesUp
		r.Args = append(r.Args, []byte(from.Title), string(from.Content), []byte(bound.Title), string(bound.Content), p.Limit)
	} else {
		from := keyOr(p.From, afterAll)
		r.Stmt = titlesDown
		r.Args = append(r.Args, []byte(from.Title), string(from.Content), p.Limit)
	}
	return s.scanTitles(ctx, r, min(p.Limit, 128))
}

// scanTitles runs a statement that returns about n entries in the order of titles.
func (s libraries) scanTitles(ctx context.Context, r session.Query, n int) (es []library.Entry, built bool, err error) {
	es = make([]library.Entry, 0, n)
	var (
		title     []byte
		mts, hash int64
		id        string
		role      int8
		version   int8
	)
	err = s.session.Read(ctx, r, []any{&title, &id, &mts, &role, &hash, &version}, func() error {
		es = append(es, library.Entry{EntryKey: library.EntryKey{Title: collation.Key(title), Content: library.ContentID(id)},
			MTS: clock.Instant(mts), Role: library.ContentRole(role), TitleHash: uint64(hash)})
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return es, version == collation.Version, nil
}

const (
	selectEntries = `SELECT position, content_id, mts, role, built FROM library_by_principal
 WHERE principal_id = ? AND bucket = ? AND (position, content_id) IN ?`
	selectTitles = `SELECT title, content_id, mts, role, title_hash, built FROM library_by_title
 WHERE principal_id = ? AND bucket = ? AND (title, content_id) IN ?`
)

// positionKey and titleKey are the clustering columns after the bucket.
type (
	positionKey struct {
		Position int64
		Content  string
	}
	titleKey struct {
		Title   []byte
		Content string
	}
)

// EntriesAt implements library.LibraryStore with one statement.
func (s libraries) EntriesAt(ctx context.Context, owner principal.ID, b library.Bucket, keys []library.EntryKey) ([]library.Entry, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var found []library.Entry
	var err error
	r := session.Query{Operation: "read entries", PartitionKey: string(owner)}
	if keys[0].Title != "" {
		at := make([]titleKey, len(keys))
		for i, k := range keys {
			at[i] = titleKey{[]byte(k.Title), string(k.Content)}
		}
		r.Stmt, r.Args = selectTitles, []any{string(owner), int8(b), at}
		found, _, err = s.scanTitles(ctx, r, len(keys))
	} else {
		at := make([]positionKey, len(keys))
		for i, k := range keys {
			at[i] = positionKey{int64(k.Position), string(k.Content)}
		}
		r.Stmt, r.Args = selectEntries, []any{string(owner), int8(b), at}
		found, _, err = s.scanEntries(ctx, r, len(keys))
	}
	if err != nil {
		return nil, err
	}
	es := make([]library.Entry, len(keys))
	for i, k := range keys {
		if n := slices.IndexFunc(found, func(e library.Entry) bool { return e.EntryKey == k }); n >= 0 {
			es[i] = found[n]
		}
	}
	return es, nil
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
	err := s.session.Read(ctx, r, []any{&role}, func() error {
		n++
		return nil
	})
	return n, err
}

const (
	selectBuilt       = `SELECT DISTINCT principal_id, built FROM library_by_principal WHERE principal_id = ?`
	selectTitlesBuilt = `SELECT DISTINCT principal_id, built FROM library_by_title WHERE principal_id = ?`
)

// Built implements library.LibraryStore.
func (s libraries) Built(ctx context.Context, owner principal.ID, o library.Order) (bool, error) {
	var (
		id      string
		built   bool
		version int8
	)
	r := session.Query{Operation: "read a library", Stmt: selectBuilt, Args: []any{string(owner)}}
	if o == library.ByTitle {
		r.Stmt = selectTitlesBuilt
		_, err := s.session.ReadRow(ctx, r, &id, &version)
		return version == collation.Version, err
	}
	_, err := s.session.ReadRow(ctx, r, &id, &built)
	return built, err
}

// The record of what is shared with a principal is marked as complete by a row with the empty id,
// which no item has and no listing shows. A partition that is deleted loses its mark, and later
// shares do not restore it.
const selectRecorded = `SELECT role FROM content_by_principal WHERE principal_id = ? AND content_id = ''`

// Recorded implements library.LibraryStore.
func (s libraries) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	var role int8
	r := session.Query{Operation: "read what is shared", Stmt: selectRecorded, Args: []any{string(owner)}}
	return s.session.ReadRow(ctx, r, &role)
}

const (
	setTitlesBuilt = `UPDATE library_by_title USING TIMESTAMP ? SET built = ? WHERE principal_id = ?`
	setBuilt       = `UPDATE library_by_principal USING TIMESTAMP ? SET built = true WHERE principal_id = ?`
	setRecorded    = `INSERT INTO content_by_principal (principal_id, content_id, role) VALUES (?, '', 0) USING TIMESTAMP ?`
)

// SetBuilt implements library.LibraryStore. All marks carry the instant as of which they are
// valid, so that a later deletion of the partition deletes them too.
func (s libraries) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	var ch session.Batch
	ch.Append(setBuilt, int64(asOf), string(owner))
	ch.Append(setTitlesBuilt, int64(asOf), int8(collation.Version), string(owner))
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
	_, err := s.session.ReadRow(ctx, r, &id, &note)
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
	dropTitles  = `DELETE FROM library_by_title USING TIMESTAMP ? WHERE principal_id = ?`
	dropRecord  = `DELETE FROM content_by_principal USING TIMESTAMP ? WHERE principal_id = ?`
)

// DropLibrary implements library.LibraryStore. It deletes all partitions with the instant as the
// timestamp, so that late writes of older rows have no effect.
func (s libraries) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	var ch session.Batch
	ch.Append(dropLibrary, int64(asOf), string(owner))
	ch.Append(dropTitles, int64(asOf), string(owner))
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
			appendDrop(&ch, int64(e.MTS), string(owner), library.LibraryKey{Bucket: e.Bucket, EntryKey: e.EntryKey})
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
		id   string
		role int8
	)
	return session.List(ctx, s.session, r, []any{&id, &role}, func() (library.Shared, error) {
		return library.Shared{Content: library.ContentID(id), Role: library.ContentRole(role)}, nil
	})
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
