package library

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// target is what a mutation of an item has read: the header, the actor's
// standing, and the rows of the principals it names, all of one state.
type target struct {
	header Header
	own    Member
	named  []Member // in the order asked for
	rows   []Row    // further rows, in the order asked for
	// repeated is the answer of the first outcome, where the request was
	// answered before; nothing else is to be checked then.
	repeated *contentAnswer
}

// contentAnswer is what a request row keeps of an outcome. The rest is told as
// it is now.
type contentAnswer struct {
	Libraries int `json:"libraries"`
	// Answer is that of an Edit.
	Answer []byte `json:"answer,omitempty"`
}

func (a contentAnswer) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // a struct of a number and bytes
	}
	return b
}

// readTarget is step 1 of a mutation of an item. A request that was answered
// before is told before existence; an item that does not exist or may not be
// seen is NOT_FOUND at its path.
func (s *Service) readTarget(ctx context.Context, c *contentChange) (*target, error) {
	read := func() (*ContentRows, error) {
		if c.rows != nil {
			return s.readItem(ctx, c)
		}
		return s.readState(ctx, c.id, append([]principal.ID{c.v.User}, c.named...), c.Request.Lookup())
	}
	rows, err := read()
	if err != nil {
		return nil, err
	}
	t := &target{header: rows.Header, own: rows.Members[0], named: rows.Members[1:], rows: rows.Rows}
	if t.repeated, err = s.known(ctx, c, t, rows.Request); err != nil {
		return nil, err
	}
	return t, nil
}

// known tells the answer of a request that was answered before; otherwise the
// item must exist and be seen by the viewer.
func (s *Service) known(ctx context.Context, c *contentChange, t *target, row *commit.RequestRow) (*contentAnswer, error) {
	again, err := c.Request.Answered(row, s.Now())
	if err != nil {
		return nil, err
	}
	if again {
		first := &contentAnswer{}
		if err := json.Unmarshal(row.Answer, first); err != nil {
			return nil, &fault.Error{Code: fault.Internal, Msg: "the answer of an earlier request cannot be read", Err: err}
		}
		return first, nil
	}
	sees, err := s.sees(ctx, c.v, c.id, &t.header, t.own)
	if err != nil {
		return nil, err
	}
	if !sees {
		return nil, contentNotFound(c.path)
	}
	return nil, nil
}

func contentNotFound(path string) *fault.Error {
	return fault.NotFoundf([]string{path}, "there is no such content, or you may not see it")
}

// readState reads rows of one state of an item, in as many reads as the longest
// IN list allows. The compare-and-set refuses a plan made from mixed states, so
// it is enough that all reads told the same seq.
func (s *Service) readState(ctx context.Context, id ContentID, members []principal.ID, request *commit.RequestKey) (*ContentRows, error) {
	for range commit.MaxTries {
		var whole *ContentRows
		mixed := false
		for part := range slices.Chunk(members, input.MaxList) {
			rows, err := s.contents.Read(ctx, id, ContentQuery{Members: part, Request: request})
			if err != nil {
				return nil, err
			}
			if whole == nil {
				whole = rows
				continue
			}
			mixed = mixed || rows.Header.Seq != whole.Header.Seq
			whole.Members = append(whole.Members, rows.Members...)
		}
		if !mixed {
			return whole, nil
		}
	}
	return nil, sched.ErrQueueFull
}

// effectiveRole returns the strongest role of the viewer on an item: its own
// row, its groups' rows, and administration, which counts as a manager's. A role
// that is at least enough is returned without looking for a stronger one.
func (s *Service) effectiveRole(ctx context.Context, v *principal.Viewer, id ContentID, own Member, enough ContentRole) (ContentRole, error) {
	if v.Administers(id.Tenant()) {
		return Manages, nil
	}
	if own.Active() && own.Role >= enough {
		return own.Role, nil
	}
	role, err := s.roleThroughGroups(ctx, v, id)
	if err != nil {
		return NoRole, err
	}
	if own.Active() {
		role = max(role, own.Role)
	}
	return role, nil
}

// requireContentManager is FORBIDDEN for whoever sees the item but does not manage it.
func (s *Service) requireContentManager(ctx context.Context, v *principal.Viewer, t *target, path string) error {
	role, err := s.effectiveRole(ctx, v, t.header.ID, t.own, Manages)
	if err != nil {
		return err
	}
	if role != Manages {
		return fault.Forbiddenf([]string{path}, "only a manager of the item may do this")
	}
	return nil
}

