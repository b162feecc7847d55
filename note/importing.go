package note

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// lineChecker checks the fields of a line of an import and collects the faults.
type lineChecker struct {
	fault.List
	now clock.Instant
}

func (s *Service) lineChecker() *lineChecker { return &lineChecker{now: s.engine.Now()} }

// item parses the id of the item.
func (f *lineChecker) item(given string) library.ContentID {
	id, err := library.ParseContentID(given)
	f.Add(err, "contentId")
	return id
}

// principal parses the id of a user.
func (f *lineChecker) principal(given, field string) principal.ID {
	id, err := principal.ParseID(given)
	if err == nil && !id.IsUser() {
		err = fault.Invalidf(nil, "the id of a user begins with u:")
	}
	f.Add(err, field)
	return id
}

// past checks a time that must be in the past. It returns now for nil.
func (f *lineChecker) past(given *clock.Instant, field string) clock.Instant {
	if given == nil {
		return f.now
	}
	if *given > f.now {
		f.List = append(f.List, fault.OutOfRangef([]string{field}, "it must be in the past"))
	}
	return *given
}

// number returns an optional number, or None.
func (f *lineChecker) number(given *int) int {
	if given == nil {
		return None
	}
	return *given
}

// text checks a title and a body. The title of a draft may be empty.
func (f *lineChecker) text(title, body string, untitled bool) {
	if title != "" || !untitled {
		f.Add(library.CheckTitle(title), "title")
	}
	f.Add(library.CheckBody(body), "body")
}

// order returns an error if a number is greater than last+1, so that numbers have no gaps.
func order(given, last int, what string) error {
	if given > last+1 {
		return fault.OutOfRangef([]string{"number"}, "%s %d must come after %s %d; that needs a line before this one", what, given, what, given-1)
	}
	return nil
}

