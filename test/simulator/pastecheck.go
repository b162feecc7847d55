package simulator

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/paste"
)

// pasteAnswered checks the answer of an operation on pastes, at the moment of the answer.
func (r *run) pasteAnswered(o *Operation) {
	c := o.paste
	if o.kind == opPaste && o.err == nil && c.secret != "" {
		r.pastes = append(r.pastes, &pasted{c.got.ID, c.secret, c.expires})
	}
	if wrong := r.verifyPaste(o); wrong != "" {
		r.report(wrongPaste, "%v was answered %v: %s", o, o.err, wrong)
	}
}

// verifyPaste returns what is wrong with an answer, or "".
func (r *run) verifyPaste(o *Operation) string {
	switch {
	case o.err != nil:
		return r.verifyPasteRefused(o)
	case o.kind == opPaste:
		return r.verifyCreatedPaste(o)
	case o.kind == opEditPaste:
		return r.verifyUpdatedPaste(o)
	case o.kind == opDeletePaste:
		return r.verifyDeletedPaste(o)
	case o.kind == opReadPaste:
		return r.verifyReadPaste(o)
	default:
		return r.verifyLatest(o)
	}
}

// verifyCreatedPaste checks the success of createPaste.
func (r *run) verifyCreatedPaste(o *Operation) string {
	c := o.paste
	p := r.hist.ofPaste(c.got.ID)
	if len(p.states) < 2 {
		return "nothing is stored"
	}
	for _, other := range r.hist.pastes {
		if other != p && len(other.states) > 1 && other.states[1].op == o && other.states[1].state == commit.Live {
			return fmt.Sprintf("it has also created %s", other.id)
		}
	}
	first := &p.states[1]
	switch {
	case c.secret == "" && !o.repeated && o.key == nil:
		return "the secret was not returned"
	case c.secret != "" && sha256.Sum256([]byte(c.secret)) != first.secret:
		return "the secret is not the one that is stored"
	case c.got.CreatedAt != first.created:
		return "it has another time of creation"
	case first.title != o.title || first.body != o.pasteBody() || first.author != o.viewer:
		return fmt.Sprintf("stored is %+v", *first)
	}
	if r.st.struck == c.struck && !o.repeated && len(p.states) == 2 && first.listed() && r.st.feedHas(p) == 0 {
		return "nothing went wrong, and it is not listed"
	}
	return ""
}

// verifyUpdatedPaste checks the success of updatePaste: the paste had the requested state, and
// has the one that was returned.
func (r *run) verifyUpdatedPaste(o *Operation) string {
	c := o.paste
	if c.foreign {
		return "it came with another secret"
	}
	ok := r.hist.ofPaste(c.of.id).some(o.start, o.end, func(s *pasteState) bool {
		return s.state == commit.Live && s.version == c.got.Version && s.shows(c.got) &&
			(!c.retitles || s.title == o.title) && (!c.toggles || s.private == c.private) &&
			(!c.postpones || s.expires == c.expires) && (!c.rewrites || s.body == o.pasteBody())
	})
	if !ok {
		return fmt.Sprintf("the paste was never as requested while it ran: %+v", r.hist.ofPaste(c.of.id).during(o.start, o.end))
	}
	return ""
}

// verifyDeletedPaste checks the success of deletePaste.
func (r *run) verifyDeletedPaste(o *Operation) string {
	p := r.hist.ofPaste(o.paste.of.id)
	if o.paste.foreign {
		return "it came with another secret"
	}
	end := slices.IndexFunc(p.states, func(s pasteState) bool { return s.state == commit.Deleted })
	if end < 0 {
		return "it was never deleted"
	}
	if r.st.struck != o.paste.struck {
		return ""
	}
	last := paste.BodyRef{Paste: p.id, Body: p.states[end-1].long}
	if _, found := find(r.st.bodies, last, compareBody); found {
		return fmt.Sprintf("nothing went wrong, and its body %x is stored", last.Body)
	}
	return ""
}

// shows reports whether an answer shows a state, except for the body.
func (s *pasteState) shows(got *paste.Paste) bool {
	var expires clock.Instant
	if got.ExpiresAt != nil {
		expires = *got.ExpiresAt
	}
	return got.Title != nil && *got.Title == s.title && got.IsPrivate == s.private && expires == s.expires &&
		got.CreatedAt == s.created && got.ModifiedAt == s.modified
}

// verifyPasteRefused checks an error.
func (r *run) verifyPasteRefused(o *Operation) string {
	c := o.paste
	if o.outcome == uncertain || fault.CodeOf(o.err) == fault.Unavailable || fault.ReasonOf(o.err) == fault.ReasonContention {
		return ""
	}
	if c.of == nil {
		switch {
		case o.kind == opPaste && c.lasts > 0 && c.lasts <= 10*time.Second:
			return "" // its time has come while it was tried, or before it was repeated
		}
		return "no such error was to be expected"
	}
	p := r.hist.ofPaste(c.of.id)
	switch {
	case fault.ReasonOf(o.err) == fault.ReasonWrongSecret:
		if !c.foreign {
			return "it came with the secret"
		}
	case fault.CodeOf(o.err) == fault.NotFound:
		if !p.some(o.start, o.end, func(s *pasteState) bool { return !s.readable(r.latestClock()) }) {
			return "the paste was there all the time"
		}
	case c.foreign:
		return "it came with another secret"
	case fault.ReasonOf(o.err) == fault.ReasonVersion:
		if c.version == nil || !p.some(o.start, o.end, func(s *pasteState) bool { return s.state == commit.Live && s.version != *c.version }) {
			return "the paste had the version that was expected"
		}
	case c.postpones && c.lasts > 0 && c.expires <= r.latestClock():
	default:
		return "no such error was to be expected"
	}
	return ""
}

