package library

import (
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/principal"
)

// UpdateContent changes an item. Only what differs counts: the version and the
// place in libraries move with title, description, link and visibility, not
// with expiresAt.
func (s *Service) UpdateContent(ctx context.Context, v *principal.Viewer, in UpdateContent) (*ContentOutcome, error) {
	defer v.Forget()
	id, faults := in.check(s.Now())
	m, err := s.BeginAsActor(ctx, v, id.Tenant(), commit.Call{Name: "updateContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.changeContent(ctx, contentChange{Mutation: m, v: v, id: id, path: "id"}, func(ctx context.Context, t *target) (*attempt, int, error) {
		return s.planUpdate(ctx, v, t, &in, m.Request)
	})
}

// contentChange is a mutation of one item that exists.
type contentChange struct {
	commit.Mutation
	v     *principal.Viewer
	id    ContentID
	path  string         // of the id in the input
	named []principal.ID // whose member rows are read with the item
	// rows returns the further rows to be read with the item (ItemChange.Rows); nil: none.
	rows func(*Header) []RowKey
}

// changeContent carries a mutation of an item through: it reads the item, decides what
// plan makes of it, fans the change out, and returns the outcome. plan may run several
// times; it returns the attempt and the number of libraries that it concerns. A repetition
// of an earlier request is answered without plan.
func (s *Service) changeContent(ctx context.Context, c contentChange, plan func(ctx context.Context, t *target) (*attempt, int, error)) (*ContentOutcome, error) {
	var first *contentAnswer
	var libraries int
	e, decided, err := s.decide(ctx, c.Budget, c.id, func(ctx context.Context) (*attempt, error) {
		t, err := s.readTarget(ctx, &c)
		if err != nil {
			return nil, err
		}
		if first = t.repeated; first != nil {
			return nothingToChange, nil
		}
		a, n, err := plan(ctx, t)
		libraries = n
		return a, err
	})
	if err != nil {
		return nil, err
	}
	if first != nil {
		return s.repeatedAnswer(ctx, c.v, c.id, first)
	}
	return s.answer(ctx, c.v, c.id, e, decided, libraries)
}

// check returns the item that the input names, and the faults of the input but for its
// idempotency key.
func (in *UpdateContent) check(now clock.Instant) (ContentID, fault.List) {
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	if in.Title.Set {
		faults.Add(input.Required(in.Title.Value, "a title", checkTitle), "title")
	}
	if in.Description.Set && in.Description.Value != nil {
		faults.Add(checkDescription(*in.Description.Value), "description")
	}
	if in.Link.Set {
		faults.Add(input.Required(in.Link.Value, "a link", checkLink), "link")
	}
	if in.Visibility.Set && (in.Visibility.Value == nil || !in.Visibility.Value.Valid()) {
		faults = append(faults, fault.Invalidf([]string{"visibility"}, "a visibility cannot be null: leave it out to keep it"))
	}
	if in.IdempotencyKey == nil {
		faults.Add(checkExpiry(in.ExpiresAt.Value, now))
	}
	if !in.Title.Set && !in.Description.Set && !in.Link.Set && !in.Visibility.Set && !in.ExpiresAt.Set {
		faults = append(faults, fault.Invalidf(nil, "nothing to change: give at least one of title, description, link, visibility and expiresAt"))
	}
	return id, faults
}