// ImportBranch stores a branch that does not exist yet.
func (u Upkeep) ImportBranch(ctx context.Context, in exchange.ImportBranch) (principal.ImportResult, error) {
	f := u.s.lineChecker()
	id := f.item(in.Content)
	row := branchRow{CreatedAt: f.past(in.CreatedAt, "createdAt"), By: f.principal(in.CreatedBy, "createdBy")}
	if in.CopiedFrom != nil {
		row.CopiedFrom = *in.CopiedFrom
	}
	if in.Number < 2 || row.CopiedFrom >= in.Number {
		f.List = append(f.List, fault.Invalidf([]string{"number"},
			"the number of a branch is at least 2 and greater than that of the branch it was copied from; branch 1 needs no line"))
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	return u.s.library.Upkeep.ImportEdit(ctx, id, []library.RowKey{branchKey(in.Number)},
		func(_ context.Context, t *library.ItemReading) (*library.Edit, error) {
			head, err := headOf(t.Header)
			if err != nil {
				return nil, err
			}
			if head.HasBranch(in.Number) {
				current, err := decodeBranch(t.Rows[0].Value)
				if err == nil && (current.CopiedFrom != row.CopiedFrom || current.By != row.By || in.CreatedAt != nil &&
					current.CreatedAt != row.CreatedAt) {
					err = principal.DiffersFrom("a branch")
				}
				return nil, err
			}
			if err := order(in.Number, head.Last, "branch"); err != nil {
				return nil, err
			}
			e := &edit{head: head}
			n, err := e.branch(row, nil)
			if err != nil {
				return nil, err
			}
			if in.Current {
				// The item's own line in the import has set its title and its position in libraries.
				e.makeCurrent(n, nil, nil)
				e.visible = false
			}
			if in.Working {
				e.head.Working = n
			}
			return e.libraryEdit(nil), nil
		})
}

// ImportRevision stores a revision that does not exist yet. Its item does not move.
func (u Upkeep) ImportRevision(ctx context.Context, in exchange.ImportRevision) (principal.ImportResult, error) {
	f := u.s.lineChecker()
	id, locale := f.item(in.Content), checkLocale(&f.List, in.Locale)
	f.text(in.Title, in.Body, false)
	if in.Number < 0 {
		f.List = append(f.List, fault.OutOfRangef([]string{"number"}, "revisions are numbered from 0"))
	}
	row := revisionRow{Title: in.Title, Author: f.principal(in.Author, "author"), CreatedAt: f.past(in.CreatedAt, "createdAt"),
		Base: f.number(in.BaseRevision)}
	if in.Suggestion != nil {
		if _, ok := ParseTextID(*in.Suggestion); !ok {
			f.List = append(f.List, fault.Invalidf([]string{"suggestion"}, "not the id of a suggestion"))
		}
		row.Suggestion = *in.Suggestion
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	at := branchLocale{in.Branch, locale}
	key := revisionKey(in.Branch, locale, in.Number)
	body := &pending{s: u.s.texts, item: id, body: in.Body}
	return u.s.library.Upkeep.ImportEdit(ctx, id, []library.RowKey{at.rowKey(), key},
		func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			e, at, l, err := u.s.atLocale(ctx, t, &in.Branch, locale)
			if err != nil {
				return nil, err
			}
			if in.Number <= l.Last {
				return nil, u.s.sameRevision(ctx, t.Rows[1].Value, row, &in)
			}
			if err := order(in.Number, l.Last, "revision"); err != nil {
				return nil, err
			}
			if err := u.s.checkLocales(ctx, id, at, l); err != nil {
				return nil, err
			}
			stored := row
			if stored.Text, err = body.put(ctx, key); err != nil {
				return nil, err
			}
			if _, err := e.save(at, l, stored, in.Current); err != nil {
				return nil, err
			}
			// The item's own line in the import has set its title and its position in libraries.
			e.visible, e.title = false, nil
			edit := e.libraryEdit(nil)
			edit.Restore = body.restore
			return edit, nil
		})
}

// sameRevision returns an error if a revision differs from the stored one.
func (s *Service) sameRevision(ctx context.Context, value []byte, given revisionRow, in *exchange.ImportRevision) error {
	current, err := decodeRevision(value)
	if err != nil {
		return err
	}
	bodies, err := s.bodies(ctx, []text{current.Text})
	if err != nil {
		return err
	}
	current.Text = given.Text
	if in.CreatedAt == nil {
		current.CreatedAt = given.CreatedAt
	}
	if current != given || bodies[0] != in.Body {
		return principal.DiffersFrom("a revision")
	}
	return nil
}

// ImportSuggestion stores a suggestion that does not exist yet.
func (u Upkeep) ImportSuggestion(ctx context.Context, in exchange.ImportSuggestion) (principal.ImportResult, error) {
	f := u.s.lineChecker()
	item, row := f.item(in.Content), f.suggestion(&in)
	id, ok := ParseTextID(in.ID)
	if !ok {
		f.List = append(f.List, fault.Invalidf([]string{"id"},
			"not the id of a suggestion: it has 32 hexadecimal digits, beginning with the time of its creation"))
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	texts, err := u.s.store.ReadTexts(ctx, []TextID{id})
	if err != nil {
		return principal.Unchanged, err
	}
	if stored := texts[0]; stored.Item != "" && (stored.Item != item || stored.Row != suggestionKey(id)) {
		return principal.Unchanged, principal.DiffersFrom("a suggestion")
	}
	result, err := u.s.library.Upkeep.ImportEdit(ctx, item, []library.RowKey{suggestionKey(id)},
		func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			head, err := headOf(t.Header)
			if err != nil {
				return nil, err
			}
			if t.Rows[0].Value != nil {
				return nil, sameSuggestion(t.Rows[0].Value, row, texts[0], &in)
			}
			if err := head.requireBranch(row.Branch, "branch"); err != nil {
				return nil, err
			}
			e := &edit{head: head}
			if err := e.suggest(id, row); err != nil {
				return nil, err
			}
			if row.State != Open {
				e.head.Open--
			}
			return e.libraryEdit(nil), nil
		})
	if err != nil || result == principal.Unchanged && texts[0].Item != "" {
		return result, err
	}
	// The text is stored after the row. Its id may be old, so the scrubber would remove a text without
	// a row. If the import ends here, a repetition stores the text.
	if err := u.s.store.PutText(ctx, Text{ID: id, Item: item, Row: suggestionKey(id), Body: in.Body}); err != nil {
		return result, fault.Unavailablef(err, "the text of the suggestion was not stored; import it again")
	}
	return principal.Created, nil
}

// suggestion checks the line of a suggestion, and returns its row.
func (f *lineChecker) suggestion(in *exchange.ImportSuggestion) suggestionRow {
	f.text(in.Title, in.Body, false)
	if in.Note != nil {
		f.Add(input.CheckText(*in.Note, "a note", maxNote, "\n\r\t"), "note")
	}
	row := suggestionRow{
		Branch: in.Branch, Locale: checkLocale(&f.List, in.Locale), Title: in.Title, Note: in.Note, Size: len(in.Body),
		Author: f.principal(in.Author, "author"), CreatedAt: f.past(in.CreatedAt, "createdAt"), Base: f.number(in.BaseRevision),
		State: Open, Revision: f.number(in.Revision),
	}
	if in.State != nil {
		state, ok := ParseState(*in.State)
		if !ok {
			f.List = append(f.List, fault.Invalidf([]string{"state"}, "a suggestion is OPEN, ACCEPTED, REJECTED or WITHDRAWN"))
		}
		row.State = state
	}
	if in.DecidedBy != nil {
		row.DecidedBy = f.principal(*in.DecidedBy, "decidedBy")
	}
	if (row.State == Open) != (in.DecidedBy == nil) {
		f.List = append(f.List, fault.Emptyf([]string{"decidedBy"},
			"it is required for suggestions that are not OPEN, and not allowed for OPEN ones"))
	}
	if (row.State == Accepted) != (in.Revision != nil) {
		f.List = append(f.List, fault.Emptyf([]string{"revision"},
			"it is required for suggestions that are ACCEPTED, and not allowed for others"))
	}
	return row
}

// sameSuggestion returns an error if a suggestion differs from the stored one, apart from what was
// decided since.
func sameSuggestion(value []byte, given suggestionRow, body Text, in *exchange.ImportSuggestion) error {
	current, err := decodeSuggestion(value)
	if err != nil {
		return err
	}
	sameNote := (current.Note == nil) == (given.Note == nil) && (given.Note == nil || *current.Note == *given.Note)
	if in.CreatedAt == nil {
		given.CreatedAt = current.CreatedAt
	}
	given.Note, given.State, given.DecidedBy, given.Revision = current.Note, current.State, current.DecidedBy, current.Revision
	if current != given || !sameNote || body.Item != "" && body.Body != in.Body {
		return principal.DiffersFrom("a suggestion")
	}
	return nil
}

// ImportDraft stores a draft that does not exist yet.
func (u Upkeep) ImportDraft(ctx context.Context, in exchange.ImportDraft) (principal.ImportResult, error) {
	f := u.s.lineChecker()
	item, user := f.item(in.Content), f.principal(in.Author, "author")
	row := draftRow{
		Item: item, At: branchLocale{in.Branch, checkLocale(&f.List, in.Locale)}, Title: in.Title, Base: f.number(in.BaseRevision),
		Version: 1, UpdatedAt: f.past(in.UpdatedAt, "updatedAt"),
	}
	if f.text(in.Title, in.Body, true); in.Version != nil {
		row.Version = *in.Version
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	if err := u.s.people.RequireAll(ctx, []principal.ID{user}); err != nil {
		return principal.Unchanged, err
	}
	read, err := u.s.contents.Read(ctx, item, library.ContentQuery{})
	if err != nil {
		return principal.Unchanged, err
	}
	if !read.Header.Exists(u.s.engine.Now()) {
		return principal.Unchanged, fault.NotFoundf([]string{"contentId"}, "there is no %s; give it a line before this one", item)
	}
	head, err := headOf(&read.Header)
	if err != nil {
		return principal.Unchanged, err
	}
	if err := head.requireBranch(in.Branch, "branch"); err != nil {
		return principal.Unchanged, err
	}
	return u.s.importDraft(ctx, user, row, &in)
}

// importDraft stores a draft if there is none with its name. It becomes the newest one of its
// author.
func (s *Service) importDraft(ctx context.Context, user principal.ID, row draftRow, in *exchange.ImportDraft) (principal.ImportResult,
	error) {
	name, began := draftName(row.Item, row.At), sched.Present(s.rt)
	stored, err := s.store.ReadDrafts(ctx, user, []string{name}, false)
	if err != nil {
		return principal.Unchanged, err
	}
	if stored[0].Name != "" {
		return principal.Unchanged, s.sameDraft(ctx, stored[0], row, in)
	}
	all, err := s.store.ListDrafts(ctx, user)
	if err != nil {
		return principal.Unchanged, err
	}
	if len(all) >= MaxDrafts {
		return principal.Unchanged, fault.TooManyf(nil, "%s has %d drafts, and nobody may have more", user, MaxDrafts)
	}
	made := s.engine.StoreNow()
	if len(all) > 0 {
		made = max(made, all[0].Token.At().Add(time.Millisecond))
	}
	d := DraftRow{User: user, Name: name, Token: newTextID(made, s.rt.Random)}
	current, err := s.putWithBody(ctx, began, &d, &row, in.Body, nil)
	if err == nil && current.Token != d.Token {
		err = principal.DiffersFrom("a draft")
	}
	if err != nil {
		return principal.Unchanged, err
	}
	return principal.Created, nil
}

// sameDraft returns an error if a draft differs from the stored one.
func (s *Service) sameDraft(ctx context.Context, stored DraftRow, given draftRow, in *exchange.ImportDraft) error {
	current, err := decodeDraft(stored.Value)
	if err != nil {
		return err
	}
	bodies, err := s.bodies(ctx, []text{current.Text})
	if err != nil {
		return err
	}
	current.Text = given.Text
	if in.UpdatedAt == nil {
		current.UpdatedAt = given.UpdatedAt
	}
	if current != given || bodies[0] != in.Body {
		return principal.DiffersFrom("a draft")
	}
	return nil
}
