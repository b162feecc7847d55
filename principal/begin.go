package principal

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
)

// BeginSignedIn begins a mutation of a viewer who is signed in, whether its user is stored or
// not. It drops what was read for the viewer in the same request; the mutation must drop what
// it reads itself.
//
// Errors: UNAUTHENTICATED; the errors of the input.
func (s *Service) BeginSignedIn(v *Viewer, c commit.Call) (commit.Mutation, error) {
	v.Forget()
	if !v.SignedIn() {
		return commit.Mutation{}, fault.SignInFirst()
	}
	return s.engine.Begin(string(v.User), c)
}

// BeginAsUser is BeginSignedIn for viewers whose user is stored. It returns FORBIDDEN for
// others, after the errors of the input.
func (s *Service) BeginAsUser(ctx context.Context, v *Viewer, c commit.Call) (commit.Mutation, error) {
	m, err := s.BeginSignedIn(v, c)
	if err == nil {
		err = s.requireUser(ctx, m.Budget, v)
	}
	return m, err
}

// BeginAsActor is BeginSignedIn for a mutation that changes something in a tenant. Its CheckActor
// returns FORBIDDEN for viewers whose user is not stored. Administrators of that tenant need no stored
// user, but it must not be deleted; administrators of other tenants do. CheckActor also drops what was
// read for the viewer, so that each try decides the viewer's rights by what it reads after the state
// that they protect.
func (s *Service) BeginAsActor(v *Viewer, tenant string, c commit.Call) (commit.Mutation, error) {
	m, err := s.BeginSignedIn(v, c)
	if err != nil {
		return commit.Mutation{}, err
	}
	m.Actor = func(ctx context.Context) error {
		v.Forget()
		if v.Administers(tenant) {
			return s.checkNotDeleted(ctx, v)
		}
		return s.checkStored(ctx, v)
	}
	return m, nil
}

// requireUser returns FORBIDDEN unless the viewer's user is stored. It has the time limit of
// everything before a compare-and-set.
func (s *Service) requireUser(ctx context.Context, b commit.Budget, v *Viewer) error {
	return s.engine.WithBudget(ctx, b, func(ctx context.Context) error { return s.checkStored(ctx, v) })
}

// RefuseDeleted returns FORBIDDEN if the viewer's user was deleted. It is for mutations that
// anonymous callers and viewers without a stored user may make.
func (s *Service) RefuseDeleted(ctx context.Context, b commit.Budget, v *Viewer) error {
	return s.engine.WithBudget(ctx, b, func(ctx context.Context) error { return s.checkNotDeleted(ctx, v) })
}

func (s *Service) checkNotDeleted(ctx context.Context, v *Viewer) error {
	deleted, err := s.IsDeleted(ctx, v)
	if err == nil && deleted {
		err = deletedUser(v)
	}
	return err
}

// EndAdmin takes the rights of an administrator from a viewer whose user was deleted.
func (s *Service) EndAdmin(ctx context.Context, v *Viewer) error {
	if !v.Admin && !v.GlobalAdmin {
		return nil
	}
	return s.engine.WithBudget(ctx, s.engine.NewBudget(), func(ctx context.Context) error {
		deleted, err := s.IsDeleted(ctx, v)
		if deleted {
			v.Admin, v.GlobalAdmin = false, false
		}
		return err
	})
}

func deletedUser(v *Viewer) *fault.Error {
	return fault.Forbiddenf(nil, "your user %s was deleted, and its id is not used again", v.User)
}

// checkStored returns FORBIDDEN unless the viewer's user is stored. It keeps what it has read
// for the rest of the request.
func (s *Service) checkStored(ctx context.Context, v *Viewer) error {
	own := []*Header{nil}
	_, age := v.shown.known([]ID{v.User}, own)
	hs, err := s.store.ReadPrincipals(ctx, []ID{v.User})
	switch {
	case err != nil:
		return fmt.Errorf("read the viewer's user: %w", err)
	case hs[0].State == commit.Deleted:
		return deletedUser(v)
	case hs[0].State != commit.Live:
		return fault.Forbiddenf(nil, "your user %s does not exist yet; create it with createUser first", v.User)
	}
	if own[0] == nil {
		v.shown.keep([]*Header{&hs[0]}, age)
	}
	return nil
}
