package simulator

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/page"
	"carrel/principal"
)

// pageFollows checks what one step of a live item does to its page: what the operation that
// made it asks for, and nothing else. changed reports that readers see it.
func pageFollows(before, after *contentState) (changed bool, err error) {
	o := after.op
	if o == nil || o.page == nil || !pageDiffers(before, after) {
		if !samePage(before, after) {
			return false, fmt.Errorf("its page was changed by %v", o)
		}
		return false, nil
	}
	was, err := before.page()
	if err != nil {
		return false, err
	}
	is, err := after.page()
	if err != nil {
		return false, err
	}
	want, title := was.clone(), before.header.Title
	step := pageStep{o: o, want: want, is: is, title: &title}
	if err := step.apply(); err != nil {
		return false, err
	}
	if got, want := describePage(is), describePage(want); got != want {
		return false, fmt.Errorf("%v made the page\n\t%s, not\n\t%s, of\n\t%s", o, got, want, describePage(was))
	}
	if must := is.mustShow(); is.shown != must {
		return false, fmt.Errorf("%v made a head that shows %s, not %s", o, is.shown, must)
	}
	if after.header.Title != title {
		return false, fmt.Errorf("%v made the title %q, not %q", o, after.header.Title, title)
	}
	return step.visible, nil
}

// pageDiffers reports whether a step may be a change of a page: what follows it in the
// background is not.
func pageDiffers(before, after *contentState) bool {
	return !samePage(before, after) || before.header.Version != after.header.Version || before.header.Title != after.header.Title
}

func samePage(before, after *contentState) bool {
	return bytes.Equal(before.header.Page, after.header.Page) && slices.EqualFunc(before.rows, after.rows, func(a, b library.Row) bool {
		return a.RowKey == b.RowKey && bytes.Equal(a.Value, b.Value)
	})
}

// describePage tells a page, with its rows in one order.
func describePage(s *pageState) string {
	var rows []string
	for _, l := range s.lines {
		rows = append(rows, fmt.Sprintf("line %v", l))
	}
	for _, v := range s.revisions {
		v.body = ""
		rows = append(rows, fmt.Sprintf("revision %v", v))
	}
	for _, g := range s.suggestions {
		rows = append(rows, fmt.Sprintf("suggestion %v", g))
	}
	slices.Sort(rows)
	return fmt.Sprintf("%t %q %d %d %d %d %v %s", s.begun, s.own, s.last, s.current, s.working, s.open, s.copied, strings.Join(rows, ", "))
}

// pageStep applies an operation to the page that there was before it, by BEHAVIOUR 6 in its
// own words. Ids of texts are drawn by the product, so they are taken from what is.
type pageStep struct {
	o        *Operation
	want, is *pageState
	title    *string
	visible  bool
}

func (p *pageStep) apply() error {
	c, w := p.o.page, p.want
	branch := c.branchIn(w)
	if branch < 1 || branch > w.last {
		return fmt.Errorf("%v: there was no branch %d", p.o, branch)
	}
	switch p.o.kind {
	case opSave:
		if l := w.line(branch, c.locale); c.base != nil && *c.base != l.current {
			return fmt.Errorf("%v: revision %d was current", p.o, l.current)
		}
		base := page.None
		if c.base != nil {
			base = *c.base
		}
		p.revise(branch, c.locale, pageRevision{pageText: pageText{title: p.o.title}, base: base}, c.publish)
	case opPublish:
		v, l := w.revision(branch, c.locale, c.number), w.line(branch, c.locale)
		if v == nil {
			return fmt.Errorf("%v: there was no such revision", p.o)
		}
		l.current = c.number
		w.put(l)
		p.show(branch, c.locale, v.title)
	case opBranch:
		return p.fork()
	case opCurrent:
		return p.switchTo(branch)
	case opSuggest:
		for _, g := range p.is.suggestions {
			if w.suggestion(g.id) == nil {
				w.suggestions = append(w.suggestions, pageSuggestion{
					id: g.id, branch: branch, locale: c.locale, pageText: pageText{title: p.o.title, id: g.pageText.id}, author: p.o.viewer,
					base: w.line(branch, c.locale).current, state: page.Open, revision: page.None,
				})
				w.open++
			}
		}
	case opDecide:
		return p.decide()
	}
	return nil
}

// revise adds a revision to a locale, with the next number.
func (p *pageStep) revise(branch int, locale string, v pageRevision, publish bool) int {
	w, l := p.want, p.want.line(branch, locale)
	v.branch, v.locale, v.number, v.author = branch, locale, l.last+1, p.o.viewer
	if made := p.is.revision(branch, locale, v.number); made != nil && v.id == (page.TextID{}) {
		v.id = made.id
	}
	l.last, l.working = v.number, v.number
	if !w.begun {
		w.begun, w.own = true, locale
	}
	if publish {
		l.current = v.number
		p.show(branch, locale, v.title)
	}
	w.put(l)
	w.revisions = append(w.revisions, v)
	return v.number
}

// show has visitors see a title.
func (p *pageStep) show(branch int, locale, title string) {
	if branch != p.want.current {
		return
	}
	p.visible = true
	if locale == p.want.own {
		*p.title = title
	}
}

