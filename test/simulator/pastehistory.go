package simulator

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/paste"
	"carrel/principal"
)

// pasteHistory is every state of a paste.
type pasteHistory struct {
	id     paste.ID
	states []pasteState
	// listedAt is when the feed had an entry of the paste first, in true time; 0: never.
	listedAt time.Duration
	// putAt is when the feed was given the entry last, and putBy the process that did.
	putAt time.Duration
	putBy *Actor
	// connected are the followers that were connected when the paste was stored.
	connected []*pasteFollower
}

// pasteState is a state of a paste, in force until the next one. A removed row has seq 0.
type pasteState struct {
	step       int
	at         time.Duration // true time
	seq        int64
	state      commit.State
	private    bool
	bornPublic bool
	secret     [sha256.Size]byte
	author     principal.ID
	mts        clock.Instant
	created    clock.Instant
	modified   clock.Instant
	expires    clock.Instant // 0: never
	version    int
	title      string
	body       string
	long       paste.BodyID
	op         *Operation
}

// listed reports whether a state is one that the feed shows until it expires.
func (s *pasteState) listed() bool { return s.state == commit.Live && !s.private }

// readable reports whether a state is there for readers by some clock that shows now.
func (s *pasteState) readable(now clock.Instant) bool {
	return s.state == commit.Live && (s.expires == 0 || s.expires > now)
}

func (h *History) ofPaste(id paste.ID) *pasteHistory {
	return historyOf(&h.pastes, func(p *pasteHistory) bool { return p.id == id },
		func() *pasteHistory { return &pasteHistory{id: id, states: []pasteState{{}}} })
}

// now returns the last state.
func (p *pasteHistory) now() *pasteState { return &p.states[len(p.states)-1] }

// during returns the states in force at some moment from step start to step end.
func (p *pasteHistory) during(start, end int) []pasteState {
	return inForce(p.states, start, end, func(s pasteState) int { return s.step })
}

// some reports whether a state in force from step start to step end is as wanted.
func (p *pasteHistory) some(start, end int, wanted func(s *pasteState) bool) bool {
	return slices.ContainsFunc(p.during(start, end), func(s pasteState) bool { return wanted(&s) })
}

// pasteChanged records a new state of a paste.
func (st *Store) pasteChanged(r paste.Row, by *Operation) {
	h := st.history
	if h == nil {
		return
	}
	p := h.ofPaste(r.ID)
	before, after := p.now(), readPasteRow(r)
	after.step, after.at, after.op = h.s.steps, h.s.now, by
	st.tracef("  %s: seq %d state %d version %d private %t expires %d mts %d", r.ID, after.seq, after.state, after.version,
		after.private, after.expires, after.mts)
	wrong := h.mayFollowPaste(p, before, &after)
	if after.long != (paste.BodyID{}) {
		ref := paste.BodyRef{Paste: r.ID, Body: after.long}
		if i, found := find(st.bodies, ref, compareBody); found {
			after.body = st.bodies[i].text
		} else if wrong == "" {
			wrong = "its body is not stored"
		}
	}
	if wrong != "" {
		h.broken = append(h.broken, fmt.Sprintf("%s: seq %d by %v follows seq %d: %s", p.id, after.seq, by, before.seq, wrong))
	}
	if before.state == 0 {
		for _, f := range h.connected {
			if !f.p.a.dead {
				p.connected = append(p.connected, f)
			}
		}
	}
	p.states = append(p.states, after)
}

// readPasteRow reads the parts of a row that the checks need. The text of a long body is not in
// it.
func readPasteRow(r paste.Row) pasteState {
	if r.Seq == 0 {
		return pasteState{}
	}
	in := commit.NewReader(r.Data)
	in.Byte() // the version
	s := pasteState{seq: r.Seq, state: commit.State(in.Byte())}
	flags := in.Byte()
	s.private, s.bornPublic = flags&1 != 0, flags&2 != 0
	in.Fill(s.secret[:])
	s.author = principal.ID(in.Text())
	s.mts, s.created, s.modified = clock.Instant(in.Int()), clock.Instant(in.Int()), clock.Instant(in.Int())
	s.version = int(in.Uint())
	if flags&8 != 0 {
		s.expires = clock.Instant(in.Int())
	}
	if flags&4 != 0 {
		s.title = in.Text()
	}
	in.Uint() // the length of the body
	if flags&16 != 0 {
		in.Fill(s.long[:])
	} else {
		s.body = in.Text()
	}
	return s
}

