package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// ApplyIndexBatch implements library.ContentStore.
func (s contents) ApplyIndexBatch() int { return applyIndexBatch }

// ApplyIndex implements library.ContentStore. Under the content's lock it writes index rows from
// the given snapshot if the stored header has its Seq, and from newer stored rows otherwise. So
// older rows never overwrite newer ones, without a timestamp on each row.
func (s contents) ApplyIndex(ctx context.Context, e *library.IndexUpdate) (err error) {
	op, err := s.enter(ctx, "update index")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	key := appendHeaderKey(nil, tableContent, string(e.Header.ID))
	err = s.change(key, s.commitLater, func(b *batch) error {
		h, rows, err := s.newest(e, key)
		if err != nil {
			return err
		}
		s.derive(b, e, h, rows)
		return nil
	})
	if err != nil {
		return err
	}
	if e.At != 0 {
		s.forgetChanges(e.At)
	}
	return nil
}

// newest returns the snapshot of e, or a newer one of the same principals.
func (s contents) newest(e *library.IndexUpdate, key []byte) (*library.Header, []library.Member, error) {
	value, closer, err := s.db.Get(key)
	switch {
	case err == nil:
		seq, err := decodeSeq(value)
		if err := errors.Join(err, closer.Close()); err != nil {
			return nil, nil, fmt.Errorf("header of content %q: %w", e.Header.ID, err)
		}
		if seq == e.Header.Seq {
			return e.Header, e.Rows, nil
		}
	case !errors.Is(err, pebble.ErrNotFound):
		return nil, nil, err
	}
	principals := make([]principal.ID, len(e.Rows))
	for i, m := range e.Rows {
		principals[i] = m.Principal
	}
	stored, err := inView(s.Store, nil, func(v *view) (*library.ContentRows, error) {
		rows := new(library.ContentRows)
		return rows, v.readContent(e.Header.ID, principals, rows)
	})
	if err != nil {
		return nil, nil, err
	}
	stored.Header.ID = e.Header.ID
	return &stored.Header, stored.Members, nil
}

// derive adds the derived rows of each principal to the batch.
func (s *Store) derive(b *batch, e *library.IndexUpdate, h *library.Header, rows []library.Member) {
	var (
		d   library.Derived
		key []byte
		row []byte
	)
	s.dead.mu.Lock()
	defer s.dead.mu.Unlock()
	for _, m := range rows {
		e.Derive(h, m, &d)
		positions := 0
		for _, k := range d.Delete {
			if k.Bucket == principal.Private {
				positions++
			}
			key = appendEntryKey(key[:0], m.Principal, k.Bucket, k.EntryKey)
			b.delete(key)
		}
		if len(d.Delete) > 0 {
			s.dead.add(string(m.Principal), max(positions, 1))
		}
		for _, k := range d.Put {
			key = appendEntryKey(key[:0], m.Principal, k.Bucket, k.EntryKey)
			row = appendEntry(row[:0], d.Entry(h, m, k))
			b.set(key, row)
		}
		if d.WritesChange {
			c := library.ChangeKey{At: e.At, Content: h.ID, MTS: h.MTS}
			b.set(appendChangeKey(key[:0], m.Principal, &c), appendChange(row[:0], d.RemovedFrom, d.Holds, d.Cause))
		}
		if !e.All {
			continue
		}
		key = appendPair(key[:0], tableShared, string(m.Principal), string(h.ID))
		if d.Role == 0 {
			b.delete(key)
		} else {
			b.set(key, appendRole(nil, byte(d.Role)))
		}
	}
}

// CleanUp implements library.ContentStore.
func (s contents) CleanUp(ctx context.Context, t *library.Cleanup) (err error) {
	op, err := s.enter(ctx, "clean up")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	key := appendHeaderKey(nil, tableContent, string(t.ID))
	return s.change(key, s.commitLater, func(b *batch) error {
		h, err := s.header(t.ID, key)
		if err != nil || h.Seq == 0 {
			return err
		}
		return s.cleanUp(b, t, h, key)
	})
}

// cleanUp adds the row changes of t to the batch.
func (s contents) cleanUp(b *batch, t *library.Cleanup, h *library.Header, key []byte) error {
	purge := t.Purge && h.State == commit.Deleted
	for _, given := range t.Leaving {
		m := library.Member{Principal: given.Principal}
		memberKey := appendMemberKey(nil, tableContent, string(t.ID), given.Principal)
		if !purge {
			value, found, err := s.get(memberKey)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if err := decodeContentMember(value, &m); err != nil {
				return err
			}
			if !m.Leaving || m.Seq != given.Seq {
				continue
			}
		}
		b.delete(memberKey)
	}
	if purge {
		for _, k := range t.Rows {
			b.delete(appendRowKey(nil, t.ID, k))
		}
	}
	if t.Final && h.State == commit.Deleted {
		reduced := library.Header{State: h.State, Seq: h.Seq, MTS: h.MTS, Writers: h.Writers}
		b.set(key, appendHeader(nil, &reduced))
		return nil
	}
	fewer := *h
	fewer.Unsettled = slices.DeleteFunc(slices.Clone(h.Unsettled), func(u library.Superseded) bool {
		return slices.Contains(t.Positions, u.Position)
	})
	fewer.UnsettledTitles = slices.DeleteFunc(slices.Clone(h.UnsettledTitles), func(u library.SupersededTitle) bool {
		return slices.Contains(t.Titles, u.At)
	})
	if len(fewer.Unsettled) != len(h.Unsettled) || len(fewer.UnsettledTitles) != len(h.UnsettledTitles) {
		b.set(key, appendHeader(nil, &fewer))
	}
	return nil
}
