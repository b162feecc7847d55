package principal

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
)

// NoSuchPrincipal returns the error for a user or a group that does not exist or may not be seen.
// It is the same for both.
func NoSuchPrincipal(path ...string) *fault.Error {
	return fault.NotFoundf(path, "there is no such user or group, or you may not see it")
}

// parseOf parses the id of a user or a group that a mutation names. An id of the other kind is
// INVALID.
func parseOf(kind id.Kind, globalID string) (ID, error) {
	p, err := ParseID(globalID)
	switch {
	case err != nil:
		return "", err
	case kind == id.User && !p.IsUser():
		return "", fault.NotApplicablef(nil, "this is the id of a group; a user is needed: u:<tenant>:<name>")
	case kind == id.Group && !p.IsGroup():
		return "", fault.NotApplicablef(nil, "this is the id of a user; a group is needed: g:<tenant>:<name>")
	}
	return p, nil
}

// changePlan is the change that a mutation plans for one principal's partition.
type changePlan struct {
	after Header           // Seq, MTS and Writers are those read
	rows  []GroupMemberRow // rows to write, in order of id; without Seq, and new ones without Since
	// found are rows of members that have the wanted role already.
	found []GroupMemberRow
	// changed reports that after or rows differ from the stored ones.
	changed bool
	// withdraws reports that members lose roles and none gets one.
	withdraws bool
	// created reports that the principal, and so its library, is new.
	created bool
	// former is the former display name, if the name or the visibility changes; otherwise empty.
	former string
	// formerEmail is the claim of the address that the user gives up; nil: none.
	formerEmail *claim.Former
}

// attemptOf returns the attempt that writes a plan on condition that the state is still before. A
// mutation with an idempotency key writes its request row even if it changes nothing. attemptOf
// sets the Seq and MTS of the new state in the plan.
func (s *Service) attemptOf(before *Header, p *changePlan, req *commit.Request) *commit.Attempt {
	if !p.changed && req == nil {
		return commit.Nothing
	}
	base := p.after.Seq
	p.after.Seq, p.after.MTS = base+1, s.engine.MTS(p.after.MTS)
	if p.created && p.after.CreatedAt == 0 {
		p.after.CreatedAt = p.after.MTS // an import sets another one
	}
	reach := commit.Reach{All: p.created, Former: p.former}
	for i := range p.rows {
		p.rows[i].Seq = p.after.Seq
		if p.rows[i].Since == 0 {
			p.rows[i].Since = p.after.MTS
		}
		reach.Principals = append(reach.Principals, string(p.rows[i].Principal))
	}
	for _, m := range p.found {
		reach.Principals = append(reach.Principals, string(m.Principal))
	}
	slices.Sort(reach.Principals)
	if !reach.AffectsNothing() {
		reach.Scope = commit.ScopeListed
	}
	a := s.commits(reach, &Commit{
		ID: p.after.ID, Base: base, Header: p.after, Members: p.rows,
		Request: req.Row(s.engine.Now(), nil),
	})
	a.Entry.Lingers = s.lingers && !before.LooksLike(&p.after)
	a.Withdraws = p.withdraws || p.after.Visibility < before.Visibility
	return a
}

// commits returns the attempt that commits c. reach says what is left to do after it: All if the
// principal is new, ScopeAll if it was deleted, so that what belongs to it must be removed.
func (s *Service) commits(reach commit.Reach, c *Commit) *commit.Attempt {
	return &commit.Attempt{
		Entry:     commit.Entry{Kind: commit.Principal, Key: string(c.ID), Base: c.Base, Reach: reach},
		Withdraws: c.Header.State == commit.Deleted,
		Commit: func(ctx context.Context, id commit.EntryID) (commit.Verdict, error) {
			c.Writer = id
			return s.store.CommitPrincipal(ctx, c)
		}}
}

// changePrincipal decides a mutation of one principal's partition and updates what is derived from
// it. plan gets the rows of members and may run several times. The result has those rows after the
// change; a repetition gets them without a call of plan. When changePrincipal returns without an
// error, the derived memberships of those to whom the plan gives a role, or who have it already,
// are written, even if another process gave them the role and died before it wrote their
// memberships. For a repetition, this applies to those of joining who are still members.
//
// Errors: those of Decide and of plan; OUTCOME_UNKNOWN also if a membership was decided and
// could not be written in time.
func (s *Service) changePrincipal(ctx context.Context, m commit.Mutation, id ID, members, joining []ID,
	plan func(ctx context.Context, rows *Rows) (*changePlan, error)) (*Rows, error) {
	var rows *Rows
	var planned *changePlan
	var a *commit.Attempt
	_, changed, err := s.engine.Decide(ctx, m.Budget, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		var err error
		planned = nil
		if rows, err = s.readMembers(ctx, id, members, m.Request.Lookup()); err != nil {
			return nil, err
		}
		if err := m.CheckActor(ctx); err != nil {
			return nil, err
		}
		done, err := m.Request.Answered(rows.Request, s.engine.Now())
		if err != nil || done {
			return commit.Nothing, err
		}
		if planned, err = plan(ctx, rows); err != nil {
			return nil, err
		}
		if err := s.changeEmail(ctx, &rows.Header, planned); err != nil {
			return nil, err
		}
		a = s.attemptOf(&rows.Header, planned, m.Request)
		return a, nil
	})
	if err != nil {
		return nil, err
	}
	if !changed {
		if planned == nil {
			return rows, s.confirmMembers(ctx, rows, joining)
		}
		return rows, s.applyFound(ctx, &rows.Header, planned.found)
	}
	s.claims.DropFormer(ctx, planned.formerEmail, s.log)
	a.Entry.Decided = true
	rows.Header = planned.after
	for _, row := range planned.rows {
		for i, p := range members {
			if p == row.Principal {
				rows.Members[i] = row
			}
		}
	}
	if err := s.finishBeforeAnswer(ctx, a.Entry); err != nil && slices.ContainsFunc(slices.Concat(planned.found, planned.rows),
		GroupMemberRow.Active) {
		return nil, commit.OutcomeUnknown(err)
	}
	return rows, nil
}

