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
func (s contents) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	header := appendHeaderKey(nil, tableContent, string(id))
	return readDecided(ctx, s.Store, "read a content", q.Serial, header, func(v *view) (*library.ContentRows, error) {
		rows := new(library.ContentRows)
		err := v.readContent(id, q.Members, rows)
		if err == nil && q.Request != nil {
			rows.Request, err = v.readRequest(tableContent, string(id), q.Request)
		}
		if err == nil && len(q.Rows) > 0 {
			rows.Rows, err = v.readRows(id, q.Rows)
		}
		return rows, err
	})
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
	v, err := s.open(nil)
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
	serial bool) (*library.ContentRows, error) {
	header := appendHeaderKey(nil, tableContent, string(id))
	return readDecided(ctx, s.Store, "read members", serial, header, func(v *view) (*library.ContentRows, error) {
		rows := new(library.ContentRows)
		err := v.readContent(id, nil, rows)
		if err == nil {
			rows.Members, err = memberRows(v, tableContent, string(id), after, limit, contentMember)
		}
		return rows, err
	})
}

// contentMember reads the row of a member of a content.
func contentMember(p principal.ID, value []byte) (library.Member, error) {
	m := library.Member{Principal: p}
	err := decodeContentMember(value, &m)
	return m, err
}

// memberRows lists member rows of a partition, starting after a principal.
func memberRows[T any](v *view, table byte, id string, after principal.ID, limit int,
	decode func(p principal.ID, value []byte) (T, error)) ([]T, error) {
	prefix := append(appendPartition(nil, table, id), kindMember)
	rows := under(prefix, limit)
	if after != "" {
		rows.from = appendAfter(appendMemberKey(nil, table, id, after))
	}
	return listRows(v, rows, func(key, value []byte) (T, error) { return decode(principal.ID(key[len(prefix):]), value) })
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
	var verdict commit.Verdict
	err := s.change(key, s.commitSynced, func(b *batch) error {
		current, err := s.header(c.ID, key)
		if err != nil {
			return err
		}
		if current.Seq != c.Base {
			verdict = commit.Verdict{Seq: current.Seq, Writers: current.Writers}
			return nil
		}
		h := c.Header
		h.Unsettled = withSuperseded(current.Unsettled, c.Supersede)
		h.UnsettledTitles = current.UnsettledTitles
		if c.SupersedeTitle != nil {
			h.UnsettledTitles = library.WithSupersededTitle(h.UnsettledTitles, *c.SupersedeTitle)
		}
		h.Writers = withWriter(current.Writers, h.Seq, c.Writer)
		b.set(key, appendHeader(nil, &h))
		for _, m := range c.Members {
			m.Seq = h.Seq
			b.set(appendMemberKey(nil, tableContent, string(c.ID), m.Principal), appendContentMember(nil, &m))
		}
		putRows(b, c.ID, c.Rows)
		putRequest(b, tableContent, string(c.ID), c.Request)
		verdict.Applied = true
		return nil
	})
	if err != nil {
		return commit.Verdict{}, err
	}
	return verdict, nil
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
	return scanPartitions(ctx, s.Store, "list contents", tableContent, after, limit)
}

// scanPartitions lists the ids of a table's partitions that follow a given one.
func scanPartitions[ID ~string](ctx context.Context, s *Store, doing string, table byte, after ID, limit int) ([]ID, error) {
	from := []byte{table}
	if after != "" {
		from = prefixEnd(appendPartition(nil, table, string(after)))
	}
	return read(ctx, s, doing, func(v *view) (ids []ID, err error) {
		v.it.SetBounds(from, []byte{table + 1})
		for ok := v.it.First(); ok && len(ids) < limit; ok = v.it.SeekGE(v.key) {
			id, _, err := cutString(v.it.Key()[1:])
			if err != nil {
				return nil, err
			}
			ids = append(ids, ID(id))
			v.key = prefixEnd(appendPartition(v.key[:0], table, id))
		}
		return ids, v.it.Error()
	})
}