// requireVersion is CONFLICT where the caller expected another version.
func requireVersion(h *Header, expected *int) error {
	if expected == nil || *expected == h.Version {
		return nil
	}
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonVersion, Path: []string{"expectedVersion"},
		Msg: "the item has changed since: read it again, look at the change, and repeat yours with its version"}
}

// outcome is what a mutation answers: the item as the actor may see it now,
// and its place in the actor's own library.
func (s *Service) outcome(ctx context.Context, v *principal.Viewer, id ContentID) (*ContentOutcome, error) {
	v.Forget()
	out := &ContentOutcome{ID: id}
	rows, err := s.contents.Read(ctx, id, ContentQuery{Members: []principal.ID{v.User}})
	if err != nil {
		return nil, err
	}
	h, own := rows.Header, rows.Members[0]
	sees, err := s.sees(ctx, v, id, &h, own)
	if err != nil || !sees {
		return out, err
	}
	out.Content = &h.Content
	if own.Active() {
		out.Edge = s.edgeFor(v.User, principal.Private, &h.Content, own.Role, EntryKey{h.Position, id})
	}
	return out, nil
}

// answer finishes a mutation of an item: the fan-out of what was decided, and
// the outcome.
func (s *Service) answer(ctx context.Context, v *principal.Viewer, id ContentID, e InFlight, decided bool, libraries int) (*ContentOutcome, error) {
	complete := true
	if decided {
		complete = s.complete(ctx, e, v.User)
	}
	return s.told(ctx, v, id, decided, FanOut{Complete: complete, Libraries: libraries})
}

// told is the outcome of a mutation whose fan-out has been waited for.
func (s *Service) told(ctx context.Context, v *principal.Viewer, id ContentID, decided bool, fan FanOut) (*ContentOutcome, error) {
	out, err := s.outcome(ctx, v, id)
	if err != nil && decided {
		// The change stands; that the item cannot be told now does not undo it.
		s.warnNotReadBack(ctx, id, err)
		out, err = &ContentOutcome{ID: id}, nil
	}
	if err != nil {
		return nil, err
	}
	out.FanOut = fan
	return out, nil
}

// warnNotReadBack logs that the outcome of a change could not be read. A client
// that has disconnected reads no outcome, and is nothing to warn of.
func (s *Service) warnNotReadBack(ctx context.Context, id ContentID, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		s.log.WarnContext(ctx, "a change was made, but its outcome could not be read", "content", string(id), "error", err)
	}
}

// repeatedAnswer tells the outcome of a request that was answered before.
func (s *Service) repeatedAnswer(ctx context.Context, v *principal.Viewer, id ContentID, first *contentAnswer) (*ContentOutcome, error) {
	out, err := s.outcome(ctx, v, id)
	if err != nil {
		return nil, err
	}
	out.FanOut = FanOut{Complete: s.restsNow(ctx, id), Libraries: first.Libraries}
	out.Answer = first.Answer
	return out, nil
}

// complete fans a decided change out as far as its scope says. It tells
// whether everything is done.
func (s *Service) complete(ctx context.Context, e InFlight, actor principal.ID) bool {
	switch {
	case e.Scope != commit.ScopeNone:
		return s.fanOut(ctx, e, actor)
	case e.Due != 0:
		s.journal.Defer(e.Entry())
		s.publish.Updated(e.Content)
	}
	return true
}

// actorInScope is the actor, alone, where there is one and its library is one
// of those concerned.
func actorInScope(e InFlight, actor principal.ID) []principal.ID {
	if actor == "" || e.Scope == commit.ScopeListed && !slices.Contains(e.Principals, actor) {
		return nil
	}
	return []principal.ID{actor}
}

// changeRows applies role changes to the member rows of a header that has its
// new Seq: the rows to write, and the header's counts.
func changeRows(h *Header, before []Member, role func(i int) ContentRole) (changed []Member) {
	for i, m := range before {
		to := role(i)
		if m.Active() && m.Role == to || !m.Active() && to == NoRole {
			continue
		}
		if m.Active() {
			h.Members--
			if m.Role == Manages {
				h.Managers--
			}
		}
		if to != NoRole {
			h.Members++
			if to == Manages {
				h.Managers++
			}
		}
		changed = append(changed, h.became(m, to))
	}
	return changed
}

// principalsOf are the principals of rows, in order of id.
func principalsOf(rows []Member) []principal.ID {
	ps := make([]principal.ID, len(rows))
	for i, m := range rows {
		ps[i] = m.Principal
	}
	slices.Sort(ps)
	return ps
}
