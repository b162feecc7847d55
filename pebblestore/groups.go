package pebblestore

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/principal"
)

// Confirm implements principal.Store. All rows come from one snapshot.
func (s principals) Confirm(ctx context.Context, memberships []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	return read(ctx, s.Store, "confirm memberships", func(v *view) ([]principal.GroupMemberRow, error) {
		rows := make([]principal.GroupMemberRow, len(memberships))
		for i, c := range memberships {
			rows[i].Principal = c.Member
			if err := v.confirm(c.Group, &rows[i]); err != nil {
				return nil, err
			}
		}
		return rows, nil
	})
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
	return s.change(appendHeaderKey(nil, tablePrincipal, string(t.ID)), s.commitLater, func(b *batch) error {
		if t.Purge {
			return s.purgeMembers(b, t)
		}
		for _, given := range t.Leaving {
			key := appendMemberKey(nil, tablePrincipal, string(t.ID), given.Principal)
			value, found, err := s.get(key)
			if err == nil && found {
				var stored principal.GroupMemberRow
				if err = decodeGroupMember(value, &stored); stored.Leaving && stored.Seq == given.Seq {
					b.delete(key)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// purgeMembers removes member rows of a deleted group. The caller holds the lock of the group.
func (s principals) purgeMembers(b *batch, t *principal.GroupCleanup) error {
	h, err := s.principal(t.ID)
	if err != nil || h.State != commit.Deleted {
		return err
	}
	for _, m := range t.Leaving {
		b.delete(appendMemberKey(nil, tablePrincipal, string(t.ID), m.Principal))
	}
	return nil
}
