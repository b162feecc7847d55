package principal

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
)

// CreateUser creates a user. Administrators of the tenant may create any user; other callers may
// create only the user that their token names. The e-mail address is checked and normalized.
func (s *Service) CreateUser(ctx context.Context, v *Viewer, in CreateUser) (*User, error) {
	defer v.Forget()
	var faults fault.List
	id := newID(UserID, in.Tenant, in.Name, &faults)
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	email, err := normalizeEmail(in.Email)
	faults.Add(err, "email")
	faults.Add(checkVisibility(in.Visibility), "visibility")
	m, err := s.BeginSignedIn(v, commit.Call{Name: "createUser", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	h, err := s.create(ctx, m, creation{
		what:    "user",
		header:  Header{ID: id, DisplayName: in.DisplayName, Visibility: in.Visibility, Email: email, State: commit.Live},
		allowed: func(ctx context.Context) error { return s.mayCreateUser(ctx, m.Budget, v, id) },
		rules:   func(context.Context) error { return nil },
	})
	if err != nil {
		return nil, err
	}
	return s.shownUser(ctx, v, h)
}

// mayCreateUser returns an error unless the viewer is an administrator, or its token names the
// user.
func (s *Service) mayCreateUser(ctx context.Context, b commit.Budget, v *Viewer, id ID) error {
	switch {
	case v.User == id:
		return nil
	case v.Administers(id.Tenant()):
		return s.RefuseDeleted(ctx, b, v)
	}
	if err := s.requireUser(ctx, b, v); err != nil {
		return err
	}
	return fault.Forbiddenf(nil, "only administrators of tenant %s create users in it; a token may create the user that it names, %s",
		id.Tenant(), v.User)
}

// newID returns the id of a new principal. Its parts are checked before they are put together,
// because a colon in one would shift the others.
func newID(form func(tenant, name string) ID, tenant, name string, faults *fault.List) ID {
	faults.Add(id.CheckTenant(id.Lower(tenant)), "tenant")
	faults.Add(id.CheckName(id.Lower(name)), "name")
	return form(tenant, name)
}

// UpdateUser changes a user. The user and the administrators of its tenant may call it.
func (s *Service) UpdateUser(ctx context.Context, v *Viewer, in UpdateUser) (*User, error) {
	defer v.Forget()
	id, change, faults := in.check()
	m, err := s.BeginAsActor(v, id.Tenant(), commit.Call{Name: "updateUser", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	rows, err := s.changePrincipal(ctx, m, id, nil, nil, func(ctx context.Context, rows *Rows) (*changePlan, error) {
		visible, err := s.Sees(ctx, v, id, &rows.Header)
		switch {
		case err != nil:
			return nil, err
		case !visible:
			return nil, NoSuchPrincipal("id")
		case v.User != id && !v.Administers(id.Tenant()):
			return nil, fault.Forbiddenf([]string{"id"}, "only the user and administrators of its tenant may change it")
		}
		return change.plan(rows.Header), nil
	})
	if err != nil {
		return nil, err
	}
	return s.shownUser(ctx, v, rows.Header)
}

// check returns the user that the input names, what it changes, and the errors of the input
// except those of its idempotency key.
func (in *UpdateUser) check() (user ID, change headerChange, faults fault.List) {
	user, err := parseOf(id.User, in.ID)
	faults.Add(err, "id")
	change = headerChange{
		displayName: input.Needed(&faults, in.DisplayName, checkDisplayName, "displayName"),
		visibility:  input.Needed(&faults, in.Visibility, checkVisibility, "visibility"),
	}
	var email string
	given := input.Needed(&faults, in.Email, func(s string) (err error) {
		email, err = normalizeEmail(s)
		return err
	}, "email")
	if given != nil {
		change.email = &email
	}
	if !in.DisplayName.Set && !in.Visibility.Set && !in.Email.Set {
		faults.Add(fault.Emptyf(nil, "there is nothing to change: give at least one of displayName, email and visibility"))
	}
	return user, change, faults
}

// headerChange contains the fields that an update sets; nil: unchanged.
type headerChange struct {
	displayName, email *string
	visibility         *Visibility
}

// plan applies the change. Setting a field to its present value changes nothing.
func (c headerChange) plan(h Header) *changePlan {
	p := &changePlan{}
	former := h.DisplayName
	found := set(&h.DisplayName, c.displayName)
	if found = set(&h.Visibility, c.visibility) || found; found {
		p.former = former
	}
	p.changed = set(&h.Email, c.email) || found
	p.after = h
	return p
}

// set sets a field; it reports whether the value is a new one.
func set[T comparable](field *T, value *T) bool {
	if value == nil || *value == *field {
		return false
	}
	*field = *value
	return true
}

// shownUser returns the user for the answer of a mutation: nil if the actor may not see it.
func (s *Service) shownUser(ctx context.Context, v *Viewer, h Header) (*User, error) {
	visible, err := s.Sees(ctx, v, h.ID, &h)
	if err != nil || !visible {
		return nil, err
	}
	return &User{h}, nil
}
