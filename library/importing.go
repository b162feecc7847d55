package library

import (
	"context"
	"slices"
	"strconv"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
)

// Importing is for the operator's command line: nobody is asked for rights,
// and what is known of the past may be told. Everything else holds as for
// mutations: shape, existence, the protocol. Each call is whole or nothing, and
// may be repeated: what stands already as told is Unchanged.

// ImportUser is a user as told by a file.
type ImportUser struct {
	ID, DisplayName string
	Email           *string
	Visibility      Visibility
	CreatedAt       *clock.Instant // now when nil
}

// ImportGroup is a group with its first members, one of them a manager.
type ImportGroup struct {
	ID, DisplayName string
	Visibility      Visibility
	CreatedAt       *clock.Instant
	Members         []GroupMemberChange // 1..100
	// MembersFollow: it has no members yet, because all who could manage it are
	// told later: groups that have only one another as managers. The first
	// ImportMembers of it must bring a manager; whoever imports sees to it that
	// there is one.
	MembersFollow bool
}

// ImportContent is an item with its first members, one of them a manager.
type ImportContent struct {
	ID           string
	Kind         ContentKind
	Title        string
	Description  *string
	Link         *string
	Visibility   Visibility
	ExpiresAt    *clock.Instant
	CreatedAt    *clock.Instant        // now when nil
	CreatedBy    *string               // the first manager when nil
	LastModified *clock.Instant        // CreatedAt when nil
	Version      *int                  // 1 when nil
	Members      []ContentMemberChange // 1..100
}

// ImportMembers gives roles in one group or on one item to more principals.
type ImportMembers struct {
	ID      string
	Group   []GroupMemberChange   // of a group, 1..100
	Content []ContentMemberChange // of an item, 1..100
}

// ImportResult tells what an import call did.
type ImportResult uint8

// The results of an import call.
const (
	Unchanged ImportResult = iota // it stands already as told
	Created
	Changed
)

// differsFrom is the fault of something that exists otherwise than told.
func differsFrom(what string) *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"id"},
		Msg: what + " of this id exists already and differs; import does not overwrite"}
}

// ImportUser stores a user that does not exist yet.
func (s *Service) ImportUser(ctx context.Context, in ImportUser) (ImportResult, error) {
	h := PrincipalHeader{DisplayName: in.DisplayName, Visibility: in.Visibility, State: commit.Live}
	var faults fault.List
	id, err := parseOf(id.User, in.ID)
	faults.Add(err, "id")
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	if in.Email != nil {
		h.Email, err = normalizeEmail(*in.Email)
		faults.Add(err, "email")
	}
	faults = append(faults, s.importedPast(&h, in.CreatedAt)...)
	if err := faults.OrNil(); err != nil {
		return Unchanged, err
	}
	h.ID = id
	return s.importPrincipal(ctx, h, nil, "a user")
}

// importedPast checks what users and groups have in common.
func (s *Service) importedPast(h *PrincipalHeader, createdAt *clock.Instant) (faults fault.List) {
	if !h.Visibility.Valid() {
		faults = append(faults, fault.Invalidf([]string{"visibility"}, "a visibility is PUBLIC, LOGGEDIN or PRIVATE"))
	}
	h.CreatedAt = s.Now()
	if createdAt != nil {
		if *createdAt > h.CreatedAt {
			faults = append(faults, fault.Invalidf([]string{"createdAt"}, "createdAt lies in the future"))
		}
		h.CreatedAt = *createdAt
	}
	return faults
}

