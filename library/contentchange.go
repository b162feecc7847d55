package library

import (
	"context"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// contentChange is a mutation of one item that exists.
type contentChange struct {
	commit.Mutation
	v     *principal.Viewer
	id    ContentID
	path  string         // of the id in the input
	named []principal.ID // whose member rows are read with the item
	// rows returns the keys of further rows to read with the item (ItemChange.Rows); nil: none.
	rows func(*Header) []RowKey
}

// changeContent runs a mutation of an item: it reads the item, decides the change that plan
// makes of it, fans it out, and returns the outcome. plan may run several times; it returns the
// attempt and the number of libraries that it concerns. A repetition of an earlier request is
// answered without calling plan.
func (s *Service) changeContent(ctx context.Context, c contentChange, plan func(ctx context.Context, t *target) (*attempt,
	int, error)) (*ContentOutcome, error) {
	var first *keptAnswer
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
		if err == nil {
			a.entry.Causes.madeBy(c.v.User, func(principal.ID) principal.ID { return c.v.User })
		}
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

// inFlight is a change in flight. It is recorded durably before its compare-and-set can apply,
// and removed only after a snapshot with Seq > Base was applied to its scope.
type inFlight struct {
	commit.Entry
	// Causes are those of the changes of libraries. They are not recorded: a process that
	// finishes the change of another one does not know them.
	Causes Causes
}

// content returns the item that changes.
func (e *inFlight) content() ContentID { return ContentID(e.Key) }

// attempt is one try at a mutation: what it plans to write.
type attempt struct {
	entry  inFlight // without ID
	commit func(ctx context.Context, id commit.EntryID) (commit.Verdict, error)
	stale  *commit.Reminder // the reminder that is obsolete once the commit has applied; nil: none
	// former is the claim of a name that the change gives up; nil: none.
	former *claim.Former
	// withdraws reports that the change only frees space or withdraws access (commit.Attempt).
	withdraws bool
	// restore writes again what the commit refers to (commit.Attempt); nil: nothing.
	restore func(ctx context.Context) error
}

// nothingToChange is the attempt of a mutation that succeeds without writing anything.
var nothingToChange = &attempt{}

// decide is Engine.Decide for changes of items. It returns the change that was applied.
func (s *Service) decide(ctx context.Context, b commit.Budget, id ContentID, try func(ctx context.Context) (*attempt, error)) (e inFlight,
	ok bool, err error) {
	return s.decideFrom(ctx, b, id, s.engine.Now, try)
}

// decideFrom is decide for a change that moves the item to no position older than oldest returns.
func (s *Service) decideFrom(ctx context.Context, b commit.Budget, id ContentID, oldest func() clock.Instant,
	try func(ctx context.Context) (*attempt, error)) (e inFlight, ok bool, err error) {
	var last *attempt
	begun := false
	defer func() {
		if begun {
			s.deciding.end(id)
		}
	}()
	entry, ok, err := s.engine.Decide(ctx, b, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		if !begun {
			// The item's queue is held: this is its only change.
			begun = true
			s.deciding.begin(id, decision{oldest(), s.rt.Latch()})
		}
		a, err := try(ctx)
		last = a
		if err != nil || a.commit == nil {
			return commit.Nothing, err
		}
		return &commit.Attempt{Entry: a.entry.Entry, Commit: a.commit, Withdraws: a.withdraws, Restore: a.restore}, nil
	})
	if err != nil || !ok {
		return inFlight{}, false, err
	}
	s.dropReminder(ctx, last.stale)
	s.claims.DropFormer(ctx, last.former, s.log)
	e = last.entry
	e.ID, e.Decided = entry, true
	return e, true, nil
}

// contentAttempt is an attempt that commits c under e's id. It completes e.
func (s *Service) contentAttempt(e inFlight, c *ContentCommit) *attempt {
	e.Kind, e.Key, e.Base = commit.Content, string(c.ID), c.Base
	e.Causes.LastModified = c.Header.LastModified
	return &attempt{entry: e, withdraws: c.Header.State == commit.Deleted,
		commit: func(ctx context.Context, id commit.EntryID) (commit.Verdict, error) {
			c.Writer = id
			return s.contents.Commit(ctx, c)
		}}
}
