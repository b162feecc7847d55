package simulator

import (
	"context"
	"fmt"
	"time"

	"carrel/core/commit"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// pageSeed is the first seed of a schedule about the texts of items. The seeds that
// leaseShare divides are about leases, and those in the middle between them about texts.
const pageSeed = leaseShare / 2

// isAboutPages reports whether a seed is that of a schedule about the texts of items.
func isAboutPages(seed uint64) bool { return seed%leaseShare == pageSeed }

// pageKinds are the operations of such a schedule, with their weights. Some change items, but not
// their texts.
var pageKinds = [...]opKind{opSave, opSave, opSave, opSave, opSave, opSave, opPublish, opPublish, opPublish, opBranch,
	opBranch, opCurrent, opCurrent,
	opSuggest, opDecide, opDecide, opDecide, opDecide, opDecide, opText, opText, opTitle, opVisibility, opMembers, opShare, opDelete}

// buildForPages fills an empty store with a world in which items have texts. Bob edits the
// first one, in many schedules.
func (st *Store) buildForPages(s *Scheduler) world {
	w := world{principals: []principal.ID{ann, bob, cid}, contents: []library.ContentID{item}, groups: []principal.ID{crew}}
	created := st.addEverybody(w.principals)
	members := []library.Member{{Principal: ann, Role: library.Manages, Seq: 1}}
	if s.chance(700) {
		members = append(members, library.Member{Principal: bob, Role: library.Editing, Seq: 1})
	}
	if s.chance(512) {
		members = putMembers(members, []library.Member{{Principal: cid, Role: library.Viewing, Seq: 1}})
	}
	visibility := principal.Public
	if s.chance(200) {
		visibility = principal.Private
	}
	st.putContent(item, visibility, members, created)
	st.makeNote(item)
	return w
}

// makeNote makes an item a note, from its beginning.
func (st *Store) makeNote(id library.ContentID) {
	p := st.makeContent(id)
	p.header.Kind, p.header.Link = library.Note, nil
	if st.history != nil {
		states := st.history.of(id).states
		states[len(states)-1].header = p.header
	}
}

// drawPages draws the parameters of a schedule about texts.
func (r *run) drawPages() {
	s := r.s
	r.drawTuning()
	users := 2 + s.pick(2)
	r.ops = r.planPages(4 + s.pick(7))
	r.drawFaults()
	s.slow = []uint64{0, 300, 300}[s.pick(3)]
	r.brisk = s.chance(400)
	r.together = s.chance(300)
	r.assign(users)
	r.scrubs = s.chance(200)
	r.after = r.scrubTexts
}

// scrubber is a process that takes the scrubber's steps over texts, a few times.
func (r *run) scrubber() {
	p := r.process("scrubber")
	p.a.Spawn(nil, func() {
		if p.boot(r.ctx, r.tune) != nil {
			return
		}
		for range 3 + r.s.pick(6) {
			_ = p.a.After(r.ctx, time.Duration(r.s.pick(1<<r.s.pick(31)))*time.Nanosecond)
			_, _, _, _ = p.svc.Notes.Upkeep.ScrubTexts(r.ctx, note.TextID{}, 50)
		}
	})
}

// planPages draws the operations of a schedule that is about texts.
func (r *run) planPages(n int) []*Operation {
	s, w := r.s, &r.w
	ops := make([]*Operation, n)
	keyed := []uint64{0, 200, 500}[s.pick(3)]
	long := []uint64{0, 512, 1024}[s.pick(3)]
	locales := 1 + s.pick(2)
	for i := range ops {
		o := &Operation{n: i + 1, viewer: []principal.ID{ann, ann, bob}[s.pick(3)], content: w.contents[0]}
		if o.kind = pageKinds[s.pick(len(pageKinds))]; i < 2 {
			o.kind, o.viewer = opSave, ann
		} else if i == 2 && s.chance(512) {
			o.kind = opSuggest
		}
		if o.kind == opDelete && s.chance(700) {
			o.kind = opSave
		}
		if o.kind.ofPage() || o.kind == opText {
			o.title = fmt.Sprintf("title-%d", o.n)
			o.page = drawPage(s, o.kind, locales)
			o.page.long = s.chance(long)
			if o.kind == opSuggest || o.kind == opText {
				o.viewer = []principal.ID{ann, bob, cid}[s.pick(3)]
			}
		} else {
			o.viewer = ann
			w.fill(s, o)
		}
		if s.chance(keyed) && (!o.kind.ofPage() || o.kind == opSave || o.kind == opBranch || o.kind == opSuggest) && o.kind != opText {
			o.key = keyFor(i)
		}
		ops[i] = o
	}
	return ops
}

// drawPage draws the input of an operation on a text.
func drawPage(s *Scheduler, kind opKind, locales int) *pageCall {
	c := &pageCall{locale: []string{"en", "de"}[s.pick(locales)], aimed: s.chance(800)}
	branch := func(chance uint64) *int {
		if !s.chance(chance) {
			return nil
		}
		n := 1 + s.pick(2)
		return &n
	}
	switch kind {
	case opSave:
		c.branch, c.publish, c.based = branch(300), s.chance(600), s.chance(300)
		if !c.based && s.chance(200) {
			n := s.pick(3)
			c.base = &n
		}
	case opPublish:
		c.branch, c.number = branch(1024), s.pick(3)
	case opBranch:
		c.copyFrom = branch(700)
	case opCurrent:
		c.branch, c.working = branch(1024), s.chance(450)
	case opSuggest:
		c.branch = branch(200)
	case opDecide:
		c.decision, c.force = []note.Decision{note.Accept, note.Accept, note.Accept, note.Reject, note.Withdraw}[s.pick(5)], s.chance(400)
	}
	return c
}

// scrubTexts has the scrubber check everything two hours later, and checks what remains: the
// texts that rows refer to, and no others.
func (r *run) scrubTexts(ctx context.Context, p *process) error {
	r.s.now += 2 * time.Hour
	if err := scrubAll(ctx, p.svc); err != nil {
		return err
	}
	named := map[note.TextID]bool{}
	for _, c := range r.st.contents {
		now, err := decodePage(c.header.Page, c.rows)
		if err != nil {
			r.report(wrongText, "%s: %v", c.id, err)
			continue
		}
		for _, t := range now.texts() {
			if c.header.State != commit.Live {
				r.report(leftOver, "%s is deleted and has %v", c.id, t)
			}
			if t.id != (note.TextID{}) {
				named[t.id] = true
			}
			if body := r.st.bodyOf(t); body != bodyOf(t.title, false) && body != bodyOf(t.title, true) {
				r.report(wrongText, "%s: the text of %q is %.40q", c.id, t.title, body)
			}
		}
	}
	for _, t := range r.st.texts {
		if !named[t.ID] {
			r.report(leftOver, "the text %s of %s, %q, is garbage", t.ID, t.Item, t.Row.Key)
		}
	}
	return nil
}

// bodyOf returns the body of a text; "" if it is not stored.
func (st *Store) bodyOf(t pageText) string {
	if t.id == (note.TextID{}) {
		return t.body
	}
	return at(st.texts, t.id, compareText).Body
}
