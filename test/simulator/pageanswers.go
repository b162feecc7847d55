package simulator

import (
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// editsPage reports whether an operation needs the right to edit.
func (o *Operation) editsPage() bool {
	return o.page != nil && o.kind != opSuggest && o.kind != opText && !(o.kind == opDecide && o.page.decision == note.Withdraw)
}

// checkPages checks the answers about texts.
func (h *History) checkPages(ops []*Operation, report func(kind, format string, args ...any)) {
	for _, c := range h.contents {
		for i := 1; i < len(c.states); i++ {
			before, after := &c.states[i-1], &c.states[i]
			if before.header.State != commit.Live || after.header.State != commit.Live {
				continue
			}
			shown, err := pageFollows(before, after)
			if err != nil {
				report(wrongText, "%s at seq %d: %v", c.id, after.header.Seq, err)
			}
			if moved := after.header.LastModified > before.header.LastModified; err == nil && shown && !moved {
				report(wrongText, "%s at seq %d: readers see the change by %v, and the item has not moved", c.id, after.header.Seq, after.op)
			}
		}
	}
	for _, o := range ops {
		if o.page == nil {
			continue
		}
		if wrong := h.verifyPage(o); wrong != "" {
			report(wrongText, "%v was answered %v: %s", o, o.err, wrong)
		}
	}
}

// madePage returns the states of a page that an operation has made.
func (h *History) madePage(o *Operation) (made []*pageState) {
	for _, c := range h.contents {
		for i := 1; i < len(c.states); i++ {
			if s := &c.states[i]; s.op == o && s.header.State == commit.Live && pageDiffers(&c.states[i-1], s) {
				if now, err := s.page(); err == nil {
					made = append(made, now)
				}
			}
		}
	}
	return made
}

// verifyPage returns what is wrong with an answer, or "".
func (h *History) verifyPage(o *Operation) string {
	made := h.madePage(o)
	switch {
	case o.kind == opText:
		return h.verifyText(o)
	case len(made) > 1:
		return fmt.Sprintf("it was made %d times", len(made))
	case o.outcome == refused && len(made) > 0:
		return "it was made all the same"
	case o.outcome == refused:
		return h.verifyPageRefused(o)
	case o.outcome != answered:
		return ""
	case len(made) == 0:
		return h.verifyNothing(o)
	}
	return o.verifyMade(made[0])
}

// verifyMade compares an answer with the state that the operation has made.
func (o *Operation) verifyMade(made *pageState) string {
	c := o.page
	if v := c.revision; v != nil {
		stored := made.revision(v.Branch, v.Locale, v.Number)
		if stored == nil || stored.title != v.Title || o.kind == opSave && stored.title != o.title {
			return fmt.Sprintf("revision %+v is stored as %+v", v.RevisionKey, stored)
		}
		if v.Number != made.line(v.Branch, v.Locale).last && o.kind != opPublish {
			return fmt.Sprintf("revision %d is not the one that was made", v.Number)
		}
	}
	if b := c.branched; b != nil && (o.kind == opBranch && b.Number != made.last || o.kind == opCurrent && b.Number != *c.branch) {
		return fmt.Sprintf("branch %d was made", made.last)
	}
	if g := c.suggestion; g != nil {
		if stored := made.suggestion(g.ID); stored == nil || stored.title != g.Title || o.kind == opDecide && stored.state == note.Open {
			return fmt.Sprintf("suggestion %s is stored as %+v", g.ID, stored)
		}
	}
	return ""
}

// verifyNothing checks an answer of an operation that has made no state: everything was as
// requested, at some moment.
func (h *History) verifyNothing(o *Operation) string {
	c := o.page
	for _, s := range h.pagesDuring(o) {
		switch {
		case o.kind == opPublish && s.line(*c.branch, c.locale).current == c.number,
			o.kind == opCurrent && c.working && s.working == *c.branch,
			o.kind == opCurrent && !c.working && s.current == *c.branch:
			return ""
		}
	}
	return "nothing was changed"
}

// pagesDuring returns the pages of the item at some moment while an operation ran.
func (h *History) pagesDuring(o *Operation) (pages []*pageState) {
	states := h.of(o.content).during(o.start, o.end)
	for i := range states {
		if states[i].header.State != commit.Live {
			continue
		}
		if now, err := states[i].page(); err == nil {
			pages = append(pages, now)
		}
	}
	return pages
}

// verifyPageRefused checks a refusal: its reason must have existed while the operation ran.
func (h *History) verifyPageRefused(o *Operation) string {
	c := o.page
	conflict := func(is func(s *pageState) bool) string {
		if slices.ContainsFunc(h.pagesDuring(o), is) {
			return ""
		}
		return "there was no conflict at any moment"
	}
	switch {
	case fault.ReasonOf(o.err) == fault.ReasonRevision && o.kind == opSave:
		return conflict(func(s *pageState) bool { return c.base != nil && s.line(c.branchIn(s), c.locale).current != *c.base })
	case fault.ReasonOf(o.err) == fault.ReasonRevision:
		return conflict(func(s *pageState) bool {
			g := s.suggestion(c.of)
			return g != nil && !c.force && s.line(g.branch, g.locale).current != g.base
		})
	case fault.ReasonOf(o.err) == fault.ReasonVersion:
		return conflict(func(s *pageState) bool { g := s.suggestion(c.of); return g != nil && g.state != note.Open })
	case fault.CodeOf(o.err) == fault.Forbidden && o.editsPage():
		states := h.of(o.content).during(o.start, o.end)
		if !slices.ContainsFunc(states, func(s contentState) bool { return s.role(o.viewer) < library.Editing }) {
			return "its actor was allowed to edit the item all the time"
		}
	case fault.CodeOf(o.err) == fault.NotFound && h.foundThroughout(o):
		return "all that it names was there all the time"
	}
	return ""
}

// foundThroughout reports whether everything that an operation names was there as long as it
// ran, and its actor managed the item.
func (h *History) foundThroughout(o *Operation) bool {
	c, states := o.page, h.of(o.content).during(o.start, o.end)
	if slices.ContainsFunc(states, func(s contentState) bool { return s.header.State != commit.Live || s.role(o.viewer) != library.Manages }) {
		return false
	}
	return !slices.ContainsFunc(h.pagesDuring(o), func(s *pageState) bool {
		branch := c.branchIn(s)
		return branch > s.last || c.copyFrom != nil && *c.copyFrom > s.last ||
			o.kind == opPublish && s.revision(branch, c.locale, c.number) == nil || o.kind == opDecide && s.suggestion(c.of) == nil
	})
}

// verifyText checks a text that was read: it was current while it was read, and it has the body
// that was saved.
func (h *History) verifyText(o *Operation) string {
	if o.outcome != answered {
		if fault.CodeOf(o.err) == fault.NotFound && h.liveThroughout(o) {
			return "the item existed all the time"
		}
		return ""
	}
	pages, v := h.pagesDuring(o), o.page.revision
	if v == nil {
		if len(pages) > 0 && h.shownThroughout(o, pages) {
			return "there was a text all the time"
		}
		return ""
	}
	if o.page.body != bodyOf(v.Title, false) && o.page.body != bodyOf(v.Title, true) {
		return fmt.Sprintf("the text of %q is %.40q", v.Title, o.page.body)
	}
	shown := func(s *pageState) bool { return s.current == v.Branch }
	current := func(s *pageState) bool { return s.line(v.Branch, v.Locale).current == v.Number }
	stored := func(s *pageState) bool {
		r := s.revision(v.Branch, v.Locale, v.Number)
		return r != nil && r.title == v.Title
	}
	for _, is := range []func(*pageState) bool{shown, current, stored} {
		if !slices.ContainsFunc(pages, is) {
			return fmt.Sprintf("revision %+v, %q, was not current at any moment", v.RevisionKey, v.Title)
		}
	}
	return ""
}

// liveThroughout reports whether the item of an operation existed as long as it ran.
func (h *History) liveThroughout(o *Operation) bool {
	states := h.of(o.content).during(o.start, o.end)
	return !slices.ContainsFunc(states, func(s contentState) bool { return s.header.State != commit.Live })
}

// shownThroughout reports whether everybody was shown a text of the item in the requested
// locale for as long as the operation ran, in one branch.
func (h *History) shownThroughout(o *Operation, pages []*pageState) bool {
	states := h.of(o.content).during(o.start, o.end)
	if slices.ContainsFunc(states, func(s contentState) bool {
		return s.header.State != commit.Live || s.header.Visibility != principal.Public
	}) {
		return false
	}
	return !slices.ContainsFunc(pages, func(s *pageState) bool {
		return s.current != pages[0].current || s.line(s.current, o.page.locale).current == note.None
	})
}
