package library

import (
	"context"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/principal"
)

// UpdateContent changes an item. Fields that are set to their current values change nothing. The
// version and the position in libraries change with title, description, link and visibility, not
// with expiresAt.
func (s *Service) UpdateContent(ctx context.Context, v *principal.Viewer, in UpdateContent) (*ContentOutcome, error) {
	defer v.Forget()
	id, faults := in.check(s.engine.Now())
	m, err := s.people.BeginAsActor(v, id.Tenant(), commit.Call{Name: "updateContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.changeContent(ctx, contentChange{Mutation: m, v: v, id: id, path: "id"},
		func(ctx context.Context, t *target) (*attempt, int, error) {
			return s.planUpdate(ctx, v, t, &in, m.Request)
		})
}

// check returns the item that the input names, and the errors of the input except those of its
// idempotency key.
func (in *UpdateContent) check(now clock.Instant) (ContentID, fault.List) {
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	if in.Title.Set {
		faults.Add(input.Required(in.Title.Value, "a title", CheckTitle), "title")
	}
	if in.Description.Set && in.Description.Value != nil {
		faults.Add(checkDescription(*in.Description.Value), "description")
	}
	if in.Link.Set {
		faults.Add(input.Required(in.Link.Value, "a link", checkLink), "link")
	}
	if in.Visibility.Set && (in.Visibility.Value == nil || !in.Visibility.Value.Valid()) {
		faults = append(faults, fault.Emptyf([]string{"visibility"}, "a visibility cannot be null: leave it out to keep it"))
	}
	if in.IdempotencyKey == nil {
		faults.Add(checkExpiry(in.ExpiresAt.Value, now))
	}
	if !in.Title.Set && !in.Description.Set && !in.Link.Set && !in.Visibility.Set && !in.ExpiresAt.Set {
		faults = append(faults, fault.Emptyf(nil, "nothing to change: give at least one of title, description, link, visibility and expiresAt"))
	}
	return id, faults
}

// planUpdate plans the state after an update and its scope, with the number of libraries that
// it concerns.
func (s *Service) planUpdate(ctx context.Context, v *principal.Viewer, t *target, in *UpdateContent,
	r *commit.Request) (*attempt, int, error) {
	h, now := &t.header, s.engine.Now()
	if err := s.checkUpdate(ctx, v, t, in); err != nil {
		return nil, 0, err
	}
	if err := requireVersion(h, in.ExpectedVersion); err != nil {
		return nil, 0, err
	}
	if err := in.fits(h, now); err != nil {
		return nil, 0, err
	}
	after := *h
	after.Seq, after.MTS = h.Seq+1, s.engine.MTS(h.MTS)
	visible := in.apply(&after.Content)
	expiry := in.ExpiresAt.Set && !equalInstants(h.ExpiresAt, in.ExpiresAt.Value)
	if expiry {
		after.ExpiresAt = in.ExpiresAt.Value
	}
	if !visible && !expiry && r == nil {
		return nothingToChange, 0, nil
	}
	e := inFlight{Causes: reasonForAll(ReasonUpdated)}
	c := &ContentCommit{ID: h.ID, Base: h.Seq}
	libraries := 0
	switch {
	case visible:
		libraries = min(t.most(v), s.planMoving(h, &after, &e.Entry, c))
	case expiry:
		// The entries keep their places, and are written again with the timestamp of the new state.
		e.Scope, libraries = commit.ScopeAll, h.Members
	}
	c.Header, c.Request = after, r.Row(now, keptAnswer{Libraries: libraries, Seq: after.Seq}.encode())
	a := s.contentAttempt(e, c)
	a.withdraws = after.Visibility < h.Visibility
	if expiry {
		if err := s.putReminder(ctx, &after); err != nil {
			return nil, 0, fault.Unavailablef(err, "the store did not take the change; nothing was changed, try again")
		}
		a.stale = staleReminder(h, &after)
	}
	return a, libraries, nil
}

// checkUpdate checks the rights of an update: editors change title, description
// and link; visibility and expiresAt are reserved for managers.
func (s *Service) checkUpdate(ctx context.Context, v *principal.Viewer, t *target, in *UpdateContent) error {
	enough := Editing
	if in.Visibility.Set || in.ExpiresAt.Set {
		enough = Manages
	}
	role, err := s.effectiveRole(ctx, v, &t.header, t.own, enough)
	if err != nil || role >= enough {
		return err
	}
	if role < Editing {
		return fault.Forbiddenf([]string{"id"}, "only an editor or a manager of the item may change it")
	}
	var faults fault.List
	if in.Visibility.Set {
		faults = append(faults, fault.Forbiddenf([]string{"visibility"}, "only a manager of the item may change its visibility"))
	}
	if in.ExpiresAt.Set {
		faults = append(faults, fault.Forbiddenf([]string{"expiresAt"}, "only a manager of the item may change its expiry"))
	}
	return faults
}

// fits checks what depends on the item and on the time.
func (in *UpdateContent) fits(h *Header, now clock.Instant) error {
	var faults fault.List
	if in.Link.Set && h.Kind == Note {
		faults = append(faults, fault.NotApplicablef([]string{"link"}, "a NOTE has no link"))
	}
	faults.Add(checkExpiry(in.ExpiresAt.Value, now))
	return faults.OrNil()
}

// apply sets the fields of the input. It reports whether anything has changed that readers see
// or sort by.
func (in *UpdateContent) apply(c *Content) bool {
	changed := false
	if in.Title.Set && *in.Title.Value != c.Title {
		c.Title, changed = *in.Title.Value, true
	}
	if in.Description.Set && !equalStrings(in.Description.Value, c.Description) {
		c.Description, changed = in.Description.Value, true
	}
	if in.Link.Set && !equalStrings(in.Link.Value, c.Link) {
		c.Link, changed = in.Link.Value, true
	}
	if in.Visibility.Set && *in.Visibility.Value != c.Visibility {
		c.Visibility, changed = *in.Visibility.Value, true
	}
	return changed
}

func equalStrings(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalInstants(a, b *clock.Instant) bool {
	return a == b || a != nil && b != nil && *a == *b
}
