package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
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
	id := e.Header.ID
	key := appendHeaderKey(nil, tableContent, string(id))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	h, rows, err := s.newest(e, key)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := s.derive(b, e, h, rows); err != nil {
		return err
	}
	if err := s.commitLater(b); err != nil {
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
	v, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	principals := make([]principal.ID, len(e.Rows))
	for i, m := range e.Rows {
		principals[i] = m.Principal
	}
	var stored library.ContentRows
	err = v.readContent(e.Header.ID, principals, &stored)
	stored.Header.ID = e.Header.ID
	return &stored.Header, stored.Members, errors.Join(err, s.done(v))
}

// derive adds the derived rows of each principal to the batch.
func (s *Store) derive(b *pebble.Batch, e *library.IndexUpdate, h *library.Header, rows []library.Member) error {
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
			if err := b.Delete(key, nil); err != nil {
				return err
			}
		}
		if len(d.Delete) > 0 {
			s.dead.add(string(m.Principal), max(positions, 1))
		}
		for _, k := range d.Put {
			key = appendEntryKey(key[:0], m.Principal, k.Bucket, k.EntryKey)
			row = appendEntry(row[:0], d.Entry(h, m, k))
			if err := b.Set(key, row, nil); err != nil {
				return err
			}
		}
		if d.WritesChange {
			c := library.ChangeKey{At: e.At, Content: h.ID, MTS: h.MTS}
			if err := b.Set(appendChangeKey(key[:0], m.Principal, &c), appendChange(row[:0], d.RemovedFrom, d.Holds, d.Cause), nil); err != nil {
				return err
			}
		}
		if !e.All {
			continue
		}
		key = appendPair(key[:0], tableShared, string(m.Principal), string(h.ID))
		if err := setRole(b, key, byte(d.Role)); err != nil {
			return err
		}
	}
	return nil
}

// setRole writes a row that holds only a role, or deletes it if the role is 0.
func setRole(b *pebble.Batch, key []byte, role byte) error {
	if role == 0 {
		return b.Delete(key, nil)
	}
	return b.Set(key, appendRole(nil, role), nil)
}

// CleanUp implements library.ContentStore.
func (s contents) CleanUp(ctx context.Context, t *library.Cleanup) (err error) {
	op, err := s.enter(ctx, "clean up")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	key := appendHeaderKey(nil, tableContent, string(t.ID))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	h, err := s.header(t.ID, key)
	if err != nil {
		return err
	}
	if h.Seq == 0 {
		return nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := s.cleanUp(b, t, h, key); err != nil {
		return err
	}
	if b.Empty() {
		return nil
	}
	return s.commitLater(b)
}

// cleanUp adds the row changes of t to the batch.
func (s contents) cleanUp(b *pebble.Batch, t *library.Cleanup, h *library.Header, key []byte) error {
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
		if err := b.Delete(memberKey, nil); err != nil {
			return err
		}
	}
	if purge {
		for _, k := range t.Rows {
			if err := b.Delete(appendRowKey(nil, t.ID, k), nil); err != nil {
				return err
			}
		}
	}
	if t.Final && h.State == commit.Deleted {
		reduced := library.Header{State: h.State, Seq: h.Seq, MTS: h.MTS, Writers: h.Writers}
		return b.Set(key, appendHeader(nil, &reduced), nil)
	}
	fewer := *h
	fewer.Unsettled = without(h.Unsettled, t.Positions)
	fewer.UnsettledTitles = slices.DeleteFunc(slices.Clone(h.UnsettledTitles), func(u library.SupersededTitle) bool {
		return slices.Contains(t.Titles, u.At)
	})
	if len(fewer.Unsettled) != len(h.Unsettled) || len(fewer.UnsettledTitles) != len(h.UnsettledTitles) {
		return b.Set(key, appendHeader(nil, &fewer), nil)
	}
	return nil
}

// without returns the superseded positions that are not in gone.
func without(current []library.Superseded, gone []clock.Instant) []library.Superseded {
	var kept []library.Superseded
	for _, u := range current {
		found := false
		for _, p := range gone {
			found = found || p == u.Position
		}
		if !found {
			kept = append(kept, u)
		}
	}
	return kept
}