// confirmMembers writes the derived memberships of those of ps that are members.
func (s *Service) confirmMembers(ctx context.Context, rows *Rows, ps []ID) error {
	var found []GroupMemberRow
	for _, m := range rows.Members {
		if m.Active() && slices.Contains(ps, m.Principal) {
			found = append(found, m)
		}
	}
	return s.applyFound(ctx, &rows.Header, found)
}

// applyFound writes the derived memberships of members that exist already.
func (s *Service) applyFound(ctx context.Context, h *Header, found []GroupMemberRow) error {
	err := s.engine.WithBudget(ctx, s.engine.NewBudget(), func(ctx context.Context) error {
		for part := range slices.Chunk(found, input.MaxList) {
			if err := s.Upkeep.ApplyMembers(ctx, &Rows{Header: *h, Members: part}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return commit.OutcomeUnknown(err)
	}
	return nil
}

// readMembers reads a header with the rows of any number of members, all of one state.
func (s *Service) readMembers(ctx context.Context, id ID, members []ID, req *commit.RequestKey) (*Rows, error) {
	for range commit.MaxTries {
		all, err := s.store.ReadPrincipal(ctx, id, Query{Members: members[:min(len(members), input.MaxList)], Request: req})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", id, err)
		}
		same := true
		for rest := members[min(len(members), input.MaxList):]; same && len(rest) > 0; rest = rest[min(len(rest), input.MaxList):] {
			more, err := s.store.ReadPrincipal(ctx, id, Query{Members: rest[:min(len(rest), input.MaxList)]})
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", id, err)
			}
			same = more.Header.Seq == all.Header.Seq
			all.Members = append(all.Members, more.Members...)
		}
		if same {
			return all, nil
		}
	}
	return nil, &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "too many others change this at the same time; try again"}
}

// creation is the creation of a user or a group under a name that was chosen.
type creation struct {
	header Header
	rows   []GroupMemberRow // its first members
	what   string           // "user" or "group", for messages
	// allowed is called if this is not a repetition; rules is called if the name is also free.
	allowed func(ctx context.Context) error
	rules   func(ctx context.Context) error
}

// namesTaken returns the error of a creation whose name is in use: TAKEN for the name, and for
// the e-mail address if another user has it. It is returned only to viewers who may create
// under this name.
func (s *Service) namesTaken(ctx context.Context, c *creation) error {
	name := &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"name"},
		Msg: fmt.Sprintf("a %s of this name exists already, or was deleted; choose another name", c.what)}
	if c.header.Email == "" {
		return name
	}
	taken, err := s.claims.Taken(ctx, claim.Email(c.header.ID.Tenant(), c.header.Email), string(c.header.ID))
	switch {
	case err != nil:
		return err
	case taken:
		return fault.List{name, emailTaken()}
	}
	return name
}

func (c *creation) members() []ID { return groupMembersOf(c.rows) }

func groupMembersOf(rows []GroupMemberRow) []ID {
	ps := make([]ID, len(rows))
	for i, m := range rows {
		ps[i] = m.Principal
	}
	return ps
}

// create runs a creation. It returns the header that is stored afterwards.
func (s *Service) create(ctx context.Context, m commit.Mutation, c creation) (Header, error) {
	id := c.header.ID
	var before *Rows
	err := s.engine.WithBudget(ctx, m.Budget, func(ctx context.Context) (err error) {
		before, err = s.recordName(ctx, m.Request, &c)
		return err
	})
	if err != nil {
		return Header{}, err
	}
	if before != nil {
		return before.Header, s.confirmMembers(ctx, before, c.members())
	}
	rows, err := s.changePrincipal(ctx, m, id, c.members(), c.members(), func(ctx context.Context, rows *Rows) (*changePlan, error) {
		if rows.Header.State.Used() {
			return nil, s.namesTaken(ctx, &c)
		}
		if err := c.rules(ctx); err != nil {
			return nil, err
		}
		after := c.header
		after.Seq, after.MTS = rows.Header.Seq, rows.Header.MTS
		return &changePlan{after: after, rows: slices.Clone(c.rows), changed: true, created: true}, nil
	})
	if err != nil {
		return Header{}, err
	}
	return rows.Header, nil
}

// recordName returns the rows of a creation under a chosen name if it is a repetition. Otherwise it
// checks whether the creation is allowed, and records its idempotency key for this name.
func (s *Service) recordName(ctx context.Context, req *commit.Request, c *creation) (*Rows, error) {
	id := c.header.ID
	if req == nil {
		return nil, c.allowed(ctx)
	}
	rows, err := s.readMembers(ctx, id, c.members(), req.Lookup())
	if err != nil {
		return nil, err
	}
	if rows.Request != nil && !rows.Request.Claims() {
		done, err := req.Answered(rows.Request, s.engine.Now())
		if err != nil || done {
			return rows, err
		}
	}
	if err := c.allowed(ctx); err != nil {
		return nil, err
	}
	// The name is the id, so the key only records which name it created.
	_, err = s.engine.PutCreationIfAbsent(ctx, req, func() (string, error) { return string(id), nil })
	return nil, err
}
