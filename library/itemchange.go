package library

import (
	"carrel/core/collation"
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/principal"
)

// ItemChange is a change of an item that another package plans: of the item's further rows, and
// of the data that its header keeps for them.
type ItemChange struct {
	// Mutation is as BeginAsActor returned it, for the tenant of the item.
	Mutation commit.Mutation
	ID       ContentID
	// Path is the path of the item's id in the input.
	Path string
	// Editors reports that the change is FORBIDDEN to viewers who may not edit the item.
	Editors bool
	// Rows returns the keys of the further rows that Plan needs of an item with the given header,
	// at most 100. It is first called with an empty header, to guess the keys before the header is
	// read.
	Rows func(h *Header) []RowKey
	// Plan plans the change of an item that the viewer sees. It may be called several times,
	// with newer readings. It returns nil if there is nothing to change.
	Plan func(ctx context.Context, t *ItemReading) (*Edit, error)
}

// ItemReading is one reading of an item, for the plan of a change.
type ItemReading struct {
	Header *Header
	// Rows are the requested rows, in their order.
	Rows []Row
	// MayEdit reports whether the viewer may edit the item.
	MayEdit func(ctx context.Context) (bool, error)
}

// Edit is a planned change of an item.
type Edit struct {
	// Page replaces Content.Page in the header.
	Page []byte
	// Rows are the further rows to write; a nil Value removes one.
	Rows []Row
	// Visible reports that readers see the change. The item then moves in its libraries,
	// as it does when its title changes.
	Visible bool
	// Title is the new title of the item; nil: unchanged. It is only set if Visible is set.
	Title *string
	// Answer is returned to repetitions of the request (ContentOutcome.Answer).
	Answer []byte
	// Restore is that of commit.Attempt.
	Restore func(ctx context.Context) error
}

// ChangeItem decides a change that another package plans, in the same way as all changes of
// items: the item's queue, the in-flight list, one compare-and-set, and a fan-out if readers
// see the change.
func (s *Service) ChangeItem(ctx context.Context, v *principal.Viewer, in ItemChange) (*ContentOutcome, error) {
	defer v.Forget()
	var answer []byte
	c := contentChange{Mutation: in.Mutation, v: v, id: in.ID, path: in.Path, rows: in.Rows}
	out, err := s.changeContent(ctx, c, func(ctx context.Context, t *target) (*attempt, int, error) {
		mayEdit := func(ctx context.Context) (bool, error) {
			role, err := s.effectiveRole(ctx, v, &t.header, t.own, Editing)
			return role >= Editing, err
		}
		if in.Editors {
			if may, err := mayEdit(ctx); err != nil {
				return nil, 0, err
			} else if !may {
				return nil, 0, fault.Forbiddenf([]string{in.Path}, "only an editor or a manager of the item may do this")
			}
		}
		edit, err := in.Plan(ctx, &ItemReading{Header: &t.header, Rows: t.rows, MayEdit: mayEdit})
		switch {
		case err != nil:
			return nil, 0, err
		case edit == nil && in.Mutation.Request == nil:
			return nothingToChange, 0, nil
		case edit == nil:
			edit = &Edit{Page: t.header.Page}
		}
		answer = edit.Answer
		a, libraries := s.planEdit(&t.header, edit, in.Mutation.Request, t.most(v))
		return a, libraries, nil
	})
	if out != nil {
		out.Repeated = out.Answer != nil
		if !out.Repeated {
			out.Answer = answer
		}
	}
	return out, err
}

// planEdit plans the compare-and-set of an edit, and returns the number of libraries it
// concerns, at most most.
func (s *Service) planEdit(h *Header, edit *Edit, r *commit.Request, most int) (*attempt, int) {
	after := *h
	after.Seq, after.MTS, after.Page = h.Seq+1, s.engine.MTS(h.MTS), edit.Page
	e := inFlight{Causes: reasonForAll(ReasonRevised)}
	c := &ContentCommit{ID: h.ID, Base: h.Seq, Rows: edit.Rows}
	libraries := 0
	if edit.Visible {
		if edit.Title != nil {
			after.Title = *edit.Title
		}
		libraries = min(most, s.planMoving(h, &after, &e.Entry, c))
	}
	c.Header, c.Request = after, r.Row(s.engine.Now(), keptAnswer{Libraries: libraries, Seq: after.Seq, Answer: edit.Answer}.encode())
	a := s.contentAttempt(e, c)
	a.restore = edit.Restore
	return a, libraries
}

