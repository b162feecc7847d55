package nemesis

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// atOnce is how many faults are played at a time: nearly all of their time they wait.
const atOnce = 18

// subject is what mutations change.
type subject struct {
	table  string // the one whose statements decide
	prefix string // of ids
	// prepare makes what must be there before any operation; nil: nothing.
	prepare func(ctx context.Context, r *room, id string) error
	make    func(ctx context.Context, s *services, id string, key *string) error
	look    func(r *room, t *testing.T, id string) seen
	before  seen // what shows of it when it was made
}

var items = subject{table: "content", prefix: "c:acme:", make: create, look: (*room).look,
	before: seen{Version: 1, Title: "before", Width: principal.Public, Members: []string{string(first), string(owner)}}}

// operation is a mutation that meets a fault, and how it is seen to have happened.
type operation struct {
	name  string
	of    *subject
	steps []step
	do    func(ctx context.Context, s *services, id string, key *string) error
	// creates tells that nothing shows before.
	creates bool
	// changes makes of what the subject's make leaves what shows once it has
	// happened; nil: that very thing.
	changes func(s *seen)
	// ends is how its own process ends at the decision, where another one finishes
	// it and meets the faults; empty: its own process meets them.
	ends faultKind
	// wakes tells that its own process writes its list once more after that.
	wakes bool
	// joins tells that somebody is let in, which is acknowledged when what is
	// derived of it stands, and not before.
	joins bool
	// fence tells which of its deciding statements is the fence of another record.
	fence int
	// urls are those that it is about. Where its process ends, somebody else wants them.
	urls func(id string) []string
	// play plays an encounter in a way of its own; nil: as all do.
	play func(c *encounter, t *testing.T)
}

func ownerViewer() *principal.Viewer { return &principal.Viewer{User: owner} }

