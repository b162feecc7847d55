package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/commit"
	"carrel/principal"
)

// principals implements principal.Store.
type principals struct{ *Store }

// ReadPrincipal implements principal.Store.
func (s principals) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	header := appendHeaderKey(nil, tablePrincipal, string(id))
	return readDecided(ctx, s.Store, "read a principal", q.Serial, header, func(v *view) (*principal.Rows, error) {
		rows := new(principal.Rows)
		err := v.readPrincipal(id, q.Members, rows)
		if err == nil && q.Request != nil {
			rows.Request, err = v.readRequest(tablePrincipal, string(id), q.Request)
		}
		return rows, err
	})
}

// readPrincipal reads a header and the rows of members into rows.
func (v *view) readPrincipal(id principal.ID, members []principal.ID, rows *principal.Rows) error {
	if err := v.readPrincipalHeader(id, &rows.Header); err != nil {
		return err
	}
	if len(members) > 0 {
		rows.Members = make([]principal.GroupMemberRow, len(members))
	}
	for i, p := range members {
		rows.Members[i].Principal = p
		if err := v.readGroupMember(id, &rows.Members[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) readPrincipalHeader(id principal.ID, h *principal.Header) error {
	v.key = appendHeaderKey(v.key[:0], tablePrincipal, string(id))
	value, found, err := v.get()
	if err != nil || !found {
		return err
	}
	if err := decodePrincipal(id, value, h); err != nil {
		return fmt.Errorf("header of principal %q: %w", id, err)
	}
	return nil
}

// readGroupMember reads the row of m.Principal into m.
func (v *view) readGroupMember(group principal.ID, m *principal.GroupMemberRow) error {
	v.key = appendMemberKey(v.key[:0], tablePrincipal, string(group), m.Principal)
	value, found, err := v.get()
	if err != nil || !found {
		return err
	}
	if err := decodeGroupMember(value, m); err != nil {
		return fmt.Errorf("member %q of group %q: %w", m.Principal, group, err)
	}
	return nil
}

// ReadPrincipals implements principal.Store.
func (s principals) ReadPrincipals(ctx context.Context, ids []principal.ID) (_ []principal.Header, err error) {
	op, err := s.enter(ctx, "read principals")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	if len(ids) == 1 { // opening an iterator would cost as much as reading the row
		h := make([]principal.Header, 1)
		if err := s.readShown(ids[0], &h[0]); err != nil {
			return nil, err
		}
		return h, nil
	}
	v, err := s.open(nil)
	if err != nil {
		return nil, err
	}
	headers, err := v.readPrincipalHeaders(ids)
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return headers, nil
}

// readShown reads the header of a principal without its writers.
func (s principals) readShown(id principal.ID, h *principal.Header) error {
	var buf [64]byte
	value, closer, err := s.db.Get(appendHeaderKey(buf[:0], tablePrincipal, string(id)))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = decodeShownPrincipal(id, string(value), h); err != nil {
		err = fmt.Errorf("header of principal %q: %w", id, err)
	}
	return errors.Join(err, closer.Close())
}

// readPrincipalHeaders reads headers without their writers, into a few allocations.
func (v *view) readPrincipalHeaders(ids []principal.ID) ([]principal.Header, error) {
	for _, id := range ids {
		v.key = appendHeaderKey(v.key[:0], tablePrincipal, string(id))
		if _, err := v.collect(); err != nil {
			return nil, err
		}
	}
	headers := make([]principal.Header, len(ids))
	values, ends := v.collected()
	begin := 0
	for i, id := range ids {
		if value := values[begin:ends[i]]; value != "" {
			if err := decodeShownPrincipal(id, value, &headers[i]); err != nil {
				return nil, fmt.Errorf("header of principal %q: %w", id, err)
			}
		}
		begin = ends[i]
	}
	return headers, nil
}

// GroupMembersPage implements principal.Store.
func (s principals) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	header := appendHeaderKey(nil, tablePrincipal, string(group))
	return readDecided(ctx, s.Store, "read group members", serial, header, func(v *view) (*principal.Rows, error) {
		rows := new(principal.Rows)
		err := v.readPrincipalHeader(group, &rows.Header)
		if err == nil {
			rows.Members, err = memberRows(v, tablePrincipal, string(group), after, limit, groupMember)
		}
		return rows, err
	})
}

// groupMember reads the row of a member of a group.
func groupMember(p principal.ID, value []byte) (principal.GroupMemberRow, error) {
	m := principal.GroupMemberRow{Principal: p}
	err := decodeGroupMember(value, &m)
	return m, err
}

// CommitPrincipal implements principal.Store.
func (s principals) CommitPrincipal(ctx context.Context, c *principal.Commit) (_ commit.Verdict, err error) {
	op, err := s.enter(ctx, "commit a principal")
	if err != nil {
		return commit.Verdict{}, err
	}
	defer op.leave(&err)
	if c.Header.Seq != c.Base+1 {
		return commit.Verdict{}, wrongSeq(c.Header.Seq, c.Base)
	}
	v, err := s.commitPrincipal(c)
	op.refused = !v.Applied
	if err == nil && v.Applied && c.Request != nil {
		s.forgetExpired(c.Request.Until)
	}
	return v, err
}

// commitPrincipal does the compare-and-set under the partition's lock.
func (s principals) commitPrincipal(c *principal.Commit) (commit.Verdict, error) {
	key := appendHeaderKey(nil, tablePrincipal, string(c.ID))
	var verdict commit.Verdict
	err := s.change(key, s.commitSynced, func(b *batch) error {
		current, err := s.principal(c.ID)
		if err != nil {
			return err
		}
		if current.Seq != c.Base {
			verdict = commit.Verdict{Seq: current.Seq, Writers: current.Writers}
			return nil
		}
		h := c.Header
		h.Writers = withWriter(current.Writers, h.Seq, c.Writer)
		b.set(key, appendPrincipal(nil, &h))
		for _, m := range c.Members {
			m.Seq = h.Seq
			b.set(appendMemberKey(nil, tablePrincipal, string(c.ID), m.Principal), appendGroupMember(nil, &m))
		}
		putRequest(b, tablePrincipal, string(c.ID), c.Request)
		verdict.Applied = true
		return nil
	})
	if err != nil {
		return commit.Verdict{}, err
	}
	return verdict, nil
}

// principal reads the header of a principal. It returns a zero header if there is none.
func (s *Store) principal(id principal.ID) (*principal.Header, error) {
	return inView(s, nil, func(v *view) (*principal.Header, error) {
		h := new(principal.Header)
		return h, v.readPrincipalHeader(id, h)
	})
}

// ApplyGroupIndex implements principal.Store, as ApplyIndex does for content.
func (s principals) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) (err error) {
	op, err := s.enter(ctx, "update memberships")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	group := e.Header.ID
	return s.change(appendHeaderKey(nil, tablePrincipal, string(group)), s.commitLater, func(b *batch) error {
		newest, err := s.newestGroup(e)
		if err != nil {
			return err
		}
		for _, m := range newest.Members {
			key := appendPair(nil, tableMembership, string(m.Principal), string(group))
			if m.Active() && newest.Header.State == commit.Live {
				b.set(key, appendMembership(nil, byte(m.Role), m.Since))
			} else {
				b.delete(key)
			}
		}
		return nil
	})
}

// newestGroup returns the snapshot of e, or a newer one of the same principals.
func (s principals) newestGroup(e *principal.GroupIndexUpdate) (*principal.Rows, error) {
	return inView(s.Store, nil, func(v *view) (*principal.Rows, error) {
		stored := new(principal.Rows)
		err := v.readPrincipalHeader(e.Header.ID, &stored.Header)
		if err != nil || stored.Header.Seq == e.Header.Seq {
			return &principal.Rows{Header: *e.Header, Members: e.Rows}, err
		}
		principals := make([]principal.ID, len(e.Rows))
		for i, m := range e.Rows {
			principals[i] = m.Principal
		}
		return stored, v.readPrincipal(e.Header.ID, principals, stored)
	})
}

// Memberships implements principal.Store.
func (s principals) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	rows := pairs(tableMembership, string(p), string(after), limit)
	prefix := len(appendPair(nil, tableMembership, string(p), ""))
	return list(ctx, s.Store, "list memberships", rows, func(key, value []byte) (principal.Membership, error) {
		role, since, err := decodeMembership(value)
		return principal.Membership{Group: principal.ID(key[prefix:]), Role: principal.GroupRole(role), Since: since}, err
	})
}

