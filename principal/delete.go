package principal

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
)

// Deletion is the outcome of the deletion of a user or a group.
type Deletion struct {
	ID ID
	// Complete reports that everything that belonged to it is removed.
	Complete bool
}

// DeleteUser deletes a user permanently. Only the user itself and administrators of its tenant may
// do so. Readers no longer see the user once the deletion is decided. What belongs to the user is
// removed afterwards.
func (s *Service) DeleteUser(ctx context.Context, v *Viewer, in DeleteUser) (*Deletion, error) {
	defer v.Forget()
	var faults fault.List
	user, err := parseOf(id.User, in.ID)
	faults.Add(err, "id")
	m, err := s.BeginAsActor(v, user.Tenant(), commit.Call{Name: "deleteUser", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.deletePrincipal(ctx, v, m, user, func(ctx context.Context, rows *Rows) error {
		visible, err := s.Sees(ctx, v, user, &rows.Header)
		switch {
		case err != nil:
			return err
		case !visible:
			return NoSuchPrincipal("id")
		case v.User != user && !v.Administers(user.Tenant()):
			return fault.Forbiddenf([]string{"id"}, "only the user itself and administrators of its tenant may delete it")
		}
		return nil
	})
}

// DeleteGroup deletes a group permanently. Only its effective managers and administrators of its
// tenant may do so. The rights that its members have through it end when the deletion is decided.
func (s *Service) DeleteGroup(ctx context.Context, v *Viewer, in DeleteGroup) (*Deletion, error) {
	defer v.Forget()
	var faults fault.List
	group, err := parseOf(id.Group, in.ID)
	faults.Add(err, "id")
	m, err := s.BeginAsActor(v, group.Tenant(), commit.Call{Name: "deleteGroup", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.deletePrincipal(ctx, v, m, group, func(ctx context.Context, rows *Rows) error {
		if err := s.requireGroup(ctx, v, group, rows, "id"); err != nil {
			return err
		}
		return s.requireGroupManager(ctx, v, rows, "id")
	})
}

// deletePrincipal decides a deletion, and begins to remove what belongs to the principal. may
// checks existence, visibility and rights. A repetition skips these checks: otherwise a user
// that has deleted itself could not get the outcome again.
func (s *Service) deletePrincipal(ctx context.Context, v *Viewer, m commit.Mutation, id ID,
	may func(context.Context, *Rows) error) (*Deletion, error) {
	var a *commit.Attempt
	var rows *Rows
	_, decided, err := s.engine.Decide(ctx, m.Budget, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		var err error
		if rows, err = s.store.ReadPrincipal(ctx, id, Query{Members: []ID{v.User}, Request: m.Request.Lookup()}); err != nil {
			return nil, fmt.Errorf("reading %s: %w", id, err)
		}
		repeated, err := m.Request.Answered(rows.Request, s.engine.Now())
		if err != nil || repeated {
			return commit.Nothing, err
		}
		if err := m.CheckActor(ctx); err != nil {
			return nil, err
		}
		if err := may(ctx, rows); err != nil {
			return nil, err
		}
		a = s.planDeletion(&rows.Header, m.Request)
		return a, nil
	})
	switch {
	case err != nil:
		return nil, err
	case !decided:
		return &Deletion{ID: id, Complete: rows.Header.Removed()}, nil
	}
	a.Entry.Decided = true
	return &Deletion{ID: id, Complete: s.startRemoval(ctx, a.Entry)}, nil
}

// planDeletion returns the attempt that makes a principal a tombstone. The tombstone keeps the name
// and the e-mail address until everything is removed.
func (s *Service) planDeletion(h *Header, request *commit.Request) *commit.Attempt {
	after := *h
	after.State, after.Managers, after.Members = commit.Deleted, 0, 0
	after.Seq, after.MTS = h.Seq+1, s.engine.MTS(h.MTS)
	a := s.commits(commit.Reach{Scope: commit.ScopeAll},
		&Commit{ID: h.ID, Base: h.Seq, Header: after, Request: request.Row(s.engine.Now(), nil)})
	a.Entry.Lingers = s.lingers
	return a
}