var operations = []operation{
	{name: "create", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce, stepFeed}, do: create, creates: true},
	{name: "update", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			title := "after"
			_, err := s.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, Title: input.Some(&title), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Version, s.Title = 2, "after" }},
	{name: "withdraw", of: &items, steps: []step{stepLane, stepDecide, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			private := principal.Private
			_, err := s.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, Visibility: input.Some(&private), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Version, s.Width = 2, principal.Private }},
	{name: "share", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := s.ShareContent(ctx, ownerViewer(), library.ShareContent{Content: id, Principals: []string{string(second)}, Role: library.Viewing, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Members = []string{string(first), string(owner), string(second)} }},
	{name: "remove", of: &items, steps: []step{stepLane, stepDecide, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := s.SetContentMembers(ctx, ownerViewer(), library.SetContentMembers{Content: id,
				Members: []library.ContentMemberChange{{Principal: string(first)}}, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Members = []string{string(owner)} }},
	{name: "delete", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := s.DeleteContent(ctx, ownerViewer(), library.DeleteContent{ID: id, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { *s = seen{} }},
}

func create(ctx context.Context, s *services, id string, key *string) error {
	name, viewing := library.ContentID(id).Name(), library.Viewing
	_, err := s.CreateContent(ctx, ownerViewer(), library.CreateContent{Name: &name, Kind: library.Note, Title: "before", Visibility: principal.Public,
		Members: []library.ContentMemberChange{{Principal: string(first), Role: &viewing}}, IdempotencyKey: key})
	return err
}

// Steps whose statements are conditional writes, and those before the decision:
// of what fails there it is certain that nothing happened.
var (
	conditional = []step{stepFirstBlock, stepNextBlock, stepFix, stepDecide, stepClaim, stepFence, stepTakeOver, stepRelease}
	undecided   = []step{stepFirstBlock, stepNextBlock, stepFix, stepRead, stepDue, stepDay, stepLane,
		stepFormer, stepClaim, stepJudge, stepFence, stepTakeOver, stepText}
)

// faultsAt are those that a statement of a step can meet.
func (op *operation) faultsAt(s step) []faultKind {
	all := []faultKind{loseRequest, loseResponse, lateRequest, lateResponse, cutBefore, cutAfter, stall, dieBefore, dieAfter}
	if slices.Contains(conditional, s) {
		all = append(all, answerTimeout, answerFew, answerRefused)
	}
	if s == stepDecide && op.ends == "" {
		// Nobody sends the others again: what was not heard is not relied on, and
		// whether a fence stands is read.
		all = append(all, loseAll)
	}
	return all
}

// seen is what shows of an item, or of a group or a user, whose version is 1.
type seen struct {
	Version int
	Title   string
	Width   principal.Visibility
	Members []string
	Expires bool
	Names   []string // the URLs that lead to it
	Texts   []string // its revisions
}

func (r *room) look(t *testing.T, name string) seen {
	t.Helper()
	v, id := ownerViewer(), library.ContentID(name)
	items, err := r.whole.service.Contents(t.Context(), v, []library.ContentID{id})
	if err != nil {
		t.Fatal(err)
	}
	if items[0] == nil {
		return seen{}
	}
	members, err := r.whole.service.Members(t.Context(), v, id, cursor.PageArgs{})
	if err != nil {
		t.Fatal(err)
	}
	s := seen{Version: items[0].Version, Title: items[0].Title, Width: items[0].Visibility, Expires: items[0].ExpiresAt != nil}
	for _, m := range members.Edges {
		s.Members = append(s.Members, string(m.Node.PrincipalID()))
	}
	slices.Sort(s.Members)
	return s
}

func (s seen) equal(other seen) bool { return fmt.Sprint(s) == fmt.Sprint(other) }

// wanted is what shows of a subject before and after an operation.
func wanted(op operation) (before, after seen) {
	before, after = op.of.before, op.of.before
	if op.creates {
		before = seen{}
	}
	if op.changes != nil {
		op.changes(&after)
	}
	return before, after
}

// slowTries is how often an encounter is played again that was not as it should
// be while the machine was too slow for it, so that other statements timed out
// than the one that met the fault.
const slowTries = 4

// TestEveryStepMeetsEveryFault plays each mutation with each fault at each of
// its steps. Afterwards, with nothing left under way, what was answered is what
// happened, the same key makes it happen exactly once, and all libraries are right.
func TestEveryStepMeetsEveryFault(t *testing.T) {
	r := newRoom(t)
	defer r.whole.close(t)
	r.playAll(t, slices.Concat(operations, namedOperations, expiryOperations, groupOperations, userOperations, takeOvers))
	r.expireAll(t)
	report := r.audit(t)
	if !report.Clean() {
		t.Errorf("the audit found %+v", report)
	}
	if st := r.whole.journal.Stats(); st.ScrubSettled+st.ScrubMismatches > 0 {
		t.Errorf("the scrubber had to mend %d items, %d rows", st.ScrubSettled, st.ScrubMismatches)
	}
	if report.Contents == 0 || report.Entries == 0 {
		t.Errorf("the audit saw nothing: %+v", report)
	}
}

// playAll plays operations with each fault at each of their steps.
func (r *room) playAll(t *testing.T, all []operation) {
	t.Helper()
	var played, unknown, again atomic.Int64
	t.Run("faults", func(t *testing.T) {
		places := make(chan struct{}, atOnce)
		var wait sync.WaitGroup
		defer wait.Wait()
		for _, op := range all {
			for _, s := range op.steps {
				for _, f := range op.faultsAt(s) {
					n := played.Add(1)
					places <- struct{}{}
					wait.Go(func() {
						defer func() { <-places }()
						t.Run(fmt.Sprintf("%s/%s/%s", op.name, s, f), func(t *testing.T) {
							// The clocks of two processes are 2 s apart, either way.
							c := encounter{r: r, op: op, step: s, fault: f, skew: 2 * time.Second * time.Duration(n%3-1)}
							again.Add(c.playInTime(t, fmt.Sprintf("fault-%d", n)))
							for _, wrong := range c.wrong {
								t.Error(wrong)
							}
							if c.unknown {
								unknown.Add(1)
							}
						})
					})
				}
			}
		}
	})
	t.Logf("%d faults, %d unknown outcomes, %d played again because the machine was slow", played.Load(), unknown.Load(), again.Load())
}

// TestAMissingRuleIsFound: a process that decides before its entry is on the
// list, and dies, leaves libraries that the audit does not pass.
func TestAMissingRuleIsFound(t *testing.T) {
	r := newRoom(t)
	defer r.whole.close(t)
	for n, op := range operations {
		c := encounter{r: r, op: op, step: stepDecide, fault: dieAfter, without: entryAfterCommit}
		before := r.audit(t).Mismatches
		c.playInTime(t, fmt.Sprintf("missing-%d", n))
		if after := r.audit(t); after.Mismatches <= before && after.Leaving == 0 {
			t.Errorf("%s: the audit passes what nobody finished: %+v", op.name, after)
		}
	}
}