// ImportGroup stores a group that does not exist yet.
func (s *Service) ImportGroup(ctx context.Context, in ImportGroup) (ImportResult, error) {
	h := PrincipalHeader{DisplayName: in.DisplayName, Visibility: in.Visibility, State: commit.Live}
	var faults fault.List
	id, err := parseOf(id.Group, in.ID)
	faults.Add(err, "id")
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	faults = append(faults, s.importedPast(&h, in.CreatedAt)...)
	h.ID = id
	rows, more := membersTold(id, in.Members)
	faults = append(faults, more...)
	for _, m := range rows {
		if h.Members++; m.Role == GroupManager {
			h.Managers++
		}
	}
	switch {
	case in.MembersFollow && len(in.Members) > 0:
		faults = append(faults, fault.Invalidf([]string{"members"}, "a group whose members follow has none in its own line"))
	case h.Managers == 0 && !in.MembersFollow:
		faults = append(faults, fault.Invalidf([]string{"members"}, "a group needs at least one MANAGER"))
	}
	if err := faults.OrNil(); err != nil {
		return Unchanged, err
	}
	if err := s.mayCome(ctx, id, rows); err != nil {
		return Unchanged, err
	}
	return s.importPrincipal(ctx, h, rows, "a group")
}

// membersTold reads a list of first members: well-formed, none twice, not the
// group itself.
func membersTold(group PrincipalID, changes []GroupMemberChange) (rows []GroupMemberRow, faults fault.List) {
	if len(changes) > MaxList {
		return nil, fault.List{fault.TooManyf([]string{"members"}, "at most %d members in one line; give the rest in lines of type members", MaxList)}
	}
	for i, c := range changes {
		at := strconv.Itoa(i)
		p, err := ParsePrincipalID(c.Principal)
		faults.Add(err, "members", at, "principalId")
		switch {
		case err != nil:
		case p == group:
			faults = append(faults, fault.Invalidf([]string{"members", at, "principalId"}, "a group is no member of itself"))
		case slices.ContainsFunc(rows, func(m GroupMemberRow) bool { return m.Principal == p }):
			faults = append(faults, fault.Invalidf([]string{"members", at, "principalId"}, "this principal is named twice"))
		case c.Role == nil || *c.Role == NotInGroup:
			faults = append(faults, fault.Invalidf([]string{"members", at, "role"}, "a role is MEMBER or MANAGER"))
		default:
			rows = append(rows, GroupMemberRow{Principal: p, Role: *c.Role})
		}
	}
	slices.SortFunc(rows, func(a, b GroupMemberRow) int { return compareIDs(a.Principal, b.Principal) })
	return rows, faults
}