// planUpdate is the pure part: before and input to after and scope, with the
// number of libraries it concerns.
func (s *Service) planUpdate(ctx context.Context, v *principal.Viewer, t *target, in *UpdateContent, r *commit.Request) (*attempt, int, error) {
	h, now := &t.header, s.Now()
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
	after.Seq, after.MTS = h.Seq+1, s.MTS(h.MTS)
	visible := in.apply(&after.Content)
	expiry := in.ExpiresAt.Set && !equalInstants(h.ExpiresAt, in.ExpiresAt.Value)
	if expiry {
		after.ExpiresAt = in.ExpiresAt.Value
	}
	if !visible && !expiry && r == nil {
		return nothingToChange, 0, nil
	}
	e := InFlight{Content: h.ID, Base: h.Seq}
	c := &ContentCommit{ID: h.ID, Base: h.Seq}
	libraries := 0
	if visible {
		libraries = s.planMoving(h, &after, &e, c)
	}
	c.Header, c.Request = after, r.Row(now, contentAnswer{Libraries: libraries}.encode())
	a := s.contentAttempt(e, c)
	if expiry {
		if err := s.putHint(ctx, &after); err != nil {
			return nil, 0, fault.Unavailablef(err, "the store did not take the change; nothing was changed, try again")
		}
		a.stale = staleHint(h, &after)
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
	role, err := s.effectiveRole(ctx, v, t.header.ID, t.own, enough)
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

// fits checks what depends on the item, and on the time.
func (in *UpdateContent) fits(h *Header, now clock.Instant) error {
	var faults fault.List
	if in.Link.Set && h.Kind == Note {
		faults = append(faults, fault.Invalidf([]string{"link"}, "a NOTE has no link"))
	}
	faults.Add(checkExpiry(in.ExpiresAt.Value, now))
	return faults.OrNil()
}

// apply sets what the input gives and tells whether anything that readers sort
// or know by has changed.
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

// DeleteContent ends an item for ever: its header stays as a mark that keeps
// late writers out.
func (s *Service) DeleteContent(ctx context.Context, v *principal.Viewer, in DeleteContent) (*ContentOutcome, error) {
	defer v.Forget()
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	m, err := s.BeginAsActor(ctx, v, id.Tenant(), commit.Call{Name: "deleteContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.changeContent(ctx, contentChange{Mutation: m, v: v, id: id, path: "id"}, func(ctx context.Context, t *target) (*attempt, int, error) {
		if err := s.requireContentManager(ctx, v, t, "id"); err != nil {
			return nil, 0, err
		}
		if err := requireVersion(&t.header, in.ExpectedVersion); err != nil {
			return nil, 0, err
		}
		libraries := t.header.Members
		a, after := s.planDelete(&t.header, m.Request.Row(s.Now(), contentAnswer{Libraries: libraries}.encode()))
		a.stale = staleHint(&t.header, after)
		return a, libraries, nil
	})
}

// planDelete keeps the item's last places in the header: the fan-out finds in
// it what to clean, and reduces it afterwards.
func (s *Service) planDelete(h *Header, request *commit.RequestRow) (*attempt, *Header) {
	after := *h
	after.Seq, after.MTS, after.State = h.Seq+1, s.MTS(h.MTS), commit.Deleted
	after.Managers, after.Members = 0, 0
	a := s.contentAttempt(
		InFlight{Content: h.ID, Base: h.Seq, Scope: commit.ScopeAll, Reverse: true},
		&ContentCommit{ID: h.ID, Base: h.Seq, Header: after, Request: request})
	a.former = formerURL(h)
	return a, &after
}

// RemoveFromLibrary takes an item out of a library, by taking the membership
// that put it there.
func (s *Service) RemoveFromLibrary(ctx context.Context, v *principal.Viewer, in RemoveFromLibrary) (*ContentOutcome, error) {
	defer v.Forget()
	var faults fault.List
	p, err := principal.ParseID(in.Principal)
	faults.Add(err, "principalId")
	id, err := ParseContentID(in.Content)
	faults.Add(err, "contentId")
	m, err := s.BeginAsActor(ctx, v, p.Tenant(), commit.Call{Name: "removeFromLibrary", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	c := contentChange{Mutation: m, v: v, id: id, path: "contentId", named: []principal.ID{p}}
	return s.changeContent(ctx, c, func(ctx context.Context, t *target) (*attempt, int, error) {
		return s.planRemove(ctx, v, t, p, m.Request)
	})
}

func (s *Service) planRemove(ctx context.Context, v *principal.Viewer, t *target, p principal.ID, r *commit.Request) (*attempt, int, error) {
	faults, err := s.PrincipalsFor(ctx, v, []principal.ID{p}, func(int) bool { return false }, func(int) []string { return []string{"principalId"} })
	if err != nil {
		return nil, 0, err
	}
	if err := faults.OrNil(); err != nil {
		return nil, 0, err
	}
	may := p == v.User || v.Administers(p.Tenant())
	if !may && p.IsGroup() {
		groups, err := s.GroupsOf(ctx, v)
		if err != nil {
			return nil, 0, err
		}
		may = groups.Role(p) == principal.GroupManager
	}
	if !may {
		return nil, 0, fault.Forbiddenf([]string{"principalId"}, "only the user itself, a manager of the group or an administrator may take something out of this library")
	}
	if !t.named[0].Active() {
		return nil, 0, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonNotAMember, Path: []string{"contentId"}, Msg: "the item is not in this library"}
	}
	return s.planRoles(t, []principal.ID{p}, func(int) ContentRole { return NoRole }, r)
}

// planRoles plans a change of member rows alone, with the rows it changes.
// There is always at least one manager.
func (s *Service) planRoles(t *target, ps []principal.ID, role func(i int) ContentRole, r *commit.Request) (*attempt, int, error) {
	h := &t.header
	after := *h
	after.Seq, after.MTS = h.Seq+1, s.MTS(h.MTS)
	before := slices.Clone(t.named)
	for i := range before {
		before[i].Principal = ps[i]
	}
	changed := changeRows(&after, before, role)
	if after.Managers == 0 && h.Managers > 0 {
		return nil, 0, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonLastManager, Msg: "an item needs at least one manager: make somebody else a manager first"}
	}
	if len(changed) == 0 && r == nil {
		return nothingToChange, 0, nil
	}
	e := InFlight{Content: h.ID, Base: h.Seq}
	if len(changed) > 0 {
		e.Scope, e.Principals, e.Reverse = commit.ScopeListed, principalsOf(changed), true
	}
	return s.contentAttempt(e, &ContentCommit{
		ID: h.ID, Base: h.Seq, Header: after, Members: changed,
		Request: r.Row(s.Now(), contentAnswer{Libraries: len(changed)}.encode()),
	}), len(changed), nil
}
