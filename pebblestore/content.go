package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// contents implements library.ContentStore.
type contents struct{ *Store }

// Read implements library.ContentStore.
func (s contents) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (_ *library.ContentRows, err error) {
	op, err := s.enter(ctx, "read a content")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openDecided(q.Serial, tableContent, string(id))
	if err != nil {
		return nil, err
	}
	rows := new(library.ContentRows)
	err = v.readContent(id, q.Members, rows)
	if err == nil && q.Request != nil {
		rows.Request, err = v.readRequest(tableContent, string(id), q.Request)
	}
	if err == nil && len(q.Rows) > 0 {
		rows.Rows, err = v.readRows(id, q.Rows)
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// openDecided opens a view of a partition. A serial read waits for a conditional write in progress,
// so that it sees only what is decided.
func (s *Store) openDecided(serial bool, table byte, id string) (*view, error) {
	if serial {
		mu := s.locks.of(appendHeaderKey(nil, table, id))
		mu.Lock()
		defer mu.Unlock()
	}
	return s.open()
}

// readContent reads a header and the rows of members into rows.
func (v *view) readContent(id library.ContentID, members []principal.ID, rows *library.ContentRows) error {
	v.key = appendHeaderKey(v.key[:0], tableContent, string(id))
	value, found, err := v.get()
	if err != nil {
		return err
	}
	if found {
		if err := decodeHeader(id, value, &rows.Header); err != nil {
			return fmt.Errorf("header of content %q: %w", id, err)
		}
	}
	if len(members) == 0 {
		return nil
	}
	rows.Members = make([]library.Member, len(members))
	return v.readMembers(id, members, found, rows.Members)
}

// readMembers reads the rows of members into rows. Without a header there are none.
func (v *view) readMembers(id library.ContentID, members []principal.ID, header bool, rows []library.Member) error {
	for i, p := range members {
		rows[i].Principal = p
		if !header {
			continue
		}
		if err := v.readMember(id, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// readMember reads the row of m.Principal into m.
func (v *view) readMember(id library.ContentID, m *library.Member) error {
	v.key = appendMemberKey(v.key[:0], tableContent, string(id), m.Principal)
	value, found, err := v.get()
	if err != nil || !found {
		return err
	}
	if err := decodeContentMember(value, m); err != nil {
		return fmt.Errorf("member %q of content %q: %w", m.Principal, id, err)
	}
	return nil
}

// readRequest reads an answered request of a partition. It returns nil if there is none.
func (v *view) readRequest(table byte, id string, key *commit.RequestKey) (*commit.RequestRow, error) {
	v.key = appendRequestKey(v.key[:0], table, id, key)
	value, found, err := v.get()
	if err != nil || !found {
		return nil, err
	}
	r, err := decodeRequest(*key, value)
	if err != nil {
		return nil, fmt.Errorf("answered request of %q: %w", id, err)
	}
	return r, nil
}

// ReadMany implements library.ContentStore. All rows come from one snapshot.
func (s contents) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) (_ []library.ContentRows, err error) {
	op, err := s.enter(ctx, "read contents")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	rows, err := v.readContents(ids, members)
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// readContents reads trimmed headers and member rows. The headers share a few allocations, and so
// do the member rows.
func (v *view) readContents(ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	rows := make([]library.ContentRows, len(ids))
	all := make([]library.Member, len(ids)*len(members))
	for i, id := range ids {
		v.key = appendHeaderKey(v.key[:0], tableContent, string(id))
		found, err := v.collect()
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			rows[i].Members, all = all[:len(members):len(members)], all[len(members):]
			if err := v.readMembers(id, members, found, rows[i].Members); err != nil {
				return nil, err
			}
		}
	}
	values, ends := v.collected()
	optionals := make([]optional, len(ids))
	begin := 0
	for i, id := range ids {
		if value := values[begin:ends[i]]; value != "" {
			if err := decodeShown(id, value, &rows[i].Header, &optionals[i]); err != nil {
				return nil, fmt.Errorf("header of content %q: %w", id, err)
			}
		}
		begin = ends[i]
		rows[i].Trim()
	}
	return rows, nil
}

// MembersPage implements library.ContentStore.
func (s contents) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int,
	serial bool) (_ *library.ContentRows, err error) {
	op, err := s.enter(ctx, "read members")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openDecided(serial, tableContent, string(id))
	if err != nil {
		return nil, err
	}
	rows := new(library.ContentRows)
	err = v.readContent(id, nil, rows)
	if err == nil {
		err = v.memberRows(tableContent, string(id), after, limit, func(p principal.ID, value []byte) error {
			m := library.Member{Principal: p}
			err := decodeContentMember(value, &m)
			rows.Members = append(rows.Members, m)
			return err
		})
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// memberRows calls row for at most limit member rows of a partition, starting after a principal.
func (v *view) memberRows(table byte, id string, after principal.ID, limit int, row func(p principal.ID, value []byte) error) error {
	if limit <= 0 {
		return nil
	}
	v.key = append(appendPartition(v.key[:0], table, id), kindMember)
	prefix := len(v.key)
	v.end = prefixEnd(append(v.end[:0], v.key...))
	if after != "" {
		v.key = appendAfter(append(v.key, after...))
	}
	v.it.SetBounds(v.key, v.end)
	n := 0
	for ok := v.it.First(); ok && n < limit; ok = v.it.Next() {
		value, err := v.it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := row(principal.ID(v.it.Key()[prefix:]), value); err != nil {
			return fmt.Errorf("member of %q: %w", id, err)
		}
		n++
	}
	return v.it.Error()
}

// Commit implements library.ContentStore.
func (s contents) Commit(ctx context.Context, c *library.ContentCommit) (_ commit.Verdict, err error) {
	op, err := s.enter(ctx, "commit")
	if err != nil {
		return commit.Verdict{}, err
	}
	defer op.leave(&err)
	if c.Header.Seq != c.Base+1 {
		return commit.Verdict{}, wrongSeq(c.Header.Seq, c.Base)
	}
	v, err := s.commitContent(c)
	op.refused = !v.Applied
	if err == nil && v.Applied && c.Request != nil {
		s.forgetExpired(c.Request.Until)
	}
	return v, err
}

func wrongSeq(seq, base int64) error {
	return &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("commit: seq %d does not follow base %d", seq, base)}
}

// commitContent does the compare-and-set under the partition's lock.
func (s contents) commitContent(c *library.ContentCommit) (commit.Verdict, error) {
	key := appendHeaderKey(nil, tableContent, string(c.ID))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	current, err := s.header(c.ID, key)
	if err != nil {
		return commit.Verdict{}, err
	}
	if current.Seq != c.Base {
		return commit.Verdict{Seq: current.Seq, Writers: current.Writers}, nil
	}
	h := c.Header
	h.Unsettled = withSuperseded(current.Unsettled, c.Supersede)
	h.UnsettledTitles = current.UnsettledTitles
	if c.SupersedeTitle != nil {
		h.UnsettledTitles = library.WithSupersededTitle(h.UnsettledTitles, *c.SupersedeTitle)
	}
	h.Writers = withWriter(current.Writers, h.Seq, c.Writer)

	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	row := appendHeader(nil, &h)
	if err := b.Set(key, row, nil); err != nil {
		return commit.Verdict{}, err
	}
	for _, m := range c.Members {
		m.Seq = h.Seq
		key = appendMemberKey(key[:0], tableContent, string(c.ID), m.Principal)
		row = appendContentMember(row[:0], &m)
		if err := b.Set(key, row, nil); err != nil {
			return commit.Verdict{}, err
		}
	}
	if err := errors.Join(putRows(b, c.ID, c.Rows), putRequest(b, tableContent, string(c.ID), c.Request)); err != nil {
		return commit.Verdict{}, err
	}
	if err := s.commitSynced(b); err != nil {
		return commit.Verdict{}, err
	}
	return commit.Verdict{Applied: true}, nil
}

// header reads the header of a content. It returns a zero header if there is none.
func (s contents) header(id library.ContentID, key []byte) (*library.Header, error) {
	h := new(library.Header)
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	err = decodeHeader(id, value, h)
	return h, errors.Join(err, closer.Close())
}

// withSuperseded inserts a superseded position in order.
func withSuperseded(current []library.Superseded, add *library.Superseded) []library.Superseded {
	if add == nil {
		return current
	}
	at, found := slices.BinarySearchFunc(current, add.Position, func(u library.Superseded, p clock.Instant) int {
		return int(min(max(u.Position-p, -1), 1))
	})
	if found {
		current[at].Widest = max(current[at].Widest, add.Widest)
		return current
	}
	return slices.Insert(current, at, *add)
}

// withWriter adds the writer of seq and drops the writers that are too old to be looked up.
func withWriter(current []commit.Writer, seq int64, entry commit.EntryID) []commit.Writer {
	kept := slices.DeleteFunc(current, func(w commit.Writer) bool { return w.Seq <= seq-commit.MaxWriters })
	return append(kept, commit.Writer{Seq: seq, Entry: entry})
}

// ScanContents implements library.ContentStore.
func (s contents) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	ids, err := s.scanPartitions(ctx, "list contents", tableContent, string(after), limit)
	if err != nil {
		return nil, err
	}
	contents := make([]library.ContentID, len(ids))
	for i, id := range ids {
		contents[i] = library.ContentID(id)
	}
	return contents, nil
}

// scanPartitions lists the ids of a table's partitions that follow a given one.
func (s *Store) scanPartitions(ctx context.Context, doing string, table byte, after string, limit int) (_ []string, err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], table)
		v.end = append(v.end[:0], table+1)
		if after != "" {
			v.key = prefixEnd(appendPartition(v.key[:0], table, after))
		}
	})
	if err != nil || v == nil {
		return nil, err
	}
	var ids []string
	for ok := v.it.First(); ok && len(ids) < limit; {
		id, _, cut := cutString(v.it.Key()[1:])
		if cut != nil {
			err = cut
			break
		}
		ids = append(ids, id)
		v.key = prefixEnd(appendPartition(v.key[:0], table, id))
		ok = v.it.SeekGE(v.key)
	}
	return ids, errors.Join(err, s.done(v))
}
