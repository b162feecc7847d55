package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

const selectGroupMembersPage = `SELECT ` + principalColumns + ` FROM principal
 WHERE principal_id = ? AND kind IN (0, 1) AND key > ? LIMIT ?`

// principals implements principal.Store.
type principals struct{ *Store }

// GroupMembersPage implements principal.Store. Header and rows come from one statement, and so from
// one state.
func (s principals) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	rows := new(principal.Rows)
	r := session.Query{Operation: "read group members", Stmt: selectGroupMembersPage, Serial: serial,
		Args: []any{string(group), string(after), max(limit, 0) + 1}}
	err := s.eachPrincipalRow(ctx, r, func(row *principalRow) error {
		switch {
		case row.kind == kindHeader:
			rows.Header = row.header(group)
		case len(rows.Members) < limit:
			rows.Members = append(rows.Members, row.member())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Confirm implements principal.Store with one read for each group, or several if more than
// maxInList of its members are asked for.
func (s principals) Confirm(ctx context.Context, memberships []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	confirmed := make([]principal.GroupMemberRow, len(memberships))
	var groups []confirmation
	latest := make(map[principal.ID]int)
	for i, c := range memberships {
		n, known := latest[c.Group]
		if !known || len(groups[n].members) == maxInList {
			n = len(groups)
			latest[c.Group] = n
			groups = append(groups, confirmation{group: c.Group})
		}
		groups[n].members = append(groups[n].members, c.Member)
		groups[n].at = append(groups[n].at, i)
	}
	err := session.ForEach(ctx, len(groups), session.Width, func(ctx context.Context, n int) error {
		var rows principal.Rows
		if err := s.readPrincipal(ctx, "confirm members", groups[n].group, principal.Query{Members: groups[n].members}, &rows); err != nil {
			return err
		}
		for i, m := range rows.Members {
			if rows.Header.State == commit.Deleted {
				m = principal.GroupMemberRow{Principal: m.Principal}
			}
			confirmed[groups[n].at[i]] = m
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return confirmed, nil
}

// confirmation is the request to one group: the members to look up, and the positions for their
// rows.
type confirmation struct {
	group   principal.ID
	members []principal.ID
	at      []int
}

const (
	putMembership  = `INSERT INTO groups_by_member (member_id, group_id, role, since) VALUES (?, ?, ?, ?) USING TIMESTAMP ?`
	dropMembership = `DELETE FROM groups_by_member USING TIMESTAMP ? WHERE member_id = ? AND group_id = ?`
)

// ApplyGroupIndex implements principal.Store. It writes one mutation per member with the timestamp
// of the state.
func (s principals) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) error {
	mts, id := int64(e.Header.MTS), string(e.Header.ID)
	return s.session.WriteEach(ctx, len(e.Rows), func(ctx context.Context, i int) error {
		const doing = "update memberships"
		m := e.Rows[i]
		if m.Active() && e.Header.State == commit.Live {
			return s.session.Write(ctx, doing, putMembership, string(m.Principal), id, int8(m.Role), int64(m.Since), mts)
		}
		return s.session.Write(ctx, doing, dropMembership, mts, string(m.Principal), id)
	})
}

const dropLeavingMember = `DELETE FROM principal WHERE principal_id = ? AND kind = 1 AND key = ? IF state = 1 AND mseq = ?`

// CleanUpGroup implements principal.Store with conditional batches of at most cleanUpRows rows, or
// purgeRows rows of a deleted group. A batch is sent again only if rows have changed since they
// were read.
func (s principals) CleanUpGroup(ctx context.Context, t *principal.GroupCleanup) error {
	if t.Purge {
		return s.purgeMembers(ctx, t)
	}
	var leaving []principal.GroupMemberRow
	for _, m := range t.Leaving {
		if m.Leaving && m.Seq != 0 {
			leaving = append(leaving, m)
		}
	}
	for len(leaving) > 0 {
		now := leaving[:min(len(leaving), cleanUpRows)]
		if err := s.cleanUpGroup(ctx, t.ID, now); err != nil {
			return err
		}
		leaving = leaving[len(now):]
	}
	return nil
}

// Assigning the same state again only checks the condition.
const (
	whileGroupDeleted = `UPDATE principal SET state = 3 WHERE principal_id = ? AND kind = 0 AND key = '~' IF state = 3`
	dropGroupMember   = `DELETE FROM principal WHERE principal_id = ? AND kind = 1 AND key = ?`
)

// purgeMembers removes member rows of a deleted group. It changes nothing if the group is not
// deleted.
func (s principals) purgeMembers(ctx context.Context, t *principal.GroupCleanup) error {
	for rows := range slices.Chunk(t.Leaving, purgeRows) {
		var ch session.Batch
		ch.Append(whileGroupDeleted, string(t.ID))
		for _, m := range rows {
			ch.Append(dropGroupMember, string(t.ID), string(m.Principal))
		}
		applied, err := s.session.Decide(ctx, "purge a group", &ch)
		if err != nil || !applied {
			return err
		}
	}
	return nil
}

func (s principals) cleanUpGroup(ctx context.Context, id principal.ID, leaving []principal.GroupMemberRow) error {
	const doing = "clean up a group"
	for range cleanUpTries {
		if len(leaving) == 0 {
			return nil
		}
		var ch session.Batch
		var q principal.Query
		q.Serial = true
		for _, m := range leaving {
			ch.Append(dropLeavingMember, string(id), string(m.Principal), m.Seq)
			q.Members = append(q.Members, m.Principal)
		}
		applied, err := s.session.Decide(ctx, doing, &ch)
		if err != nil || applied {
			return err
		}
		var rows principal.Rows
		if err := s.readPrincipal(ctx, doing, id, q, &rows); err != nil {
			return err
		}
		var kept []principal.GroupMemberRow
		for i, m := range leaving {
			if rows.Members[i].Leaving && rows.Members[i].Seq == m.Seq {
				kept = append(kept, m)
			}
		}
		leaving = kept
	}
	return fault.Unavailablef(nil, "clean up a group: the rows keep changing; try again")
}

const selectMemberships = `SELECT group_id, role, since FROM groups_by_member WHERE member_id = ? AND group_id > ? LIMIT ?`

// Memberships implements principal.Store.
func (s principals) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	if limit <= 0 {
		return nil, nil
	}
	return s.memberships(ctx, selectMemberships, string(p), string(after), limit)
}

// memberships reads the rows of a SELECT of group_id, role and since.
func (s principals) memberships(ctx context.Context, stmt string, args ...any) ([]principal.Membership, error) {
	var (
		group string
		role  int8
		since int64
	)
	r := session.Query{Operation: "list memberships", Stmt: stmt, Args: args}
	return session.List(ctx, s.session, r, []any{&group, &role, &since}, func() (principal.Membership, error) {
		return principal.Membership{Group: principal.ID(group), Role: principal.GroupRole(role), Since: clock.Instant(since)}, nil
	})
}

// selectMembershipsWithin is selectMemberships up to, but not including, a group.
const selectMembershipsWithin = `SELECT group_id, role, since FROM groups_by_member WHERE member_id = ? AND group_id > ? AND group_id < ? LIMIT ?`

// MembershipsOf implements principal.Store with one read for each principal, session.Width of them
// at a time.
func (s principals) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	if err := ctx.Err(); err != nil {
		return nil, session.NotSent(err)
	}
	var all [][]principal.Membership
	rows := 0
	for part := range slices.Chunk(q.Principals, session.Width) {
		read := make([][]principal.Membership, len(part))
		err := session.ForEach(ctx, len(part), session.Width, func(ctx context.Context, i int) (err error) {
			read[i], err = s.quotaOf(ctx, part[i], q.Own, q.Others)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, ms := range read {
			if rows >= q.Rows {
				return all, nil
			}
			all = append(all, ms)
			rows += len(ms)
		}
	}
	return all, nil
}

// quotaOf reads p's memberships within both limits. One statement is nearly always enough: only if
// p has more memberships than it reads are those in p's own tenant read separately from the others.
func (s principals) quotaOf(ctx context.Context, p principal.ID, own, others int) ([]principal.Membership, error) {
	all, err := s.Memberships(ctx, p, "", own+others+1)
	if err != nil {
		return nil, err
	}
	from, to := principal.OwnGroups(p)
	if len(all) > own+others {
		if all, err = s.membershipsByTenant(ctx, p, own, others); err != nil {
			return nil, err
		}
	}
	kept := all[:0]
	for _, m := range all {
		left := &others
		if m.Group > from && m.Group < to {
			left = &own
		}
		if *left > 0 {
			*left--
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// membershipsByTenant reads the groups before those of p's tenant, those of its
// tenant, and those after it, each range up to its limit.
func (s principals) membershipsByTenant(ctx context.Context, p principal.ID, own, others int) ([]principal.Membership, error) {
	from, to := principal.OwnGroups(p)
	ranges := []struct {
		after, before principal.ID
		limit         int
	}{{"", from, others}, {from, to, own}, {to, "h", others}}
	read := make([][]principal.Membership, len(ranges))
	err := session.ForEach(ctx, len(ranges), len(ranges), func(ctx context.Context, i int) (err error) {
		if r := ranges[i]; r.limit > 0 {
			read[i], err = s.memberships(ctx, selectMembershipsWithin, string(p), string(r.after), string(r.before), r.limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(read...), nil
}
