package simulator

import (
	"fmt"
	"math"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// History contains what was decided: every state of every partition, in order, with the step at
// which it was decided and the operation that made it.
type History struct {
	s          *Scheduler
	contents   []*contentHistory
	principals []*principalHistory
	leases     []*leaseHistory
	claims     []*claimHistory // of the keys of leases
	pastes     []*pasteHistory
	// replicated: states are seen when replicas have them, not when they are decided.
	replicated bool
	// monotonic: a read returns no older state than an earlier read has returned.
	monotonic bool
	// latest is the latest time that some clock of a process may have shown.
	latest func() clock.Instant
	// lost describes keys that their holders lost, and other wrong states of leases.
	lost []string
	// broken describes wrong states of pastes.
	broken []string
	// connected are the present followers of the public pastes.
	connected []*pasteFollower
}

type contentHistory struct {
	id     library.ContentID
	states []contentState
}

// contentState is a state of an item, in force until the next one.
type contentState struct {
	step int
	// seen is the step from which every quorum read returns the state, or a later one. Without
	// replicas that is the step of its decision; with replicas, the step at which a quorum of them
	// has it.
	seen    int
	version int
	at      time.Duration
	header  library.Header
	members []library.Member
	rows    []library.Row // further ones, of its page
	op      *Operation
}

type principalHistory struct {
	id     principal.ID
	states []principalState
}

type principalState struct {
	step    int
	header  principal.Header
	members []principal.GroupMemberRow
	op      *Operation
}

func (h *History) of(id library.ContentID) *contentHistory {
	return historyOf(&h.contents, func(c *contentHistory) bool { return c.id == id },
		func() *contentHistory { return &contentHistory{id: id} })
}

func (h *History) ofPrincipal(id principal.ID) *principalHistory {
	return historyOf(&h.principals, func(p *principalHistory) bool { return p.id == id },
		func() *principalHistory { return &principalHistory{id: id} })
}

// historyOf returns the history that is the one; if there is none, it adds one.
func historyOf[T any](all *[]*T, is func(*T) bool, empty func() *T) *T {
	i := slices.IndexFunc(*all, is)
	if i < 0 {
		i, *all = len(*all), append(*all, empty())
	}
	return (*all)[i]
}

func (h *History) content(p *contentPart, op *Operation) {
	c := h.of(p.id)
	st := contentState{step: h.s.steps, seen: h.s.steps, at: h.s.now, header: p.header, members: p.members, rows: p.rows, op: op}
	if h.replicated {
		// The write that is being decided will be of the next version.
		st.seen, st.version = math.MaxInt, p.version+1
	}
	c.states = append(c.states, st)
}

// acknowledged notes that a quorum of replicas has a version of an item.
func (h *History) acknowledged(id library.ContentID, version int) {
	states := h.of(id).states
	for i := range states {
		if states[i].version <= version {
			states[i].seen = min(states[i].seen, h.s.steps)
		}
	}
}

func (h *History) principal(p *principalPart, op *Operation) {
	c := h.ofPrincipal(p.id)
	c.states = append(c.states, principalState{h.s.steps, p.header, p.members, op})
}

// answered notes that the states that an operation has made were acknowledged: from now on no page
// may show an older one.
func (h *History) answered(o *Operation) {
	made := -1
	states := h.of(o.content).states
	for i := range states {
		if states[i].op == o {
			made = i
		}
	}
	for i := range states[:made+1] {
		states[i].seen = min(states[i].seen, h.s.steps)
	}
}

// during returns the states in force at some moment from start to end. An absent
// state is the zero state.
func (c *contentHistory) during(start, end int) []contentState {
	first := 0
	for i, s := range c.states {
		if s.step > end {
			return c.from(first, i)
		}
		if s.seen <= start {
			first = i
		}
	}
	return c.from(first, len(c.states))
}

func (c *contentHistory) from(first, until int) []contentState {
	if until == 0 {
		return []contentState{{}}
	}
	return c.states[first:until]
}

func (p *principalHistory) during(start, end int) []principalState {
	first, until := 0, 0
	for i, s := range p.states {
		if s.step > end {
			break
		}
		until = i + 1
		if s.step <= start {
			first = i
		}
	}
	return p.states[first:until]
}

// role returns the active role of a principal in a state.
func (s *contentState) role(p principal.ID) library.ContentRole {
	for _, m := range s.members {
		if m.Principal == p && !m.Leaving {
			return m.Role
		}
	}
	return library.NoRole
}

func (s *principalState) role(p principal.ID) principal.GroupRole {
	for _, m := range s.members {
		if m.Principal == p && !m.Leaving {
			return m.Role
		}
	}
	return principal.NotInGroup
}

// check checks the answers: what was answered as done was so at some moment while it ran, what
// was refused never was, and nothing was done twice.
func (h *History) check(ops []*Operation, report func(kind, format string, args ...any)) {
	for _, o := range ops {
		if o.lease != nil || o.page != nil || o.paste != nil {
			continue // see checkLeases, checkPages and checkPastes
		}
		made := h.made(o)
		switch o.outcome {
		case answered:
			if !h.held(o) {
				report(lostChange, "%s was answered, but the item or principal was never as requested while it ran (steps %d to %d)", o, o.start, o.end)
			}
		case refused:
			if made > 0 {
				report(lostChange, "%s was refused with %v, and was made all the same", o, o.err)
			}
		}
		if made > 1 && (o.kind == opTitle || o.kind == opCreate || o.kind == opImport || o.kind == opDelete ||
			o.kind != opGroup && o.kind != opMail && o.kind.ofPrincipal()) {
			report(lostChange, "%s was made %d times", o, made)
		}
	}
	for _, c := range h.contents {
		if err := c.unbroken(); err != nil {
			report(brokenHeader, "%s: %v", c.id, err)
		}
	}
}

// made counts the states that an operation has made.
func (h *History) made(o *Operation) int {
	n := 0
	switch o.kind {
	case opTitle, opCreate, opImport:
		var before library.Content
		for _, s := range h.of(o.content).states {
			if s.op == o && (s.header.Title != before.Title || describes(&s.header.Content) != describes(&before)) {
				n++
			}
			before = s.header.Content
		}
	case opDeleteUser, opDeleteGroup:
		before := commit.Live
		for _, s := range h.ofPrincipal(o.group).states {
			if s.op == o && s.header.State == commit.Deleted && before != commit.Deleted {
				n++
			}
			before = s.header.State
		}
	case opGroup, opCreateUser, opUpdateUser, opMail, opCreateGroup, opUpdateGroup:
		for _, s := range h.ofPrincipal(o.group).states {
			if s.op == o {
				n++
			}
		}
	case opShare:
		// Shares that wait together are decided together, by one of them: checkRights checks whose
		// roles were set.
	default:
		for _, s := range h.of(o.content).states {
			if s.op == o {
				n++
			}
		}
	}
	return n
}

// held reports whether the requested state held at some moment while the operation ran.
func (h *History) held(o *Operation) bool {
	if o.kind == opRebuild || o.kind == opRead {
		return true
	}
	if o.kind.ofPrincipal() {
		return slices.ContainsFunc(h.ofPrincipal(o.group).during(o.start, o.end), func(s principalState) bool { return s.wanted(o) })
	}
	return slices.ContainsFunc(h.of(o.content).during(o.start, o.end), func(s contentState) bool { return s.wanted(o) })
}

func (s *principalState) wanted(o *Operation) bool {
	if o.kind.deletes() {
		return s.header.State == commit.Deleted
	}
	if o.kind == opMail {
		return s.header.State == commit.Live && s.header.Email == o.unique
	}
	if o.kind != opGroup {
		return s.header.State == commit.Live && s.header.DisplayName == o.title
	}
	return !slices.ContainsFunc(o.groupRows, func(m principal.GroupMemberRow) bool { return s.role(m.Principal) != m.Role })
}

// wanted reports whether the state is what the operation requests.
func (s *contentState) wanted(o *Operation) bool {
	h := &s.header
	if o.kind == opDelete {
		return h.State == commit.Deleted
	}
	if h.State != commit.Live {
		return false
	}
	switch o.kind {
	case opTitle, opCreate, opImport:
		return (o.title == "" || h.Title == o.title) && (o.about == "" || describes(&h.Content) == o.about) &&
			(o.kind != opTitle || o.visibility == 0 || h.Visibility == o.visibility)
	case opMove:
		return h.CanonicalURL == o.unique
	case opVisibility:
		return h.Visibility == o.visibility
	case opExpire:
		return h.ExpiresAt != nil && *h.ExpiresAt == o.expires
	case opShare:
		return !slices.ContainsFunc(o.members, func(m library.Member) bool { return s.role(m.Principal) < m.Role })
	default:
		return !slices.ContainsFunc(o.members, func(m library.Member) bool { return s.role(m.Principal) != m.Role })
	}
}

// unbroken checks the chain of an item's headers: each state follows the one
// before it and changes nothing that its operation did not ask for.
func (c *contentHistory) unbroken() error {
	for i := 1; i < len(c.states); i++ {
		a, b := &c.states[i-1].header, &c.states[i].header
		switch {
		case b.Seq != a.Seq+1:
			return fmt.Errorf("seq %d follows %d", b.Seq, a.Seq)
		case b.MTS <= a.MTS:
			return fmt.Errorf("mts %d follows %d at seq %d", b.MTS, a.MTS, b.Seq)
		case a.State == commit.Live && b.State == commit.Deleted:
			if err := mayEnd(a, c.states[i].op); err != nil {
				return fmt.Errorf("seq %d: %w", b.Seq, err)
			}
		case a.State == commit.Deleted && b.State != commit.Deleted:
			return fmt.Errorf("deleted, and back at seq %d", b.Seq)
		case a.State == commit.Live && b.State == commit.Live:
			if err := follows(&c.states[i-1], &c.states[i]); err != nil {
				return fmt.Errorf("seq %d: %w", b.Seq, err)
			}
		}
	}
	return nil
}

// mayEnd checks that an item ends by a delete, or by its expiry.
func mayEnd(h *library.Header, op *Operation) error {
	if op != nil && op.kind == opDelete || h.ExpiresAt != nil {
		return nil
	}
	return fmt.Errorf("deleted by %v", op)
}

// describes returns the description of an item, "" if there is none.
func describes(c *library.Content) string {
	if c.Description == nil {
		return ""
	}
	return *c.Description
}

// follows checks one step of a live item.
func follows(before, after *contentState) error {
	a, b, o := &before.header, &after.header, after.op
	shown, err := pageFollows(before, after)
	if err != nil {
		return nil // checkPages reports it
	}
	visible := shown || a.Title != b.Title || describes(&a.Content) != describes(&b.Content) || a.Visibility != b.Visibility
	if visible != (b.Version == a.Version+1) || visible != (b.LastModified > a.LastModified) || !visible && b.Version != a.Version {
		return fmt.Errorf("version %d to %d, last modified %d to %d, changed: %v", a.Version, b.Version, a.LastModified, b.LastModified, visible)
	}
	if a.Title != b.Title && !shown && (o == nil || o.kind != opTitle || b.Title != o.title) {
		return fmt.Errorf("title %q to %q by %v", a.Title, b.Title, o)
	}
	if about := describes(&b.Content); about != describes(&a.Content) && (o == nil || o.kind != opTitle || about != o.about) {
		return fmt.Errorf("described as %q by %v", about, o)
	}
	if a.Visibility != b.Visibility && (o == nil || o.kind != opVisibility && o.kind != opTitle || b.Visibility != o.visibility) {
		return fmt.Errorf("visibility %v to %v by %v", a.Visibility, b.Visibility, o)
	}
	if a.CanonicalURL != b.CanonicalURL && (o == nil || o.kind != opMove || b.CanonicalURL != o.unique) {
		return fmt.Errorf("url %q to %q by %v", a.CanonicalURL, b.CanonicalURL, o)
	}
	if a.Position != b.Position && (b.Position != b.LastModified || b.Position <= a.Position) {
		return fmt.Errorf("position %d to %d, last modified %d", a.Position, b.Position, b.LastModified)
	}
	if (a.ExpiresAt == nil) != (b.ExpiresAt == nil) && (o == nil || o.kind != opExpire) {
		return fmt.Errorf("expiresAt changed by %v", o)
	}
	return nil
}