// planMoving completes the plan of a change that readers see. after is the new state, with the
// change in it. It returns the number of libraries that the change concerns now.
func (s *Service) planMoving(h, after *Header, e *commit.Entry, c *ContentCommit) int {
	after.Version++
	after.LastModified = after.MTS
	after.recordNarrowing(h.Visibility)
	// A clock that was ahead may have dated the last move. The pause then counts from now, so
	// that no item waits longer than one pause.
	after.MovedAt = min(h.MovedAt, s.engine.StoreNow())
	e.Due = s.deferUntil(after, s.engine.Now())
	if e.Due == 0 {
		move(after, after.MTS, s.engine.StoreNow())
		c.Supersede = &Superseded{h.Position, h.Widest}
	} else {
		after.Widest = max(h.Widest, after.Visibility)
	}
	planTitle(h, after, e, c)
	if e.Due != 0 && !e.All {
		return 0
	}
	e.Scope = commit.ScopeAll
	return h.Members
}

// planTitle completes the plan for the entries in the order of titles. They change with the title, unless the move is
// deferred, and with the visibility.
func planTitle(h, after *Header, e *commit.Entry, c *ContentCommit) {
	after.FormerTitle = ""
	if e.Due != 0 && !collation.Same(h.OrderTitle(), after.Title) {
		after.FormerTitle = h.OrderTitle()
	}
	renamed := !collation.Same(h.OrderTitle(), after.OrderTitle())
	e.All = renamed || after.Visibility != h.Visibility
	if !renamed && after.Visibility >= h.Visibility {
		return
	}
	c.SupersedeTitle = &SupersededTitle{At: after.MTS, Title: h.Key(ByTitle).Title, Widest: h.Visibility}
	for _, u := range h.UnsettledTitles {
		if u.Title == c.SupersedeTitle.Title {
			c.SupersedeTitle.Widest = max(c.SupersedeTitle.Widest, u.Widest)
		}
	}
}

// readItem reads an item with the further rows that c names for its header, all of one state.
// It reads twice if the guess for an empty header was wrong.
func (s *Service) readItem(ctx context.Context, c *contentChange) (*ContentRows, error) {
	keys := c.rows(&Header{})
	for range commit.MaxTries {
		read, err := s.contents.Read(ctx, c.id, ContentQuery{Members: []principal.ID{c.v.User}, Request: c.Request.Lookup(), Rows: keys})
		if err != nil {
			return nil, err
		}
		needed := c.rows(&read.Header)
		if slices.Equal(keys, needed) {
			return read, nil
		}
		keys = needed
	}
	return nil, sched.ErrQueueFull
}

// Item is an item that a viewer sees, with what the viewer may do with it.
type Item struct {
	Header      *Header
	Permissions Permissions
}

// Items returns items in the order of ids; nil for those that v may not see.
func (s *Service) Items(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Item, error) {
	rows, err := s.readContents(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	sees, err := s.seesEach(ctx, v, ids, rows)
	if err != nil {
		return nil, err
	}
	var seen []permissionsItem
	at := make([]int, 0, len(rows))
	for i := range rows {
		if sees[i] {
			seen = append(seen, permissionsItem{&rows[i].Header, ownRow(v, &rows[i])})
			at = append(at, i)
		}
	}
	items := make([]*Item, len(ids))
	found, err := s.permissions(ctx, v, seen)
	if err != nil {
		return nil, err
	}
	for n := range found {
		items[at[n]] = &Item{Header: seen[n].header, Permissions: found[n]}
	}
	return items, nil
}
