package principal

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
)

// ImportUser is a user in an import.
type ImportUser struct {
	ID, DisplayName string
	Email           *string
	Visibility      Visibility
	CreatedAt       *clock.Instant // nil: now
}

// ImportGroup is a group with its first members, one of them a manager.
type ImportGroup struct {
	ID, DisplayName string
	Visibility      Visibility
	CreatedAt       *clock.Instant
	Members         []GroupMemberChange // 1..100
	// MembersFollow: the line has no members, because all possible managers come later in the file,
	// as for groups that manage each other. The first ImportMembers of the group must add a
	// manager; the importer must ensure that there is one.
	MembersFollow bool
	// Unmanaged: nobody but administrators manages it; Members may be empty then.
	Unmanaged bool
}

// ImportResult is the result of an import call.
type ImportResult uint8

// The results of an import call.
const (
	Unchanged ImportResult = iota // it is stored already
	Created
	Changed
)

// DiffersFrom returns the error for something that exists and differs.
func DiffersFrom(what string) *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"id"},
		Msg: what + " of this id exists already and differs; import does not overwrite"}
}

// ImportUser stores a user that does not exist yet.
func (u Upkeep) ImportUser(ctx context.Context, in ImportUser) (ImportResult, error) {
	h := Header{DisplayName: in.DisplayName, Visibility: in.Visibility, State: commit.Live}
	var faults fault.List
	id, err := parseOf(id.User, in.ID)
	faults.Add(err, "id")
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	if in.Email != nil {
		h.Email, err = normalizeEmail(*in.Email)
		faults.Add(err, "email")
	}
	faults = append(faults, u.s.checkImported(&h, in.CreatedAt)...)
	if err := faults.OrNil(); err != nil {
		return Unchanged, err
	}
	h.ID = id
	return u.s.importPrincipal(ctx, h, nil, "a user")
}

// checkImported checks the fields that users and groups have in common, and sets the creation time.
func (s *Service) checkImported(h *Header, createdAt *clock.Instant) (faults fault.List) {
	if !h.Visibility.Valid() {
		faults = append(faults, fault.Invalidf([]string{"visibility"}, "a visibility is PUBLIC, LOGGEDIN or PRIVATE"))
	}
	h.CreatedAt = s.engine.Now()
	if createdAt != nil {
		if *createdAt > h.CreatedAt {
			faults = append(faults, fault.OutOfRangef([]string{"createdAt"}, "createdAt is in the future"))
		}
		h.CreatedAt = *createdAt
	}
	return faults
}

// ImportGroup stores a group that does not exist yet.
func (u Upkeep) ImportGroup(ctx context.Context, in ImportGroup) (ImportResult, error) {
	h := Header{DisplayName: in.DisplayName, Visibility: in.Visibility, State: commit.Live}
	var faults fault.List
	id, err := parseOf(id.Group, in.ID)
	faults.Add(err, "id")
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	faults = append(faults, u.s.checkImported(&h, in.CreatedAt)...)
	h.ID = id
	given := importedMembers(id, in.Members, &faults)
	rows := make([]GroupMemberRow, len(given.Roles))
	for i, role := range given.Roles {
		rows[i] = GroupMemberRow{Principal: given.Principals[i], Role: role}
		if h.Members++; role == GroupManager {
			h.Managers++
		}
	}
	switch {
	case in.MembersFollow && len(in.Members) > 0:
		faults = append(faults, fault.NotApplicablef([]string{"members"}, "a group whose members follow has none in its own line"))
	case in.Unmanaged && (h.Managers > 0 || in.MembersFollow):
		faults = append(faults, fault.NotApplicablef([]string{"unmanaged"},
			"a group without a manager has no MANAGER among its members, and none that follow"))
	case h.Managers == 0 && !in.MembersFollow && !in.Unmanaged:
		faults = append(faults, fault.Emptyf([]string{"members"}, "a group needs at least one MANAGER"))
	}
	if err := faults.OrNil(); err != nil {
		return Unchanged, err
	}
	if err := u.s.RequireAll(ctx, given.Principals); err != nil {
		return Unchanged, err
	}
	joining, err := u.s.checkJoining(ctx, &Viewer{}, id, make([]GroupMemberRow, len(rows)), given)
	if err == nil {
		err = joining.OrNil()
	}
	if err != nil {
		return Unchanged, err
	}
	slices.SortFunc(rows, func(a, b GroupMemberRow) int { return cmp.Compare(a.Principal, b.Principal) })
	return u.s.importPrincipal(ctx, h, rows, "a group")
}