func compareIDs(a, b PrincipalID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// mayCome is NOT_FOUND for members that do not exist, and TOO_MANY for those
// that would be in too many groups, or nest them too deep.
func (s *Service) mayCome(ctx context.Context, group PrincipalID, rows []GroupMemberRow) error {
	ps := make([]PrincipalID, len(rows))
	for i, m := range rows {
		ps[i] = m.Principal
	}
	if err := s.principalsExist(ctx, ps); err != nil {
		return err
	}
	var faults fault.List
	refused, err := s.checkAdditions(ctx, &Viewer{}, group, ps)
	if err != nil {
		return err
	}
	for i, err := range refused {
		faults.Add(err, "members", strconv.Itoa(i), "principalId")
	}
	return faults.OrNil()
}

func (s *Service) principalsExist(ctx context.Context, ps []PrincipalID) error {
	headers, err := s.store.ReadPrincipals(ctx, ps)
	if err != nil {
		return err
	}
	var faults fault.List
	for i := range headers {
		if headers[i].State != commit.Live {
			faults = append(faults, fault.NotFoundf([]string{"members", strconv.Itoa(i), "principalId"}, "there is no %s; give it a line before this one", ps[i]))
		}
	}
	return faults.OrNil()
}

// importPrincipal stores a user or a group with its first members.
func (s *Service) importPrincipal(ctx context.Context, h PrincipalHeader, rows []GroupMemberRow, what string) (ImportResult, error) {
	result := Unchanged
	_, err := s.changePrincipal(ctx, s.NewBudget(), h.ID, nil, groupMembersOf(rows), nil, func(_ context.Context, standing *PrincipalRows) (*principalPlan, error) {
		old := &standing.Header
		result = Unchanged
		if old.State == commit.Live {
			if old.DisplayName != h.DisplayName || old.Email != h.Email || old.Visibility != h.Visibility {
				return nil, differsFrom(what)
			}
			found := slices.DeleteFunc(slices.Clone(standing.Members), func(m GroupMemberRow) bool { return !m.Active() })
			return &principalPlan{after: *old, found: found}, nil
		}
		after := h
		after.Seq, after.MTS = old.Seq, old.MTS
		result = Created
		return &principalPlan{after: after, rows: slices.Clone(rows), changed: true, created: true}, nil
	})
	return result, err
}

// ImportContent stores an item that does not exist yet. Its place in libraries
// is the LastModified told.
func (s *Service) ImportContent(ctx context.Context, in ImportContent) (ImportResult, error) {
	h, members, err := s.importedHeader(&in)
	if err != nil {
		return Unchanged, err
	}
	ps := make([]PrincipalID, len(members))
	for i, m := range members {
		ps[i] = m.Principal
	}
	if err := s.principalsExist(ctx, ps); err != nil {
		return Unchanged, err
	}
	result := Unchanged
	e, ok, err := s.decide(ctx, s.NewBudget(), string(h.ID), func(ctx context.Context) (*attempt, error) {
		rows, err := s.store.Read(ctx, h.ID, ContentQuery{})
		if err != nil {
			return nil, err
		}
		old := &rows.Header
		if old.State == commit.Live || old.State == commit.Deleted {
			if old.State == commit.Deleted || !sameItem(&old.Content, &h.Content, &in) {
				return nil, differsFrom("a content")
			}
			return nothingToChange, nil
		}
		result = Created
		return s.planImport(ctx, old, h, members)
	})
	if err != nil || !ok {
		return Unchanged, err
	}
	s.complete(ctx, e, "")
	return result, nil
}

// planImport is the first state of an item as told.
func (s *Service) planImport(ctx context.Context, before *Header, told Header, members []Member) (*attempt, error) {
	after := told
	after.Seq, after.MTS = before.Seq+1, max(s.MTS(before.MTS), told.Position)
	rows := changeRows(&after, absentRows(members), func(i int) ContentRole { return members[i].Role })
	if err := s.putHint(ctx, &after); err != nil {
		return nil, err
	}
	return s.contentAttempt(
		InFlight{Content: after.ID, Base: before.Seq, Scope: commit.ScopeListed, Principals: principalsOf(rows), Reverse: true},
		&ContentCommit{ID: after.ID, Base: before.Seq, Header: after, Members: rows}), nil
}

// sameItem tells whether an item stands as told. What the line left to chance,
// and what has changed it since by a mutation, does not count.
func sameItem(old, told *Content, in *ImportContent) bool {
	return old.Kind == told.Kind && old.Title == told.Title && equalStrings(old.Description, told.Description) &&
		equalStrings(old.Link, told.Link) && old.Visibility == told.Visibility &&
		(in.LastModified == nil || old.LastModified == told.LastModified)
}

// importedHeader is the shape of the line.
func (s *Service) importedHeader(in *ImportContent) (Header, []Member, error) {
	now := s.Now()
	// ExpiresAt may have passed since the file was written: the journal does
	// with the item what it would have done, and the lines that name it stand.
	shape := CreateContent{Kind: in.Kind, Title: in.Title, Description: in.Description, Link: in.Link,
		Visibility: in.Visibility, Members: in.Members}
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	members, err := shape.check(&Viewer{}, now, MaxList)
	faults.Add(err)
	h := Header{State: commit.Live, Content: Content{
		ID: id, Kind: in.Kind, Title: in.Title, Description: in.Description, Link: in.Link,
		Visibility: in.Visibility, ExpiresAt: in.ExpiresAt, CreatedAt: now, Version: 1,
	}}
	for _, m := range members {
		if m.Role == Manages {
			h.Creator = m.Principal
			break
		}
	}
	if h.Creator == "" && err == nil {
		faults = append(faults, fault.Invalidf([]string{"members"}, "a content needs at least one MANAGER"))
	}
	if in.CreatedBy != nil {
		// A group, where the item was imported without an author and groups alone
		// managed it.
		h.Creator, err = ParsePrincipalID(*in.CreatedBy)
		faults.Add(err, "createdBy")
	}
	if in.CreatedAt != nil {
		h.CreatedAt = *in.CreatedAt
	}
	h.LastModified = h.CreatedAt
	if in.LastModified != nil {
		h.LastModified = *in.LastModified
	}
	if in.Version != nil {
		h.Version = *in.Version
	}
	if h.CreatedAt > now || h.LastModified > now || h.LastModified < h.CreatedAt {
		faults = append(faults, fault.Invalidf([]string{"lastModified"}, "createdAt and lastModified lie in the past, in this order"))
	}
	if h.Version < 1 {
		faults = append(faults, fault.Invalidf([]string{"version"}, "a version is at least 1"))
	}
	h.Position, h.Widest = h.LastModified, h.Visibility
	return h, members, faults.OrNil()
}

// ImportMembers gives roles to principals that have none or others.
func (s *Service) ImportMembers(ctx context.Context, in ImportMembers) (ImportResult, error) {
	if id.KindOf(in.ID) == id.Content {
		return s.importRoles(ctx, ContentID(in.ID), in.Content)
	}
	var faults fault.List
	group, err := parseOf(id.Group, in.ID)
	faults.Add(err, "id")
	rows, more := membersTold(group, in.Group)
	if err := append(faults, more...).OrNil(); err != nil {
		return Unchanged, err
	}
	if err := s.mayCome(ctx, group, rows); err != nil {
		return Unchanged, err
	}
	return s.importGroupMembers(ctx, group, rows)
}

func (s *Service) importGroupMembers(ctx context.Context, group PrincipalID, told []GroupMemberRow) (ImportResult, error) {
	ps := groupMembersOf(told)
	result := Unchanged
	_, err := s.changePrincipal(ctx, s.NewBudget(), group, nil, ps, nil, func(_ context.Context, rows *PrincipalRows) (*principalPlan, error) {
		result = Unchanged
		if rows.Header.State != commit.Live {
			return nil, fault.NotFoundf([]string{"id"}, "there is no %s; give it a line before this one", group)
		}
		plan := &principalPlan{after: rows.Header}
		for i, m := range rows.Members {
			if m.Active() && m.Role == told[i].Role {
				plan.found = append(plan.found, m)
				continue
			}
			if m.Active() {
				plan.after.Members--
				if m.Role == GroupManager {
					plan.after.Managers--
				}
			}
			if plan.after.Members++; told[i].Role == GroupManager {
				plan.after.Managers++
			}
			plan.rows = append(plan.rows, GroupMemberRow{Principal: ps[i], Role: told[i].Role})
		}
		if plan.after.Managers == 0 {
			return nil, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonLastManager, Msg: "a group needs at least one manager"}
		}
		if plan.changed = len(plan.rows) > 0; plan.changed {
			result = Changed
		}
		return plan, nil
	})
	return result, err
}