// mayFollowPaste returns why a state of a paste must not follow another one, or "".
func (h *History) mayFollowPaste(p *pasteHistory, before, after *pasteState) string {
	switch {
	case before.seq == 0:
		return h.mayBegin(p, after)
	case after.seq == 0:
		if before.state == commit.Live || before.modified.Add(day) > h.latest() {
			return "it was removed too soon"
		}
		return ""
	case after.seq != before.seq+1:
		return "a number was skipped"
	case after.mts <= before.mts:
		return "its timestamp does not rise"
	case after.created != before.created:
		return "it has another time of creation"
	case before.state != commit.Live && after.state != before.state:
		return "it had ended"
	case before.state != commit.Live:
		return ""
	case after.state == commit.Void:
		return "a paste does not become void"
	case after.state == commit.Deleted:
		return h.mayEnd(p, before, after)
	case after.secret != before.secret || after.author != before.author || after.bornPublic != before.bornPublic:
		return "an immutable field has changed"
	}
	return mayChange(p, before, after)
}

// mayBegin checks the first state of a paste, or of one whose row was removed.
func (h *History) mayBegin(p *pasteHistory, after *pasteState) string {
	o := after.op
	switch {
	case after.seq != 1:
		return "a paste starts at seq 1"
	case len(p.states) > 1 && after.state == commit.Live:
		return "it has been there before"
	case after.state == commit.Void:
		return ""
	case after.state != commit.Live || after.version != 1 || after.bornPublic == after.private:
		return "no paste starts like this"
	case o == nil || o.kind != opPaste:
		return "no operation has requested it"
	case after.title != o.title || after.private != o.paste.private || after.expires != o.paste.expires:
		return "it is not what was requested"
	}
	return ""
}

// mayEnd checks the end of a paste: somebody with its secret has deleted it, or it has expired.
func (h *History) mayEnd(p *pasteHistory, before, after *pasteState) string {
	o := after.op
	switch {
	case after.version != before.version+1:
		return "its version does not rise"
	case after.title != "" || after.body != "" || after.secret != [sha256.Size]byte{} || after.author != "":
		return "some of its content remains"
	case before.expires != 0 && before.expires <= h.latest():
		return ""
	case o == nil || o.kind != opDeletePaste || o.paste.of.id != p.id || o.paste.foreign:
		return "nobody has deleted it, and its time has come on no clock"
	}
	return ""
}

// mayChange checks a change of a paste, or a state that fences one.
func mayChange(p *pasteHistory, before, after *pasteState) string {
	same := *after
	same.step, same.at, same.seq, same.mts, same.op, same.body = before.step, before.at, before.seq, before.mts, before.op, before.body
	if same == *before {
		return "" // a fence
	}
	o := after.op
	switch {
	case o == nil || o.kind != opEditPaste || o.paste.of.id != p.id || o.paste.foreign:
		return "no operation with its secret has requested it"
	case after.version != before.version+1:
		return "its version does not rise by one"
	case o.paste.version != nil && *o.paste.version != before.version:
		return "another version was expected"
	case !o.paste.retitles && after.title != before.title, !o.paste.toggles && after.private != before.private,
		!o.paste.postpones && after.expires != before.expires, !o.paste.rewrites && after.long != before.long:
		return "something has changed that no operation requested"
	}
	return ""
}

// feedChanged notes when and by whom the feed was given a paste.
func (st *Store) feedChanged(id string, by *Actor) {
	if st.history == nil || !strings.HasPrefix(id, "p:") {
		return
	}
	p := st.history.ofPaste(paste.ID(id))
	if p.putAt, p.putBy = st.s.now, by; p.listedAt == 0 {
		p.listedAt = st.s.now
	}
}