// verifyReadPaste checks what a reader of one paste saw.
func (r *run) verifyReadPaste(o *Operation) string {
	c := o.paste
	p := r.hist.ofPaste(c.of.id)
	if c.got == nil || c.body == nil {
		if !p.some(o.start, o.end, func(s *pasteState) bool { return !s.readable(r.latestClock()) }) {
			return "the paste was there all the time"
		}
		if c.got == nil {
			return ""
		}
	}
	if !p.some(o.start, o.end, func(s *pasteState) bool {
		return s.readable(c.began.Add(-backwards)) && s.version == c.got.Version && s.shows(c.got)
	}) {
		return fmt.Sprintf("the paste was never as it was shown while it ran: %+v", *c.got)
	}
	if c.body != nil && !p.some(o.start, o.end, func(s *pasteState) bool { return s.state == commit.Live && s.body == *c.body }) {
		return fmt.Sprintf("the body was never %.40q while it ran", *c.body)
	}
	return ""
}

// verifyLatest checks what a reader of the list saw: only pastes that were public and had not
// expired, in order, each once, and all those that were there throughout.
func (r *run) verifyLatest(o *Operation) string {
	c := o.paste
	for i, e := range c.seen {
		p := r.hist.ofPaste(e.paste.ID)
		if !p.some(e.start, e.end, func(s *pasteState) bool {
			return s.listed() && s.readable(e.began.Add(-backwards)) && s.version == e.paste.Version && s.shows(e.paste)
		}) {
			return fmt.Sprintf("%s was not public then: %+v, in steps %d to %d", e.paste.ID, p.during(e.start, e.end), e.start, e.end)
		}
		if i > 0 && comparePastes(c.seen[i-1].paste, e.paste) <= 0 {
			return fmt.Sprintf("%s comes after %s", e.paste.ID, c.seen[i-1].paste.ID)
		}
	}
	for _, id := range c.calm {
		p := r.hist.ofPaste(id)
		if len(p.during(o.start, o.end)) > 1 || !p.now().readable(r.latestClock()) {
			continue
		}
		if !slices.ContainsFunc(c.seen, func(e seenPaste) bool { return e.paste.ID == id }) {
			return fmt.Sprintf("%s was public all the time, and was not listed", id)
		}
	}
	return ""
}

// comparePastes orders pastes from the oldest on.
func comparePastes(a, b *paste.Paste) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// calmPastes returns the pastes that are listed, of which no change is in flight, and that a process must therefore
// show: those whose entry it has put itself, and those that another process had put feed.ShownWithin before.
func (r *run) calmPastes(reader *process) []paste.ID {
	if len(r.st.late) > 0 {
		return nil
	}
	var calm []paste.ID
	for _, p := range r.hist.pastes {
		now := p.now()
		if !now.listed() || !now.readable(r.latestClock()) || r.pasteBusy(p.id) {
			continue
		}
		if p.putBy != reader.a && p.putAt > r.s.now-feed.ShownWithin {
			continue
		}
		calm = append(calm, p.id)
	}
	return calm
}

// pasteBusy reports whether a change of a paste is under way.
func (r *run) pasteBusy(id paste.ID) bool {
	for _, o := range r.ops {
		if o.paste == nil || o.start == 0 || o.end != 0 {
			continue
		}
		if o.paste.of == nil && o.kind == opPaste || o.paste.of != nil && o.paste.of.id == id && o.kind != opReadPaste {
			return true
		}
	}
	for _, l := range r.st.inFlightLists {
		if !l.live {
			continue
		}
		entries, _ := commit.Decode(l.block) // the product wrote them
		if slices.ContainsFunc(entries, func(e commit.Entry) bool { return e.Key == string(id) }) {
			return true
		}
	}
	return false
}

// feedHas counts the entries of a paste in the feed.
func (st *Store) feedHas(p *pasteHistory) int {
	n := 0
	for _, c := range st.feeds {
		if c.live && c.p.Feed == "pastes" && c.entry.ID == string(p.id) {
			n++
		}
	}
	return n
}

// checkPastes checks at the end what was changed by whom.
func (r *run) checkPastes() {
	for _, what := range r.hist.broken {
		r.report(wrongPaste, "%s", what)
	}
	for _, p := range r.hist.pastes {
		for _, s := range p.states {
			if o := s.op; o != nil && o.paste != nil && o.outcome == refused && o.kind.changesPastes() && s.state == commit.Live && !s.fences(p) {
				r.report(wrongPaste, "%s: seq %d was stored by %v, which was refused: %v", p.id, s.seq, o, o.err)
			}
		}
	}
	r.checkCreated(opPaste, wrongPaste, func(o *Operation) string { return string(o.paste.got.ID) })
}

// fences reports whether a state is a fence, which shows the same as the state before it.
func (s *pasteState) fences(p *pasteHistory) bool {
	return slices.ContainsFunc(p.states, func(before pasteState) bool { return before.seq == s.seq-1 && before.version == s.version })
}

// changesPastes reports whether the operation changes a paste.
func (k opKind) changesPastes() bool { return k == opPaste || k == opEditPaste || k == opDeletePaste }
