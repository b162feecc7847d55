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
	return look(ctx, c.Client, "ReadPrincipal", func() *principal.Rows {
		if q.Serial {
			c.decide(string(id))
		}
		r, p := &principal.Rows{}, c.st.principal(id)
		for _, m := range q.Members {
			r.Members = append(r.Members, p.row(m))
		}
		if p != nil {
			r.Header = p.header
			r.Request = requestRow(p.requests, q.Request)
		}
		return r
	})
}

// ReadPrincipals reads headers.
func (c principals) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	return look(ctx, c.Client, "ReadPrincipals", func() []principal.Header {
		headers := make([]principal.Header, len(ids))
		for i, id := range ids {
			if p := c.st.principal(id); p != nil {
				headers[i] = p.header
				headers[i].Writers = nil
			}
		}
		return headers
	})
}

// GroupMembersPage reads a page of a group's member rows.
func (c principals) GroupMembersPage(ctx context.Context, group, from principal.ID, limit int, serial bool) (*principal.Rows, error) {
	return look(ctx, c.Client, "GroupMembersPage", func() *principal.Rows {
		if serial {
			c.decide(string(group))
		}
		p := c.st.principal(group)
		if p == nil {
			return new(principal.Rows)
		}
		return &principal.Rows{Header: p.header, Members: after(p.members, from, byGroupMember, limit)}
	})
}

// Confirm reads the groups' own rows.
func (c principals) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	return look(ctx, c.Client, "Confirm", func() []principal.GroupMemberRow {
		rows := make([]principal.GroupMemberRow, len(claims))
		for i, claim := range claims {
			group := c.st.principal(claim.Group)
			if rows[i].Principal = claim.Member; group != nil && group.header.State != commit.Deleted {
				rows[i] = group.row(claim.Member)
			}
		}
		return rows
	})
}

// CommitPrincipal is the conditional write of a principal's partition.
func (c principals) CommitPrincipal(ctx context.Context, cm *principal.Commit) (commit.Verdict, error) {
	mine := *cm
	mine.Members = slices.Clone(cm.Members)
	by := c.running()
	return change(ctx, c.Client, "CommitPrincipal", string(cm.ID), func() commit.Verdict { return c.st.commitPrincipal(&mine, by) })
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
		list = put(list, m.Principal, byGroupMember, m)
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
	return look(ctx, c.Client, "Memberships", func() (rows []principal.Membership) {
		for _, cell := range c.st.library(id).groups {
			if cell.live && cell.group > after && len(rows) < limit {
				rows = append(rows, principal.Membership{Group: cell.group, Role: cell.role, Since: cell.since})
			}
		}
		return rows
	})
}

// MembershipsOf lists the derived memberships of several principals.
func (c principals) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	return look(ctx, c.Client, "MembershipsOf", func() (all [][]principal.Membership) {
		rows := 0
		for _, p := range q.Principals {
			if rows >= q.Rows {
				return all
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
		return all
	})
}

// ScanPrincipals lists ids.
func (c principals) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	return look(ctx, c.Client, "ScanPrincipals", func() (ids []principal.ID) {
		for _, p := range c.st.principals {
			if p.id > after && p.header.Seq != 0 && len(ids) < limit {
				ids = append(ids, p.id)
			}
		}
		return ids
	})
}