// fork adds a branch, with the current texts of another one.
func (p *pageStep) fork() error {
	w, from := p.want, 0
	if p.o.page.copyFrom != nil {
		if from = *p.o.page.copyFrom; from > w.last {
			return fmt.Errorf("%v: there was no branch %d", p.o, from)
		}
	}
	w.last++
	w.copied = append(w.copied, from)
	for _, l := range slices.Clone(w.lines) {
		if l.branch != from || l.current == page.None {
			continue
		}
		v := *w.revision(from, l.locale, l.current)
		v.branch, v.number, v.base, v.suggestion = w.last, 0, page.None, ""
		w.revisions = append(w.revisions, v)
		w.put(pageLine{branch: w.last, locale: l.locale})
	}
	return nil
}

// switchTo makes another branch the current or the working one.
func (p *pageStep) switchTo(branch int) error {
	w := p.want
	if p.o.page.working {
		w.working = branch
		return nil
	}
	if !slices.ContainsFunc(w.lines, func(l pageLine) bool { return l.branch == branch && l.current != page.None }) {
		return fmt.Errorf("%v: nothing was published in branch %d", p.o, branch)
	}
	p.visible = w.current != branch
	w.current = branch
	if l := w.line(branch, w.own); l.current != page.None {
		*p.title = w.revision(branch, w.own, l.current).title
	}
	return nil
}

// decide ends a suggestion.
func (p *pageStep) decide() error {
	c, g := p.o.page, p.want.suggestion(p.o.page.of)
	if g == nil || g.state != page.Open {
		return fmt.Errorf("%v: the suggestion was %+v", p.o, g)
	}
	p.want.open--
	g.by = p.o.viewer
	switch c.decision {
	case page.Accept:
		if l := p.want.line(g.branch, g.locale); !c.force && l.current != g.base {
			return fmt.Errorf("%v: revision %d was current, and its base %d", p.o, l.current, g.base)
		}
		g.state = page.Accepted
		g.revision = p.revise(g.branch, g.locale, pageRevision{pageText: g.pageText, base: g.base, suggestion: g.id}, true)
	case page.Reject:
		g.state = page.Rejected
	default:
		g.state = page.Withdrawn
		if g.author != p.o.viewer {
			return fmt.Errorf("%v: it was suggested by %s", p.o, g.author)
		}
	}
	return nil
}

// editsPage tells whether an operation needs the right to edit.
func (o *Operation) editsPage() bool {
	return o.page != nil && o.kind != opSuggest && o.kind != opText && !(o.kind == opDecide && o.page.decision == page.Withdraw)
}

// checkPages judges the answers about texts.
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
		if wrong := h.judgePage(o); wrong != "" {
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

// judgePage says what is wrong with an answer; "": nothing.
func (h *History) judgePage(o *Operation) string {
	made := h.madePage(o)
	switch {
	case o.kind == opText:
		return h.judgeText(o)
	case len(made) > 1:
		return fmt.Sprintf("it was made %d times", len(made))
	case o.outcome == refused && len(made) > 0:
		return "it was made all the same"
	case o.outcome == refused:
		return h.judgePageRefused(o)
	case o.outcome != answered:
		return ""
	case len(made) == 0:
		return h.judgeNothing(o)
	}
	return o.judgeMade(made[0])
}

// judgeMade compares an answer with the state that the operation has made.
func (o *Operation) judgeMade(made *pageState) string {
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
		if stored := made.suggestion(g.ID); stored == nil || stored.title != g.Title || o.kind == opDecide && stored.state == page.Open {
			return fmt.Sprintf("suggestion %s is stored as %+v", g.ID, stored)
		}
	}
	return ""
}

// judgeNothing judges an answer of an operation that has made no state: all was as it asks
// for, at some moment.
func (h *History) judgeNothing(o *Operation) string {
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

// judgePageRefused judges a conflict: there must have been one.
func (h *History) judgePageRefused(o *Operation) string {
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
		return conflict(func(s *pageState) bool { g := s.suggestion(c.of); return g != nil && g.state != page.Open })
	case fault.CodeOf(o.err) == fault.Forbidden && o.editsPage():
		states := h.of(o.content).during(o.start, o.end)
		if !slices.ContainsFunc(states, func(s contentState) bool { return s.role(o.viewer) < library.Editing }) {
			return "its actor might edit the item all the time"
		}
	}
	return ""
}

// judgeText judges a text that was read: it was current while it was read, and it has the
// body that was saved.
func (h *History) judgeText(o *Operation) string {
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

// shownThroughout reports whether everybody was shown a text of the item in the locale that
// an operation asks for as long as it ran, in one branch.
func (h *History) shownThroughout(o *Operation, pages []*pageState) bool {
	states := h.of(o.content).during(o.start, o.end)
	if slices.ContainsFunc(states, func(s contentState) bool {
		return s.header.State != commit.Live || s.header.Visibility != principal.Public
	}) {
		return false
	}
	return !slices.ContainsFunc(pages, func(s *pageState) bool {
		return s.current != pages[0].current || s.line(s.current, o.page.locale).current == page.None
	})
}
