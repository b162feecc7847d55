package principal

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
)

// CreateUser creates a user: an administrator of the tenant any, a token the
// one it names. The e-mail address is checked and normalized.
func (s *Service) CreateUser(ctx context.Context, v *Viewer, in CreateUser) (*User, error) {
	v.Forget()
	defer v.Forget()
	if !v.SignedIn() {
		return nil, fault.SignInFirst()
	}
	var faults fault.List
	id := newID(UserID, in.Tenant, in.Name, &faults)
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	email, err := normalizeEmail(in.Email)
	faults.Add(err, "email")
	faults.Add(checkVisibility(in.Visibility), "visibility")
	faults.Add(commit.CheckKey(string(v.User), in.IdempotencyKey), "idempotencyKey")
	if err := faults.OrNil(); err != nil {
		return nil, err
	}
	plain := in
	plain.IdempotencyKey = nil
	b := s.NewBudget()
	h, err := s.create(ctx, b, commit.Keyed(string(v.User), in.IdempotencyKey, "createUser", plain), creation{
		what:    "user",
		header:  Header{ID: id, DisplayName: in.DisplayName, Visibility: in.Visibility, Email: email, State: commit.Live},
		allowed: func(ctx context.Context) error { return s.mayCreateUser(ctx, b, v, id) },
		rules:   func(context.Context) error { return nil },
	})
	if err != nil {
		return nil, err
	}
	return s.shownUser(ctx, v, h)
}

// mayCreateUser lets administrators and the token itself pass.
func (s *Service) mayCreateUser(ctx context.Context, b commit.Budget, v *Viewer, id ID) error {
	if v.User == id || v.Administers(id.Tenant()) {
		return nil
	}
	if err := s.RequireUser(ctx, b, v); err != nil {
		return err
	}
	return fault.Forbiddenf(nil, "only administrators of tenant %s create users in it; a token may create the user that it names, %s", id.Tenant(), v.User)
}

// newID is the id of a new principal. Its parts are checked before they are
// put together, because a colon in one would shift the others.
func newID(form func(tenant, name string) ID, tenant, name string, faults *fault.List) ID {
	faults.Add(id.CheckTenant(id.Lower(tenant)), "tenant")
	faults.Add(id.CheckName(id.Lower(name)), "name")
	return form(tenant, name)
}

// UpdateUser changes a user: the user itself, and administrators of its tenant.
func (s *Service) UpdateUser(ctx context.Context, v *Viewer, in UpdateUser) (*User, error) {
	v.Forget()
	defer v.Forget()
	if !v.SignedIn() {
		return nil, fault.SignInFirst()
	}
	var faults fault.List
	id, err := parseOf(id.User, in.ID)
	faults.Add(err, "id")
	change := headerChange{
		displayName: input.Needed(&faults, in.DisplayName, checkDisplayName, "displayName"),
		visibility:  input.Needed(&faults, in.Visibility, checkVisibility, "visibility"),
	}
	change.email = input.Needed(&faults, in.Email, func(s string) error {
		_, err := normalizeEmail(s)
		return err
	}, "email")
	faults.Add(commit.CheckKey(string(v.User), in.IdempotencyKey), "idempotencyKey")
	if !in.DisplayName.Set && !in.Visibility.Set && !in.Email.Set {
		faults.Add(fault.Invalidf(nil, "there is nothing to change: give at least one of displayName, email and visibility"))
	}
	if err := faults.OrNil(); err != nil {
		return nil, err
	}
	if change.email != nil {
		normal, err := normalizeEmail(*change.email)
		if err != nil {
			return nil, err
		}
		change.email = &normal
	}
	b := s.NewBudget()
	if err := s.RequireActor(ctx, b, v, id.Tenant()); err != nil {
		return nil, err
	}
	plain := in
	plain.IdempotencyKey = nil
	rows, err := s.changePrincipal(ctx, b, id, commit.Keyed(string(v.User), in.IdempotencyKey, "updateUser", plain), nil, nil,
		func(ctx context.Context, rows *Rows) (*changePlan, error) {
			visible, err := s.Sees(ctx, v, id, &rows.Header)
			switch {
			case err != nil:
				return nil, err
			case !visible:
				return nil, NoSuchPrincipal("id")
			case v.User != id && !v.Administers(id.Tenant()):
				return nil, fault.Forbiddenf([]string{"id"}, "only the user itself and administrators of its tenant may change it")
			}
			return change.plan(rows.Header), nil
		})
	if err != nil {
		return nil, err
	}
	return s.shownUser(ctx, v, rows.Header)
}

// headerChange is what an update sets; nil leaves a field as it is.
type headerChange struct {
	displayName, email *string
	visibility         *Visibility
}

// plan applies the change. Setting a value to what it is changes nothing.
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

// set gives a field its new value; it tells whether that is another one.
func set[T comparable](field *T, value *T) bool {
	if value == nil || *value == *field {
		return false
	}
	*field = *value
	return true
}

// shownUser is the user as a mutation answers it: nil where the actor may not
// see it.
func (s *Service) shownUser(ctx context.Context, v *Viewer, h Header) (*User, error) {
	visible, err := s.Sees(ctx, v, h.ID, &h)
	if err != nil || !visible {
		return nil, err
	}
	return &User{h}, nil
}
