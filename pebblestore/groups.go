package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/commit"
	"carrel/principal"
)

// Confirm implements principal.Store. All rows come from one snapshot.
func (s principals) Confirm(ctx context.Context, memberships []principal.MemberOf) (_ []principal.GroupMemberRow, err error) {
	op, err := s.enter(ctx, "confirm memberships")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	rows := make([]principal.GroupMemberRow, len(memberships))
	for i, c := range memberships {
		rows[i].Principal = c.Member
		if err = v.confirm(c.Group, &rows[i]); err != nil {
			break
		}
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// confirm reads the row of m.Principal into m, unless the group is deleted.
func (v *view) confirm(group principal.ID, m *principal.GroupMemberRow) error {
	v.key = appendHeaderKey(v.key[:0], tablePrincipal, string(group))
	value, found, err := v.get()
	if err != nil || !found {
		return err
	}
	state, err := decodePrincipalState(value)
	if err != nil {
		return fmt.Errorf("header of principal %q: %w", group, err)
	}
	if state == commit.Deleted {
		return nil
	}
	return v.readGroupMember(group, m)
}

// CleanUpGroup implements principal.Store.
func (s principals) CleanUpGroup(ctx context.Context, t *principal.GroupCleanup) (err error) {
	op, err := s.enter(ctx, "clean up a group")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	mu := s.locks.of(appendHeaderKey(nil, tablePrincipal, string(t.ID)))
	mu.Lock()
	defer mu.Unlock()
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if t.Purge {
		return s.purgeMembers(b, t)
	}
	for _, given := range t.Leaving {
		key := appendMemberKey(nil, tablePrincipal, string(t.ID), given.Principal)
		value, found, err := s.get(key)
		if err == nil && found {
			var stored principal.GroupMemberRow
			if err = decodeGroupMember(value, &stored); err == nil && stored.Leaving && stored.Seq == given.Seq {
				err = b.Delete(key, nil)
			}
		}
		if err != nil {
			return err
		}
	}
	if b.Empty() {
		return nil
	}
	return s.commitLater(b)
}

// purgeMembers removes member rows of a deleted group. The caller holds the lock of the group.
func (s principals) purgeMembers(b *pebble.Batch, t *principal.GroupCleanup) error {
	h, err := s.principal(t.ID)
	if err != nil {
		return err
	}
	if h.State != commit.Deleted {
		return nil
	}
	for _, m := range t.Leaving {
		if err := b.Delete(appendMemberKey(nil, tablePrincipal, string(t.ID), m.Principal), nil); err != nil {
			return err
		}
	}
	return s.commitLater(b)
}