func (s *Service) importRoles(ctx context.Context, id ContentID, changes []ContentMemberChange) (ImportResult, error) {
	wanted, faults := rolesGiven(changes, MaxList, false)
	for i, m := range wanted {
		if m.Role == NoRole {
			faults = append(faults, fault.Invalidf([]string{"members", strconv.Itoa(i), "role"}, "a role is VIEWER, EDITOR or MANAGER"))
		}
	}
	if err := faults.OrNil(); err != nil {
		return Unchanged, err
	}
	ps := make([]PrincipalID, len(wanted))
	for i, m := range wanted {
		ps[i] = m.Principal
	}
	if err := s.principalsExist(ctx, ps); err != nil {
		return Unchanged, err
	}
	e, ok, err := s.decide(ctx, s.NewBudget(), string(id), func(ctx context.Context) (*attempt, error) {
		rows, err := s.readState(ctx, id, ps, nil)
		if err != nil {
			return nil, err
		}
		if rows.Header.State != commit.Live {
			return nil, fault.NotFoundf([]string{"id"}, "there is no %s; give it a line before this one", id)
		}
		a, _, err := s.planRoles(&target{header: rows.Header, named: rows.Members}, ps, func(i int) ContentRole { return wanted[i].Role }, nil)
		return a, err
	})
	if err != nil || !ok {
		return Unchanged, err
	}
	s.complete(ctx, e, "")
	return Changed, nil
}
