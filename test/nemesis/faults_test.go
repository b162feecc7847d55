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

// atOnce is the number of faults that are tested in parallel. They spend nearly all of their
// time waiting.
const atOnce = 18

// subject is the kind of object that mutations change.
type subject struct {
	table  string // the table whose statements decide
	prefix string // of ids
	// prepare creates what must exist before any operation; it may be nil.
	prepare func(ctx context.Context, r *fixture, id string) error
	make    func(ctx context.Context, s *services, id string, key *string) error
	look    func(r *fixture, t *testing.T, id string) seen
	before  seen // its state after its creation
}

var items = subject{table: "content", prefix: "c:acme:", make: create, look: (*fixture).look,
	before: seen{Version: 1, Title: "before", Visibility: principal.Public, Members: []string{string(first), string(owner)}}}

// operation is a mutation that meets a fault, with the state that it should lead to.
type operation struct {
	name  string
	of    *subject
	steps []step
	do    func(ctx context.Context, s *services, id string, key *string) error
	// creates is true if nothing exists before.
	creates bool
	// changes turns the state that the subject's make produces into the state after the
	// operation. If it is nil, the two are the same.
	changes func(s *seen)
	// ends is how the operation's own process ends at the decision, if another process
	// finishes the change and meets the faults. If it is empty, the operation's own process
	// meets them.
	ends faultKind
	// wakes is true if the operation's own process writes its list once more after that.
	wakes bool
	// joins is true if the operation adds a member. It is acknowledged only when
	// everything derived from the membership is stored.
	joins bool
	// fence is the number of the deciding statement that counts as stepFence: it fences another
	// record, or changes a lease again (see leaseOperations). 0: none does.
	fence int
	// urls are the URLs that the operation takes or gives up. If its process ends,
	// another client takes them.
	urls func(id string) []string
	// play runs the encounter in a special way; nil means the usual one.
	play func(c *encounter, t *testing.T)
}

func ownerViewer() *principal.Viewer { return &principal.Viewer{User: owner} }

