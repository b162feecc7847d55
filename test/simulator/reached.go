package simulator

import (
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
)

// reached counts what has happened in schedules, so that a test can check that the world is as
// varied as described.
func (m *Machine) reached(what string) {
	if m.Reached == nil {
		m.Reached = map[string]int{}
	}
	m.Reached[what]++
}

// count records what has happened in a schedule, at its end.
func (r *run) count() {
	if r.st.givenUp > 0 {
		r.m.reached("a call given up")
	}
	if len(r.w.groups) > 1 {
		r.m.reached("nested groups")
	}
	for _, o := range r.ops {
		r.countOperation(o)
	}
	for _, w := range r.walks {
		r.countWalk(w)
	}
	for _, c := range r.hist.contents {
		for i := 1; i < len(c.states); i++ {
			if o := c.states[i].op; o != nil && c.states[i-1].role(ann) == library.Manages && c.states[i].role(ann) < library.Manages {
				r.m.reached("ann has ceased to manage an item")
			}
		}
	}
}

func (r *run) countOperation(o *Operation) {
	switch o.outcome {
	case answered:
		r.m.reached(o.kind.String() + " done")
		switch {
		case o.kind == opShare && o.viewer != ann:
			r.m.reached("share by a reader done")
		case o.expected != nil:
			r.m.reached("expectedVersion met")
		}
		if o.kind == opShare && len(o.members) > 1 {
			r.m.reached("share with several done")
		}
	case refused:
		r.m.reached("refused " + refusal(o.err))
	}
}

// refusal names why an operation was refused.
func refusal(err error) string {
	if reason := fault.ReasonOf(err); reason != "" {
		return string(reason)
	}
	switch fault.CodeOf(err) {
	case fault.Forbidden:
		return "FORBIDDEN"
	case fault.NotFound:
		return "NOT_FOUND"
	case fault.Unavailable:
		return "UNAVAILABLE"
	}
	return "otherwise"
}

func (r *run) countWalk(w *reader) {
	way := "ascending"
	if w.descending {
		way = "descending"
	}
	if w.backward {
		way += " backward"
	} else {
		way += " forward"
	}
	if w.byTitle {
		way += " by title"
	}
	r.m.reached("walk " + way)
	for what, is := range map[string]bool{"walk with a filter": w.filtered, "walk with includeShared": w.shared,
		"walk with count": w.counts, "walk of an administrator": w.admin} {
		if is {
			r.m.reached(what)
		}
	}
	for _, p := range w.pages {
		for _, c := range r.hist.contents {
			states := c.during(p.start, p.end)
			if s := &states[0]; len(states) == 1 && s.header.State == commit.Live && s.role(w.owner) != library.NoRole && s.expired(p.from) {
				r.m.reached("page with an expired item to hide")
			}
		}
	}
}
