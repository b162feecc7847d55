package simulator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/core/commit"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// pageCall is the input of an operation on the text of an item, and its answer.
type pageCall struct {
	branch   *int
	locale   string // "" is none
	publish  bool
	working  bool
	force    bool
	decision note.Decision
	number   int // of publishRevision
	copyFrom *int
	long     bool // the body is stored as a text of its own
	// based: the base is the current revision as the client has just read it; aimed: the client
	// has read what it publishes or shows.
	based, aimed bool
	base         *int
	// of is the suggestion that is decided, "" until it is chosen.
	of string

	revision   *note.Revision
	branched   *note.Branch
	suggestion *note.Suggestion
	body       string // of the revision that was read
}

// neverSuggested is the id of a suggestion that does not exist.
const neverSuggested = "00000000000000000000000000000000"

func (c *pageCall) String() string {
	s := fmt.Sprintf(" locale %q", c.locale)
	for _, n := range []struct {
		name  string
		value *int
	}{{"branch", c.branch}, {"base", c.base}, {"copyFrom", c.copyFrom}} {
		if n.value != nil {
			s += fmt.Sprintf(" %s %d", n.name, *n.value)
		}
	}
	return s + fmt.Sprintf(" number %d publish %t working %t decision %d force %t of %q", c.number, c.publish, c.working,
		c.decision, c.force, c.of)
}

// ofPage reports whether the operation changes the page of an item.
func (k opKind) ofPage() bool { return k >= opSave && k <= opDecide }

// bodyOf returns the body of the text with a title. A long one is not in its row.
func bodyOf(title string, long bool) string {
	if long {
		return "long body of " + title + strings.Repeat(".", 5000)
	}
	return "body of " + title
}

// askPages makes the call of an operation that is about the text of an item.
func (o *Operation) askPages(ctx context.Context, p *process) error {
	c, v, id := o.page, &principal.Viewer{User: o.viewer}, string(o.content)
	c.revision, c.branched, c.suggestion, c.body = nil, nil, nil, ""
	var locale *string
	if c.locale != "" {
		locale = &c.locale
	}
	var revised *note.RevisionOutcome
	var branched *note.BranchOutcome
	var suggested *note.SuggestionOutcome
	var err error
	switch o.kind {
	case opSave:
		revised, err = p.pages.SaveRevision(ctx, v, note.SaveRevision{ContentID: id, Branch: c.branch, Locale: locale, Title: o.title,
			Body: bodyOf(o.title, c.long), BaseRevision: c.base, Publish: c.publish, IdempotencyKey: o.key})
	case opPublish:
		revised, err = p.pages.PublishRevision(ctx, v, note.PublishRevision{ContentID: id, Branch: *c.branch, Locale: locale, Number: c.number})
	case opBranch:
		branched, err = p.pages.CreateBranch(ctx, v, note.CreateBranch{ContentID: id, CopyFrom: c.copyFrom, IdempotencyKey: o.key})
	case opCurrent:
		branched, err = p.pages.SetCurrentBranch(ctx, v, note.SetCurrentBranch{ContentID: id, Branch: *c.branch, Working: c.working})
	case opSuggest:
		suggested, err = p.pages.SuggestRevision(ctx, v, note.SuggestRevision{ContentID: id, Branch: c.branch, Locale: locale, Title: o.title,
			Body: bodyOf(o.title, c.long), IdempotencyKey: o.key})
	case opDecide:
		suggested, err = p.pages.DecideSuggestion(ctx, v, note.DecideSuggestion{ID: c.of, Decision: c.decision, Force: c.force})
	default:
		return o.readText(ctx, p, v, locale)
	}
	if err != nil {
		return err
	}
	switch {
	case revised != nil:
		c.revision = revised.Revision
	case branched != nil:
		c.branched = branched.Branch
	default:
		c.suggestion, c.revision = suggested.Suggestion, suggested.Revision
	}
	return nil
}

// readText reads the text in the viewer's preferred locale, with its body.
func (o *Operation) readText(ctx context.Context, p *process, v *principal.Viewer, locale *string) error {
	found, err := p.pages.Texts(ctx, v, []library.ContentID{o.content}, note.TextQuery{Locale: locale})
	if err != nil || found[0] == nil {
		return err
	}
	bodies, err := p.pages.Bodies(ctx, found)
	if err == nil {
		o.page.revision, o.page.body = found[0], bodies[0]
	}
	return err
}

// look reads what an operation needs before it: the base of a text, the revision to publish, or the
// suggestion to decide.
func (r *run) look(p *process, o *Operation) {
	c := o.page
	if o.kind == opDecide && c.of == "" {
		c.of = neverSuggested
		for range 8 {
			if made := r.suggested(); len(made) > 0 {
				c.of = made[r.s.pick(len(made))]
				break
			}
			_ = p.a.After(r.ctx, time.Duration(1+r.s.pick(1000))*time.Millisecond)
		}
	}
	now, ok := r.hist.pageNow(o.content)
	if !ok || o.start > 0 {
		return // a repetition requests the same
	}
	if l := now.line(c.branchIn(now), c.locale); c.based && l.current != note.None {
		c.base = &l.current
	}
	if !c.aimed || len(now.revisions) == 0 {
		return
	}
	v := now.revisions[r.s.pick(len(now.revisions))]
	switch o.kind {
	case opPublish:
		c.branch, c.locale, c.number = &v.branch, v.locale, v.number
	case opCurrent:
		c.branch = &v.branch
	case opBranch:
		c.copyFrom = &v.branch
	}
}

// branchIn returns the branch that a call names, or else the current one of the page.
func (c *pageCall) branchIn(now *pageState) int {
	if c.branch != nil {
		return *c.branch
	}
	return now.current
}

// suggested returns the suggestions of all items, in order of the items and their ids.
func (r *run) suggested() (all []string) {
	for _, c := range r.st.contents {
		if now, ok := r.hist.pageNow(c.id); ok && c.header.State == commit.Live {
			for _, g := range now.suggestions {
				all = append(all, g.id)
			}
		}
	}
	return all
}
