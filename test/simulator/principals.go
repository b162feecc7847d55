package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/principal"
)

func byGroupMember(m principal.GroupMemberRow, p principal.ID) int {
	return cmp.Compare(m.Principal, p)
}

// row returns the member row of a principal, Seq 0 if there is none.
func (p *principalPart) row(member principal.ID) principal.GroupMemberRow {
	if p != nil {
		if i, ok := find(p.members, member, byGroupMember); ok {
			return p.members[i]
		}
	}
	return principal.GroupMemberRow{Principal: member}
}

// principals implements principal.Store.
type principals struct{ *Client }

// ReadPrincipal reads a principal's partition.
func (c principals) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	var r principal.Rows
	err := c.read(ctx, "ReadPrincipal", func() {
		if q.Serial && c.a != nil {
			c.st.decide(string(id))
		}
		p := c.st.principal(id)
		for _, m := range q.Members {
			r.Members = append(r.Members, p.row(m))
		}
		if p != nil {
			r.Header = p.header
			r.Request = requestRow(p.requests, q.Request)
		}
	})
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// ReadPrincipals reads headers.
func (c principals) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	headers := make([]principal.Header, len(ids))
	err := c.read(ctx, "ReadPrincipals", func() {
		for i, id := range ids {
			if p := c.st.principal(id); p != nil {
				headers[i] = p.header
				headers[i].Writers = nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return headers, nil
}

// GroupMembersPage reads a page of a group's member rows.
func (c principals) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	var r principal.Rows
	err := c.read(ctx, "GroupMembersPage", func() {
		if serial && c.a != nil {
			c.st.decide(string(group))
		}
		p := c.st.principal(group)
		if p == nil {
			return
		}
		r.Header = p.header
		i, ok := find(p.members, after, byGroupMember)
		if ok {
			i++
		}
		r.Members = slices.Clone(p.members[i:min(len(p.members), i+limit)])
	})
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Confirm reads the groups' own rows.
func (c principals) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	rows := make([]principal.GroupMemberRow, len(claims))
	err := c.read(ctx, "Confirm", func() {
		for i, claim := range claims {
			group := c.st.principal(claim.Group)
			if rows[i].Principal = claim.Member; group != nil && group.header.State != commit.Deleted {
				rows[i] = group.row(claim.Member)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// CommitPrincipal is the conditional write of a principal's partition.
func (c principals) CommitPrincipal(ctx context.Context, cm *principal.Commit) (commit.Verdict, error) {
	var v commit.Verdict
	mine := *cm
	mine.Members = slices.Clone(cm.Members)
	by := c.running()
	err := c.write(ctx, "CommitPrincipal", string(cm.ID), func() { v = c.st.commitPrincipal(&mine, by) }, nil)
	if err != nil {
		return commit.Verdict{}, err
	}
	return v, nil
}

func (st *Store) commitPrincipal(cm *principal.Commit, by *Operation) commit.Verdict {
	p := st.makePrincipal(cm.ID)
	if p.header.Seq != cm.Base {
		st.tracef("  refused: seq %d, base %d", p.header.Seq, cm.Base)
		return commit.Verdict{Seq: p.header.Seq, Writers: p.header.Writers}
	}
	st.decided++
	h := cm.Header
	h.Writers = addWriter(p.header.Writers, commit.Writer{Seq: h.Seq, Entry: cm.Writer})
	p.header = h
	p.members = putGroupMembers(p.members, cm.Members)
	if cm.Request != nil {
		p.requests = putRequest(p.requests, *cm.Request)
	}
	if st.Trace != nil {
		st.tracef("  applied: %s seq %d mts %d state %d members %v", cm.ID, h.Seq, h.MTS, h.State, p.members)
	}
	if st.history != nil {
		st.history.principal(p, by)
		st.checkAddress(p)
	}
	return commit.Verdict{Applied: true, Seq: h.Seq, Writers: h.Writers}
}

// putGroupMembers keeps the list in order of id; lists are replaced, never changed.
func putGroupMembers(list, rows []principal.GroupMemberRow) []principal.GroupMemberRow {
	list = slices.Clone(list)
	for _, m := range rows {
		if i, ok := find(list, m.Principal, byGroupMember); ok {
			list[i] = m
		} else {
			list = slices.Insert(list, i, m)
		}
	}
	return list
}

// ApplyGroupIndex writes derived memberships.
func (c principals) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) error {
	h := *e.Header
	rows := slices.Clone(e.Rows)
	return c.write(ctx, "ApplyGroupIndex", "", func() {
		for _, m := range rows {
			cell := c.st.library(m.Principal).group(h.ID)
			if !m.Active() || h.State != commit.Live {
				cell.del(int64(h.MTS))
			} else if cell.put(int64(h.MTS)) {
				cell.role, cell.since = m.Role, m.Since
			}
		}
	}, nil)
}

// CleanUpGroup removes the given rows if they are leaving, or if the group is deleted.
func (c principals) CleanUpGroup(ctx context.Context, s *principal.GroupCleanup) error {
	leaving, purge := slices.Clone(s.Leaving), s.Purge
	return c.write(ctx, "CleanUpGroup", string(s.ID), func() {
		p := c.st.principal(s.ID)
		if p == nil || purge && p.header.State != commit.Deleted {
			return
		}
		p.members = slices.DeleteFunc(slices.Clone(p.members), func(m principal.GroupMemberRow) bool {
			return slices.ContainsFunc(leaving, func(l principal.GroupMemberRow) bool {
				return l.Principal == m.Principal && (purge || m.Leaving && m.Seq == l.Seq)
			})
		})
	}, nil)
}

// Memberships lists the derived memberships of a principal.
func (c principals) Memberships(ctx context.Context, id, after principal.ID, limit int) ([]principal.Membership, error) {
	var rows []principal.Membership
	err := c.read(ctx, "Memberships", func() {
		for _, cell := range c.st.library(id).groups {
			if cell.live && cell.group > after && len(rows) < limit {
				rows = append(rows, principal.Membership{Group: cell.group, Role: cell.role, Since: cell.since})
			}
		}
	})
	return rows, err
}

// MembershipsOf lists the derived memberships of several principals.
func (c principals) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	var all [][]principal.Membership
	err := c.read(ctx, "MembershipsOf", func() {
		rows := 0
		for _, p := range q.Principals {
			if rows >= q.Rows {
				return
			}
			own, others := q.Own, q.Others
			var ms []principal.Membership
			for _, cell := range c.st.library(p).groups {
				left := &others
				if cell.group.Tenant() == p.Tenant() {
					left = &own
				}
				if cell.live && *left > 0 {
					*left--
					ms = append(ms, principal.Membership{Group: cell.group, Role: cell.role, Since: cell.since})
				}
			}
			all = append(all, ms)
			rows += len(ms)
		}
	})
	return all, err
}

// ScanPrincipals lists ids.
func (c principals) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	var ids []principal.ID
	err := c.read(ctx, "ScanPrincipals", func() {
		for _, p := range c.st.principals {
			if p.id > after && p.header.Seq != 0 && len(ids) < limit {
				ids = append(ids, p.id)
			}
		}
	})
	return ids, err
}
