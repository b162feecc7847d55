package library

import (
	"context"
	"slices"
	"sync"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// shareTable holds the shares of each item that wait for the item's queue in this process. The
// share at the head of the queue commits all of them in one compare-and-set, so many concurrent
// shares of one item cost one write.
type shareTable struct {
	mu      sync.Mutex
	waiting map[ContentID][]*shareJob
}

// shareJob is one share whose input was checked. Its result is valid once done is open.
type shareJob struct {
	contentChange // which names the principals that it is shared with
	role          ContentRole
	indexes       []int // of named in the input

	done      sched.Latch
	taken     bool // in a batch, or withdrawn; under shareTable.mu
	err       error
	first     *keptAnswer // of the request, if it was answered before
	decided   bool
	libraries int
	fan       *fanOut
}

// add adds a job to those that wait, unless it has an idempotency key: such a job is committed
// alone, because a commit can contain only one request row.
func (t *shareTable) add(j *shareJob) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.Request == nil {
		t.waiting[j.id] = append(t.waiting[j.id], j)
	}
}

// take adds waiting jobs to the batch that j leads. It returns nil if another job has taken j.
func (t *shareTable) take(j *shareJob, batch []*shareJob) []*shareJob {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.taken && len(batch) == 0 {
		return nil
	}
	if len(batch) == 0 {
		batch = append(batch, j)
		j.taken = true
	}
	capacity := input.MaxList
	for _, b := range batch {
		capacity -= len(b.named) + 1
	}
	rest := t.waiting[j.id][:0:0]
	for _, w := range t.waiting[j.id] {
		switch {
		case w.taken:
		case j.Request == nil && capacity >= len(w.named)+1:
			capacity -= len(w.named) + 1
			w.taken = true
			batch = append(batch, w)
		default:
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		delete(t.waiting, j.id)
	} else {
		t.waiting[j.id] = rest
	}
	return batch
}

// withdraw makes sure that no other job commits j later. It returns false if another job has taken
// j, and commits it.
func (t *shareTable) withdraw(j *shareJob) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.taken {
		return false
	}
	j.taken = true // by no job, so that it is not committed after its caller has given up
	return true
}

// remove removes a job whose caller no longer waits.
func (t *shareTable) remove(j *shareJob) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[j.id] = slices.DeleteFunc(t.waiting[j.id], func(w *shareJob) bool { return w == j })
	if len(t.waiting[j.id]) == 0 {
		delete(t.waiting, j.id)
	}
}

// share commits j with the jobs that wait with it, or waits while another job commits j.
func (s *Service) share(ctx context.Context, j *shareJob) error {
	j.done = s.rt.Latch()
	s.shares.add(j)
	defer s.shares.remove(j)
	var batch []*shareJob
	// Other callers may depend on it, so a caller that gives up does not stop it.
	e, decided, err := s.decide(s.rt.Detach(ctx), j.Budget, j.id, func(ctx context.Context) (*attempt, error) {
		if batch = s.shares.take(j, batch); batch == nil {
			return nothingToChange, nil
		}
		return s.planShares(ctx, batch)
	})
	if batch == nil {
		if err != nil && s.shares.withdraw(j) {
			return err
		}
		// Another job commits j, even if j did not get its own turn in the queue.
		_, err := s.rt.Wait(ctx, j.done, 0)
		return err
	}
	var fan *fanOut
	if decided && e.Scope != commit.ScopeNone {
		// Each of them is answered once its own actor's library is done.
		var actors []principal.ID
		for _, b := range batch {
			if b.err == nil && b.libraries > 0 {
				actors = append(actors, actorInScope(e, b.v.User)...)
			}
		}
		fan = s.fanOuts.start(ctx, e, actors)
	}
	for _, b := range batch {
		// A share that was refused was in no commit, whatever the outcome of the commit.
		if err != nil && b.err == nil {
			b.err = err
		}
		if b.err == nil && b.libraries > 0 {
			b.decided, b.fan = decided, fan
		}
		b.done.Open()
	}
	return nil
}

// planShares checks each share of a batch on one reading of the item, and plans a single change
// for those that pass. A share that fails gets its error; the others continue.
func (s *Service) planShares(ctx context.Context, batch []*shareJob) (*attempt, error) {
	var named []principal.ID
	for _, j := range batch {
		named = append(append(named, j.v.User), j.named...)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	lead := batch[0]
	rows, err := s.readState(ctx, lead.id, named, lead.Request.Lookup())
	if err != nil {
		return nil, err
	}
	row := func(p principal.ID) Member {
		i, _ := slices.BinarySearch(named, p)
		return rows.Members[i]
	}
	wanted := roles{Principals: named, Roles: make([]ContentRole, len(named))}
	for i, m := range rows.Members {
		if m.Active() {
			wanted.Roles[i] = m.Role
		}
	}
	tasks := make([]func() error, len(batch))
	for n, j := range batch {
		tasks[n] = func() error {
			t := &target{header: rows.Header, own: row(j.v.User)}
			for _, p := range j.named {
				t.named = append(t.named, row(p))
			}
			j.libraries = 0
			j.first, j.err = s.authorizeShare(ctx, j, t, rows.Request)
			return nil
		}
	}
	if err := s.engine.Together(ctx, tasks); err != nil {
		return nil, err
	}
	for _, j := range batch {
		if j.err != nil || j.first != nil {
			continue
		}
		for _, p := range j.named {
			i, _ := slices.BinarySearch(named, p)
			if wanted.Roles[i] < j.role {
				wanted.Roles[i] = j.role
				j.libraries++
			}
		}
	}
	if lead.Request != nil && (lead.err != nil || lead.first != nil) {
		return nothingToChange, nil
	}
	t := &target{header: rows.Header, named: rows.Members}
	a, _, err := s.planRoles(t, wanted, lead.Request)
	if err == nil {
		a.entry.Causes.madeBy(lead.v.User, func(p principal.ID) principal.ID { return sharedBy(batch, p) })
	}
	return a, err
}

// sharedBy returns the last user of a batch who has shared the item with a principal.
func sharedBy(batch []*shareJob, p principal.ID) (by principal.ID) {
	for _, j := range batch {
		if j.err == nil && j.first == nil && slices.Contains(j.named, p) {
			by = j.v.User
		}
	}
	return by
}

// authorizeShare checks one share: repetition, existence, visibility and rights.
func (s *Service) authorizeShare(ctx context.Context, j *shareJob, t *target, request *commit.RequestRow) (*keptAnswer, error) {
	if err := j.CheckActor(ctx); err != nil {
		return nil, err
	}
	first, err := s.repeatedOrSeen(ctx, &j.contentChange, t, request)
	if err != nil || first != nil {
		return first, err
	}
	return nil, s.checkShare(ctx, j.v, t, j.role, j.named, j.indexes)
}