// importedMembers parses a list of members. They must be different, and none may be the group itself.
func importedMembers(group ID, changes []GroupMemberChange, faults *fault.List) (given Roles[GroupRole]) {
	if len(changes) > input.MaxList {
		faults.Add(fault.TooManyf(nil, "at most %d members in one line; put the rest into lines of type members", input.MaxList), "members")
		return given
	}
	return ParseRoles(changes, faults, func(p ID, again bool, role *GroupRole) (badID, badRole error) {
		switch {
		case p == group:
			badID = fault.NotApplicablef(nil, "a group cannot be a member of itself")
		case again:
			badID = fault.Repeatedf(nil, "this principal is named twice")
		}
		if role == nil || *role == NotInGroup {
			badRole = fault.Invalidf(nil, "a role is MEMBER or MANAGER")
		}
		return badID, badRole
	})
}

// RequireAll returns NOT_FOUND for those of principals that do not exist.
func (s *Service) RequireAll(ctx context.Context, ps []ID) error {
	headers, err := s.store.ReadPrincipals(ctx, ps)
	if err != nil {
		return err
	}
	var faults fault.List
	for i := range headers {
		if headers[i].State != commit.Live {
			faults = append(faults, fault.NotFoundf([]string{"members", strconv.Itoa(i), "principalId"},
				"there is no %s; give it a line before this one", ps[i]))
		}
	}
	return faults.OrNil()
}

// importPrincipal stores a user or a group with its first members.
func (s *Service) importPrincipal(ctx context.Context, h Header, rows []GroupMemberRow, what string) (ImportResult, error) {
	result := Unchanged
	_, err := s.changePrincipal(ctx, commit.Mutation{Budget: s.engine.NewBudget()}, h.ID, groupMembersOf(rows), nil,
		func(_ context.Context, stored *Rows) (*changePlan, error) {
			old := &stored.Header
			result = Unchanged
			if old.State == commit.Deleted {
				return nil, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"id"},
					Msg: what + " of this id was deleted, and its id is not used again"}
			}
			if old.State == commit.Live {
				if old.DisplayName != h.DisplayName || old.Email != h.Email || old.Visibility != h.Visibility {
					return nil, DiffersFrom(what)
				}
				found := slices.DeleteFunc(slices.Clone(stored.Members), func(m GroupMemberRow) bool { return !m.Active() })
				return &changePlan{after: *old, found: found}, nil
			}
			after := h
			after.Seq, after.MTS = old.Seq, old.MTS
			result = Created
			return &changePlan{after: after, rows: slices.Clone(rows), changed: true, created: true}, nil
		})
	return result, err
}

// ImportGroupMembers sets the roles of principals in a group. unmanaged reports that the group has
// no manager, and gets none.
func (u Upkeep) ImportGroupMembers(ctx context.Context, globalID string, changes []GroupMemberChange,
	unmanaged bool) (ImportResult, error) {
	var faults fault.List
	group, err := parseOf(id.Group, globalID)
	faults.Add(err, "id")
	imported := importedMembers(group, changes, &faults)
	if err := faults.OrNil(); err != nil {
		return Unchanged, err
	}
	if err := u.s.RequireAll(ctx, imported.Principals); err != nil {
		return Unchanged, err
	}
	result := Unchanged
	_, err = u.s.changePrincipal(ctx, commit.Mutation{Budget: u.s.engine.NewBudget()}, group, imported.Principals, nil,
		func(ctx context.Context, rows *Rows) (*changePlan, error) {
			result = Unchanged
			if rows.Header.State != commit.Live {
				return nil, fault.NotFoundf([]string{"id"}, "there is no %s; give it a line before this one", group)
			}
			plan, err := u.s.applyMembers(ctx, &Viewer{}, rows, imported)
			if err != nil {
				return nil, err
			}
			if plan.after.Managers == 0 && !unmanaged {
				return nil, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonLastManager, Msg: "a group needs at least one manager"}
			}
			if plan.changed {
				result = Changed
			}
			return plan, nil
		})
	return result, err
}
