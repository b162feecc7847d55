package simulator

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"carrel/library"
	"carrel/note"
)

// pageFollows checks what one step of a live item does to its page: what its operation
// requests, and nothing else. changed reports that readers see it.
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

// pageDiffers reports whether a step may be a change of a page. The writes in the background that
// follow a change do not count.
func pageDiffers(before, after *contentState) bool {
	return !samePage(before, after) || before.header.Version != after.header.Version || before.header.Title != after.header.Title
}

func samePage(before, after *contentState) bool {
	return bytes.Equal(before.header.Page, after.header.Page) && slices.EqualFunc(before.rows, after.rows, func(a, b library.Row) bool {
		return a.RowKey == b.RowKey && bytes.Equal(a.Value, b.Value)
	})
}

// describePage formats a page, with its rows in a fixed order.
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

// pageStep applies an operation to the page before it, according to docs/pages.md. The product
// draws the ids of texts, so they are taken from the result.
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
		base := note.None
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
					base: w.line(branch, c.locale).current, state: note.Open, revision: note.None,
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
	if made := p.is.revision(branch, locale, v.number); made != nil && v.id == (note.TextID{}) {
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

// show sets the title that readers see.
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
		if l.branch != from || l.current == note.None {
			continue
		}
		v := *w.revision(from, l.locale, l.current)
		v.branch, v.number, v.base, v.suggestion = w.last, 0, note.None, ""
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
	if !slices.ContainsFunc(w.lines, func(l pageLine) bool { return l.branch == branch && l.current != note.None }) {
		return fmt.Errorf("%v: nothing was published in branch %d", p.o, branch)
	}
	p.visible = w.current != branch
	w.current = branch
	if l := w.line(branch, w.own); l.current != note.None {
		*p.title = w.revision(branch, w.own, l.current).title
	}
	return nil
}

// decide ends a suggestion.
func (p *pageStep) decide() error {
	c, g := p.o.page, p.want.suggestion(p.o.page.of)
	if g == nil || g.state != note.Open {
		return fmt.Errorf("%v: the suggestion was %+v", p.o, g)
	}
	p.want.open--
	g.by = p.o.viewer
	switch c.decision {
	case note.Accept:
		if l := p.want.line(g.branch, g.locale); !c.force && l.current != g.base {
			return fmt.Errorf("%v: revision %d was current, and its base %d", p.o, l.current, g.base)
		}
		g.state = note.Accepted
		g.revision = p.revise(g.branch, g.locale, pageRevision{pageText: g.pageText, base: g.base, suggestion: g.id}, true)
	case note.Reject:
		g.state = note.Rejected
	default:
		g.state = note.Withdrawn
		if g.author != p.o.viewer {
			return fmt.Errorf("%v: it was suggested by %s", p.o, g.author)
		}
	}
	return nil
}