var operations = []operation{
	{name: "create", of: &items, steps: []step{stepRead, stepList, stepDecide, stepSnapshot, stepApply, stepFeed}, do: create, creates: true},
	{name: "update", of: &items, steps: []step{stepRead, stepList, stepDecide, stepSnapshot, stepApply, stepCleanUp},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			title := "after"
			_, err := s.Library.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, Title: input.Some(&title), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Version, s.Title = 2, "after" }},
	{name: "withdraw", of: &items, steps: []step{stepList, stepDecide, stepApply, stepCleanUp},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			private := principal.Private
			_, err := s.Library.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, Visibility: input.Some(&private),
				IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Version, s.Visibility = 2, principal.Private }},
	{name: "share", of: &items, steps: []step{stepRead, stepList, stepDecide, stepSnapshot, stepApply},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := s.Library.ShareContent(ctx, ownerViewer(), library.ShareContent{Content: id, Principals: []string{string(second)},
				Role: library.Viewing, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Members = []string{string(first), string(owner), string(second)} }},
	{name: "remove", of: &items, steps: []step{stepList, stepDecide, stepApply, stepCleanUp},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := s.Library.SetContentMembers(ctx, ownerViewer(), library.SetContentMembers{Content: id,
				Members: []library.ContentMemberChange{{Principal: string(first)}}, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Members = []string{string(owner)} }},
	{name: "delete", of: &items, steps: []step{stepRead, stepList, stepDecide, stepSnapshot, stepApply, stepCleanUp},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := s.Library.DeleteContent(ctx, ownerViewer(), library.DeleteContent{ID: id, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { *s = seen{} }},
}

func create(ctx context.Context, s *services, id string, key *string) error {
	name, viewing := library.ContentID(id).Name(), library.Viewing
	_, err := s.Library.CreateContent(ctx, ownerViewer(), library.CreateContent{Name: &name, Kind: library.Note,
		Title: "before", Visibility: principal.Public,
		Members: []library.ContentMemberChange{{Principal: string(first), Role: &viewing}}, IdempotencyKey: key})
	return err
}

// Steps whose statements are conditional writes, and steps before the decision. If one of
// the latter fails, it is certain that nothing happened.
var (
	conditional = []step{stepFirstBlock, stepNextBlock, stepReserve, stepDecide, stepClaim, stepFence, stepTakeOver, stepRelease}
	undecided   = []step{stepFirstBlock, stepNextBlock, stepReserve, stepRead, stepDue, stepDay, stepList,
		stepFormer, stepClaim, stepHolder, stepFence, stepTakeOver, stepText}
)

// faultsAt returns the faults that a statement of a step can meet.
func (op *operation) faultsAt(s step) []faultKind {
	all := []faultKind{loseRequest, loseResponse, lateRequest, lateResponse, cutBefore, cutAfter, stall, dieBefore, dieAfter}
	if slices.Contains(conditional, s) {
		all = append(all, answerTimeout, answerFew, answerRefused)
	}
	if s == stepDecide && op.ends == "" {
		// The process never sends other statements again. Without an answer it assumes nothing, and
		// reads whether a fence exists.
		all = append(all, loseAll)
	}
	return all
}

// seen is the visible state of an item, or of a group or a user, whose version is 1.
type seen struct {
	Version    int
	Title      string
	Visibility principal.Visibility
	Members    []string
	Expires    bool
	Names      []string // the URLs that lead to it
	Texts      []string // its revisions
}

func (r *fixture) look(t *testing.T, name string) seen {
	t.Helper()
	v, id := ownerViewer(), library.ContentID(name)
	items, err := r.healthy.service.Library.Contents(t.Context(), v, []library.ContentID{id})
	if err != nil {
		t.Fatal(err)
	}
	if items[0] == nil {
		return seen{}
	}
	members, err := r.healthy.service.Library.Members(t.Context(), v, id, cursor.PageArgs{})
	if err != nil {
		t.Fatal(err)
	}
	s := seen{Version: items[0].Version, Title: items[0].Title, Visibility: items[0].Visibility, Expires: items[0].ExpiresAt != nil}
	for _, m := range members.Edges {
		s.Members = append(s.Members, string(m.Node.PrincipalID()))
	}
	slices.Sort(s.Members)
	return s
}

func (s seen) equal(other seen) bool { return fmt.Sprint(s) == fmt.Sprint(other) }

// wanted returns the state of a subject before and after an operation.
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

// slowTries is how often an encounter is repeated that failed while the machine was too
// slow, so that other statements timed out than the faulty one.
const slowTries = 4

// TestFaults_AtEveryStepOfMutations runs each mutation with each fault at each of its steps. When
// nothing is in flight any more, the stored state is what clients were answered, a repetition with
// the same key makes the change exactly once, and all libraries are right.
func TestFaults_AtEveryStepOfMutations(t *testing.T) {
	rs := newFixtures(t, 6)
	playAll(t, rs, slices.Concat(operations, namedOperations, expiryOperations, groupOperations, userOperations, takeOvers))
	eachOf(t, rs, func(t *testing.T, r *fixture) {
		r.expireAll(t)
		report := r.audit(t)
		if !report.Clean() {
			t.Errorf("the audit found %+v", report)
		}
		if st := r.healthy.journal.Stats(); st.ScrubFinished+st.ScrubMismatches > 0 {
			t.Errorf("the scrubber had to repair %d items, %d rows", st.ScrubFinished, st.ScrubMismatches)
		}
		if report.Contents == 0 || report.Entries == 0 {
			t.Errorf("the audit saw nothing: %+v", report)
		}
	})
}

// playAll runs operations with each fault at each of their steps. It distributes them over the
// fixtures.
func playAll(t *testing.T, rs []*fixture, all []operation) {
	t.Helper()
	var played, unknown, again atomic.Int64
	t.Run("faults", func(t *testing.T) {
		slots := make(chan struct{}, atOnce)
		var wait sync.WaitGroup
		defer wait.Wait()
		for _, op := range all {
			for _, s := range op.steps {
				for _, f := range op.faultsAt(s) {
					n := played.Add(1)
					slots <- struct{}{}
					wait.Go(func() {
						defer func() { <-slots }()
						t.Run(fmt.Sprintf("%s/%s/%s", op.name, s, f), func(t *testing.T) {
							// The clocks of two processes differ by 2 s, in either
							// direction. Each fixture has clocks of all kinds.
							c := encounter{r: rs[n/3%int64(len(rs))], op: op, step: s, fault: f, skew: 2 * time.Second * time.Duration(n%3-1)}
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

// TestAudit_ReportsADecisionWithoutItsEntry runs a process that decides before its entry is on the
// list, and then dies. The audit must report the libraries that are left incomplete.
func TestAudit_ReportsADecisionWithoutItsEntry(t *testing.T) {
	r := newFixture(t)
	defer r.healthy.close(t)
	for n, op := range operations {
		c := encounter{r: r, op: op, step: stepDecide, fault: dieAfter, without: entryAfterCommit}
		before := r.audit(t).Mismatches
		c.playInTime(t, fmt.Sprintf("missing-%d", n))
		if after := r.audit(t); after.Mismatches <= before && after.Leaving == 0 {
			t.Errorf("%s: the audit misses an unfinished change: %+v", op.name, after)
		}
	}
}
