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

// shareTable holds the shares of each item that wait for its queue in this
// process. Whoever's turn it is carries all of them in one compare-and-set:
// many people sharing one item cost one write, not one each.
type shareTable struct {
	mu      sync.Mutex
	waiting map[ContentID][]*shareJob
}

// shareJob is one share, of shape checked, and its result once done is open.
type shareJob struct {
	v      *principal.Viewer
	role   ContentRole
	ps     []principal.ID
	places []int // of ps in the input
	r      *commit.Request

	done      sched.Latch
	taken     bool // by whoever carries it; under shareTable.mu
	err       error
	first     *contentAnswer // of the request answered before
	decided   bool
	libraries int
	fan       *fanJob
}

// wait puts a job into the table. One with a key goes alone: a commit has
// room for one request row.
func (t *shareTable) wait(id ContentID, j *shareJob) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.r == nil {
		t.waiting[id] = append(t.waiting[id], j)
	}
}

// take adds what waits to the batch that j leads. It is nil where somebody
// else has taken j.
func (t *shareTable) take(id ContentID, j *shareJob, batch []*shareJob) []*shareJob {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.taken && len(batch) == 0 {
		return nil
	}
	if len(batch) == 0 {
		batch = append(batch, j)
		j.taken = true
	}
	room := input.MaxList
	for _, b := range batch {
		room -= len(b.ps) + 1
	}
	rest := t.waiting[id][:0:0]
	for _, w := range t.waiting[id] {
		switch {
		case w.taken:
		case j.r == nil && room >= len(w.ps)+1:
			room -= len(w.ps) + 1
			w.taken = true
			batch = append(batch, w)
		default:
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		delete(t.waiting, id)
	} else {
		t.waiting[id] = rest
	}
	return batch
}

// isTaken tells whether somebody carries the job. Once it has told false, nobody
// will.
func (t *shareTable) isTaken(j *shareJob) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !j.taken {
		j.taken = true // by nobody, so that it is not carried after its caller gave up
		return false
	}
	return true
}

// leave takes a job out that will not be carried: its caller gave up first.
func (t *shareTable) leave(id ContentID, j *shareJob) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[id] = slices.DeleteFunc(t.waiting[id], func(w *shareJob) bool { return w == j })
	if len(t.waiting[id]) == 0 {
		delete(t.waiting, id)
	}
}

// share carries j, with whatever waits beside it, or lets somebody else who is
// at it already carry it.
func (s *Service) share(ctx context.Context, left commit.Budget, id ContentID, j *shareJob) error {
	j.done = s.rt.Latch()
	s.shares.wait(id, j)
	defer s.shares.leave(id, j)
	var batch []*shareJob
	var before *Header
	// Others may depend on it, so a caller that leaves does not stop it.
	e, decided, err := s.decide(s.rt.Detach(ctx), left, id, func(ctx context.Context) (*attempt, error) {
		if batch = s.shares.take(id, j, batch); batch == nil {
			return nothingToChange, nil
		}
		a, h, err := s.planShares(ctx, id, batch)
		if before == nil {
			before = h
		}
		return a, err
	})
	if batch == nil {
		if err != nil && !s.shares.isTaken(j) {
			return err
		}
		// It is carried by another, whatever became of our own turn.
		_, err := s.rt.Wait(ctx, j.done, 0)
		return err
	}
	if decided && s.tune.Without == commit.PlainShare {
		s.plainShare(ctx, e, before)
		decided = false
	}
	var fan *fanJob
	if decided && e.Scope != commit.ScopeNone {
		// Each of them is answered once its own actor's library is done.
		var actors []principal.ID
		for _, b := range batch {
			if b.err == nil && b.libraries > 0 {
				actors = append(actors, actorInScope(e, b.v.User)...)
			}
		}
		fan = s.startFanOut(ctx, e, actors)
	}
	for _, b := range batch {
		// A share that was refused was in no commit, whatever became of that.
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

// planShares judges each share of a batch by one reading of the item, and
// plans what those that pass ask for together. A share that fails has its
// error; the others go on.
func (s *Service) planShares(ctx context.Context, id ContentID, batch []*shareJob) (*attempt, *Header, error) {
	var named []principal.ID
	for _, j := range batch {
		named = append(append(named, j.v.User), j.ps...)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	lead := batch[0]
	rows, err := s.readState(ctx, id, named, lead.r.Lookup())
	if err != nil {
		return nil, nil, err
	}
	row := func(p principal.ID) Member {
		i, _ := slices.BinarySearch(named, p)
		return rows.Members[i]
	}
	roles := make([]ContentRole, len(named))
	for i, m := range rows.Members {
		if m.Active() {
			roles[i] = m.Role
		}
	}
	for _, j := range batch {
		j.err, j.libraries, j.first = nil, 0, nil
		t := &target{header: rows.Header, own: row(j.v.User)}
		for _, p := range j.ps {
			t.named = append(t.named, row(p))
		}
		if j.first, j.err = s.judgeShare(ctx, id, j, t, rows.Request); j.err != nil || j.first != nil {
			continue
		}
		for _, p := range j.ps {
			i, _ := slices.BinarySearch(named, p)
			if roles[i] < j.role {
				roles[i] = j.role
				j.libraries++
			}
		}
	}
	if lead.r != nil && (lead.err != nil || lead.first != nil) {
		return nothingToChange, &rows.Header, nil
	}
	t := &target{header: rows.Header, named: rows.Members}
	a, _, err := s.planRoles(t, named, func(i int) ContentRole { return roles[i] }, lead.r)
	return a, &rows.Header, err
}

// judgeShare is one share's repetition, existence, visibility and rights.
func (s *Service) judgeShare(ctx context.Context, id ContentID, j *shareJob, t *target, request *commit.RequestRow) (*contentAnswer, error) {
	first, err := s.known(ctx, j.v, id, t, j.r, request, "contentId")
	if err != nil || first != nil {
		return first, err
	}
	return nil, s.checkShare(ctx, j.v, t, j.role, j.ps, j.places)
}
