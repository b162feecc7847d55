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
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/library/repair"
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
	make    func(ctx context.Context, s *repair.Service, id string, key *string) error
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
	do    func(ctx context.Context, s *repair.Service, id string, key *string) error
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
}

func ownerViewer() *principal.Viewer { return &principal.Viewer{User: owner} }

var operations = []operation{
	{name: "create", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce}, do: create, creates: true},
	{name: "update", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *repair.Service, id string, key *string) error {
			title := "after"
			_, err := s.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, Title: input.Some(&title), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Version, s.Title = 2, "after" }},
	{name: "withdraw", of: &items, steps: []step{stepLane, stepDecide, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *repair.Service, id string, key *string) error {
			private := principal.Private
			_, err := s.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, Visibility: input.Some(&private), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Version, s.Width = 2, principal.Private }},
	{name: "share", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce},
		do: func(ctx context.Context, s *repair.Service, id string, key *string) error {
			_, err := s.ShareContent(ctx, ownerViewer(), library.ShareContent{Content: id, Principals: []string{string(second)}, Role: library.Viewing, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Members = []string{string(first), string(owner), string(second)} }},
	{name: "remove", of: &items, steps: []step{stepLane, stepDecide, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *repair.Service, id string, key *string) error {
			_, err := s.SetContentMembers(ctx, ownerViewer(), library.SetContentMembers{Content: id,
				Members: []library.ContentMemberChange{{Principal: string(first)}}, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Members = []string{string(owner)} }},
	{name: "delete", of: &items, steps: []step{stepRead, stepLane, stepDecide, stepSnapshot, stepEnforce, stepSettle},
		do: func(ctx context.Context, s *repair.Service, id string, key *string) error {
			_, err := s.DeleteContent(ctx, ownerViewer(), library.DeleteContent{ID: id, IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { *s = seen{} }},
}

func create(ctx context.Context, s *repair.Service, id string, key *string) error {
	name, viewing := library.ContentID(id).Name(), library.Viewing
	_, err := s.CreateContent(ctx, ownerViewer(), library.CreateContent{Name: &name, Kind: library.Note, Title: "before", Visibility: principal.Public,
		Members: []library.ContentMemberChange{{Principal: string(first), Role: &viewing}}, IdempotencyKey: key})
	return err
}

// Steps whose statements are conditional writes, and those before the decision:
// of what fails there it is certain that nothing happened.
var (
	conditional = []step{stepFirstBlock, stepNextBlock, stepFix, stepDecide}
	undecided   = []step{stepFirstBlock, stepNextBlock, stepFix, stepRead, stepDue, stepDay, stepLane}
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
	var played, unknown, again atomic.Int64
	t.Run("faults", func(t *testing.T) {
		places := make(chan struct{}, atOnce)
		var wait sync.WaitGroup
		defer wait.Wait()
		for _, op := range slices.Concat(operations, namedOperations, expiryOperations, groupOperations, userOperations, takeOvers) {
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

// encounter is one mutation that meets one fault.
type encounter struct {
	r     *room
	op    operation
	step  step
	fault faultKind
	skew  time.Duration
	id    string
	// without is a rule that the process does not follow.
	without rule

	// What came of it: whether the outcome was unknown to the client, what was
	// wrong, and whether the machine was too slow to judge that.
	unknown bool
	wrong   []string
	slow    bool
}

func (c *encounter) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// playInTime plays an encounter that is named, again where the machine was too
// slow for it to be judged, and tells how often that was.
func (c *encounter) playInTime(t *testing.T, name string) (again int64) {
	for {
		c.id = fmt.Sprintf("%s%s-%d", c.op.of.prefix, name, again)
		c.play(t)
		if !c.slow || len(c.wrong) == 0 && c.without == everyRule || again == slowTries {
			return again
		}
		again++
	}
}

func (c *encounter) play(t *testing.T) {
	if c.op.ends != "" {
		c.playTakeOver(t)
		return
	}
	c.wrong = nil
	before, after := wanted(c.op)
	c.prepare(t)
	p, d := c.door(t, c.skew, c.without)
	key := c.id
	p.arm(c.op.of.table, c.step, c.fault)
	err := c.op.do(t.Context(), d.service, c.id, &key)
	c.recover(t, p, d)
	got := c.op.of.look(c.r, t, c.id)
	c.judge(err, got, before, after)
	c.repeat(t, &key, after)
	c.slow = p.wasSlow()
}

// door opens a process behind a proxy.
func (c *encounter) door(t *testing.T, skew time.Duration, without rule) (*proxy, *door) {
	t.Helper()
	p := newProxy(t, c.r.host)
	o := c.r.options(p.address)
	o.Timeout, o.ConnectTimeout = driverTimeout, 2*driverTimeout
	return p, openDoor(t, o, skew, without)
}

// repeat makes the operation again, with the same key: that gives the first
// outcome, or the change now, in any case once.
func (c *encounter) repeat(t *testing.T, key *string, after seen) {
	t.Helper()
	if err := c.op.do(t.Context(), c.r.whole.service, c.id, key); err != nil {
		c.errorf("the repetition: %v", err)
	}
	if got := c.op.of.look(c.r, t, c.id); !got.equal(after) {
		c.errorf("after the repetition there is %v instead of %v", got, after)
	}
}

// prepare makes what the operation is played on.
func (c *encounter) prepare(t *testing.T) {
	t.Helper()
	if prepare := c.op.of.prepare; prepare != nil {
		if err := prepare(t.Context(), c.r, c.id); err != nil {
			t.Fatal(err)
		}
	}
	if c.op.creates {
		return
	}
	if err := c.op.of.make(t.Context(), c.r.whole.service, c.id, nil); err != nil {
		t.Fatal(err)
	}
}

// judge compares an answer with what there is afterwards.
func (c *encounter) judge(err error, got, before, after seen) {
	c.unknown = fault.ReasonOf(err) == fault.ReasonOutcomeUnknown
	switch {
	case err == nil && !got.equal(after):
		c.errorf("it was acknowledged, and there is %v instead of %v", got, after)
	case c.unknown && c.op.joins && c.step == stepEnforce:
		if !got.equal(after) {
			c.errorf("it was decided, and there is %v instead of %v", got, after)
		}
		if !c.leavesUnknown() {
			c.errorf("the outcome is unknown although it could be made so: %v", err)
		}
	case c.unknown && c.step != stepDecide:
		c.errorf("the outcome is unknown although no decision was lost: %v", err)
	case c.unknown && !c.leavesUnknown():
		c.errorf("the outcome is unknown although it could be found out: %v", err)
	case c.unknown && !got.equal(after) && !got.equal(before):
		c.errorf("half of it happened: %v", got)
	case err != nil && !c.unknown && fault.CodeOf(err) != fault.Unavailable:
		c.errorf("the answer: %v", err)
	case err != nil && !c.unknown && !got.equal(before):
		c.errorf("it was refused (%v), and there is %v instead of %v", err, got, before)
	case err != nil && !c.unknown && !c.mayRefuse():
		c.errorf("it was refused after it was decided: %v", err)
	}
}

// leavesUnknown tells of the faults that keep the process from ever asking again.
func (c *encounter) leavesUnknown() bool {
	return c.fault == loseAll || c.fault == dieBefore || c.fault == dieAfter
}

// mayRefuse tells of what can be answered with certainty that nothing happened.
func (c *encounter) mayRefuse() bool {
	return slices.Contains(undecided, c.step) || c.step == stepDecide && c.fault == answerRefused
}

// recover brings what the fault has left to its end: by the process itself
// where it lives, by another one where it does not.
func (c *encounter) recover(t *testing.T, p *proxy, d *door) {
	t.Helper()
	switch c.fault {
	case loseAll:
		if p.disarm() < 2 {
			c.errorf("the decision was not asked after")
		}
		d.idle(t)
	case dieBefore, dieAfter:
		// Settling comes after the answer.
		until(t, runWithin, "the fault", p.hasDied)
	default:
		d.idle(t)
		if p.disarm() != 1 {
			c.errorf("no statement met the fault")
		}
		// Who closes its connections takes back what has not arrived.
		until(t, runWithin, "what comes late", p.arrived)
	}
	lane := d.journal.Lane()
	d.close(t)
	c.r.whole.takeOver(t, lane)
}