// MembershipsOf implements principal.Store. All rows come from one snapshot.
func (s principals) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	return read(ctx, s.Store, "list memberships", func(v *view) ([][]principal.Membership, error) {
		v.it.SetBounds([]byte{tableMembership}, []byte{tableMembership + 1})
		all := make([][]principal.Membership, 0, len(q.Principals))
		rows := 0
		for _, p := range q.Principals {
			if rows >= q.Rows {
				break
			}
			ms, err := v.memberships(p, q.Own, q.Others)
			if err != nil {
				return nil, err
			}
			all = append(all, ms)
			rows += len(ms)
		}
		return all, nil
	})
}

// memberships reads the memberships of one principal with an iterator over the whole table. When
// a limit is reached, it seeks past the groups that the limit is for: those of p's own tenant, or
// those that sort before or after them.
func (v *view) memberships(p principal.ID, own, others int) (ms []principal.Membership, err error) {
	from, to := principal.OwnGroups(p)
	v.key = appendPartition(v.key[:0], tableMembership, string(p))
	prefix := len(v.key)
	for ok := v.it.SeekGE(v.key); ok && bytes.HasPrefix(v.it.Key(), v.key[:prefix]); {
		group := principal.ID(v.it.Key()[prefix:])
		remaining, beyond := &others, from
		switch {
		case group >= to:
			beyond = ""
		case group >= from:
			remaining, beyond = &own, to
		}
		if *remaining <= 0 {
			if beyond == "" {
				break
			}
			v.key = append(v.key[:prefix], beyond...)
			ok = v.it.SeekGE(v.key)
			continue
		}
		*remaining--
		value, err := v.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		role, since, err := decodeMembership(value)
		if err != nil {
			return nil, fmt.Errorf("row of %q: %w", p, err)
		}
		ms = append(ms, principal.Membership{Group: group, Role: principal.GroupRole(role), Since: since})
		ok = v.it.Next()
	}
	return ms, v.it.Error()
}

// ScanPrincipals implements principal.Store.
func (s principals) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	return scanPartitions(ctx, s.Store, "list principals", tablePrincipal, after, limit)
}
