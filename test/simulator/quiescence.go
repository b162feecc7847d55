package simulator

import (
	"slices"
	"time"

	"carrel/core/commit"
	"carrel/library"
)

// live lets the live processes finish what they have in flight, without a take-over. atLeast is how
// long they run at least.
func (r *run) live(atLeast time.Duration) {
	least, end := r.s.now+atLeast, r.s.now+time.Hour
	r.until("the live processes", func() bool { return r.s.now >= least && r.quiet() || r.s.now > end })
	if !r.quiet() {
		for _, p := range r.procs {
			if p.a.dead {
				return
			}
		}
		r.report(noEnd, "an hour later, with no process dead: lists %v, late %d", r.inFlightLists(), len(r.st.late))
	}
}

// drain shuts the live processes down: they finish what they have in flight, and make deferred
// moves immediately.
func (r *run) drain() {
	r.drained = r.s.steps
	for _, p := range r.procs {
		if p.a.dead || p.svc == nil {
			continue
		}
		p.drains = true
		p.a.Spawn(nil, func() {
			if err := p.j.Drain(r.ctx, p.svc.Background()); err != nil {
				r.report(noEnd, "%s does not drain: %v", p.a.name, err)
			}
			p.a.Crash()
		})
	}
	end := r.s.now + time.Hour
	r.until("draining", func() bool { return r.draining() == 0 || r.s.now > end })
	if n := r.draining(); n > 0 {
		r.report(noEnd, "an hour later, %d of %d processes have not drained: lists %v", n, len(r.procs), r.inFlightLists())
	}
}

// draining counts the live processes that have started to drain.
func (r *run) draining() int {
	n := 0
	for _, p := range r.procs {
		if p.drains && !p.a.dead {
			n++
		}
	}
	return n
}

// quiet reports whether nothing is in flight.
func (r *run) quiet() bool { return r.st.quiet() }

func (st *Store) quiet() bool {
	if len(st.late) > 0 {
		return false
	}
	return !slices.ContainsFunc(st.inFlightLists, (*listCell).isPending) && !st.anyQuorumPending()
}

func (r *run) inFlightLists() string {
	list := ""
	for _, l := range r.st.inFlightLists {
		if l.isPending() {
			list += entryList(l.block)
		}
	}
	return list
}

// clear ends all processes and has a last one take over their work, until nothing is in flight.
// Late writes continue to arrive meanwhile, and after.
func (r *run) clear() {
	for _, p := range r.procs {
		p.a.Crash()
	}
	last := r.process("last")
	var failed error
	ended := r.do(last, "the last recovery", func() {
		if failed = last.boot(r.ctx, r.tune); failed != nil {
			return
		}
		for range 50 {
			// If it fails it is repeated: a wait may have timed out.
			if failed = last.takeOver(r.ctx); failed == nil && r.quiet() {
				if r.after != nil {
					failed = r.after(r.ctx, last)
				}
				return
			}
			_ = last.a.After(r.ctx, 30*time.Second)
		}
	})
	if !ended {
		return
	}
	if failed != nil {
		r.report(noEnd, "the last recovery: %v", failed)
	}
	if !r.quiet() {
		r.report(noEnd, "after the last recovery: lists %v, late %d", r.inFlightLists(), len(r.st.late))
	}
}

// calm returns the items of which nothing is in flight: no operation, no entry on a list, and
// no late write.
func (r *run) calm() []library.ContentID {
	if len(r.st.late) > 0 {
		return nil
	}
	var ids []library.ContentID
	for _, c := range r.st.contents {
		if c.header.State == commit.Live && c.header.ExpiresAt == nil && !r.busy(c.id) {
			ids = append(ids, c.id)
		}
	}
	return ids
}

func (r *run) busy(id library.ContentID) bool {
	for _, o := range r.ops {
		if o.start > 0 && o.end == 0 && (o.content == id || o.content == "") {
			return true
		}
	}
	for _, l := range r.st.inFlightLists {
		if !l.isPending() {
			continue
		}
		entries, _ := commit.Decode(l.block) // the product wrote them
		for _, e := range entries {
			if e.Key == string(id) || e.Kind == commit.Principal && !e.Ended {
				return true
			}
		}
	}
	return false
}
