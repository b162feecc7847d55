package page

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// shape collects the faults of a line of an import.
type shape struct {
	fault.List
	now clock.Instant
}

func (k keeper) shape() *shape { return &shape{now: k.s.library.Now()} }

// item reads the id of the item.
func (f *shape) item(told string) library.ContentID {
	id, err := library.ParseContentID(told)
	f.Add(err, "contentId")
	return id
}

// principal reads the id of a user.
func (f *shape) principal(told, field string) principal.ID {
	id, err := principal.ParseID(told)
	if err == nil && !id.IsUser() {
		err = fault.Invalidf(nil, "the id of a user begins with u:")
	}
	f.Add(err, field)
	return id
}

// past reads a time that lies in the past, now when nil.
func (f *shape) past(told *clock.Instant, field string) clock.Instant {
	if told == nil {
		return f.now
	}
	if *told > f.now {
		f.List = append(f.List, fault.Invalidf([]string{field}, "it lies in the past"))
	}
	return *told
}

// number reads a number that may be left out.
func (f *shape) number(told *int) int {
	if told == nil {
		return None
	}
	return *told
}

// text checks a title and a body. A draft may be without a title.
func (f *shape) text(title, body string, untitled bool) {
	if title != "" || !untitled {
		f.Add(library.CheckTitle(title), "title")
	}
	f.Add(library.CheckBody(body), "body")
}

// order refuses a line whose number is not the next one.
func order(told, last int, what string) error {
	if told > last+1 {
		return fault.Invalidf([]string{"number"}, "%s %d comes after %s %d; give it a line before this one", what, told, what, told-1)
	}
	return nil
}

// ImportBranch implements library.Pages.
func (k keeper) ImportBranch(ctx context.Context, in library.ImportBranch) (principal.ImportResult, error) {
	f := k.shape()
	id := f.item(in.Content)
	row := branchRow{CreatedAt: f.past(in.CreatedAt, "createdAt"), By: f.principal(in.CreatedBy, "createdBy")}
	if in.CopiedFrom != nil {
		row.CopiedFrom = *in.CopiedFrom
	}
	if in.Number < 2 || row.CopiedFrom >= in.Number {
		f.List = append(f.List, fault.Invalidf([]string{"number"}, "the numbers of branches begin with 2, after that of the branch which was copied; branch 1 needs no line"))
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	return k.s.library.ImportEdit(ctx, id, []library.RowKey{branchKey(in.Number)}, func(_ context.Context, t *library.ItemReading) (*library.Edit, error) {
		head, err := headOf(t.Header)
		if err != nil {
			return nil, err
		}
		if head.HasBranch(in.Number) {
			stands, err := decodeBranch(t.Rows[0].Value)
			if err == nil && (stands.CopiedFrom != row.CopiedFrom || stands.By != row.By || in.CreatedAt != nil && stands.CreatedAt != row.CreatedAt) {
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
			// Its line has told the item's title and place.
			e.makeCurrent(n, nil, nil)
			e.visible = false
		}
		if in.Working {
			e.head.Working = n
		}
		return e.libraryEdit(nil), nil
	})
}

// ImportRevision implements library.Pages.
func (k keeper) ImportRevision(ctx context.Context, in library.ImportRevision) (principal.ImportResult, error) {
	f := k.shape()
	id, locale := f.item(in.Content), checkLocale(&f.List, in.Locale)
	f.text(in.Title, in.Body, false)
	if in.Number < 0 {
		f.List = append(f.List, fault.Invalidf([]string{"number"}, "revisions are numbered from 0"))
	}
	row := revisionRow{Title: in.Title, Author: f.principal(in.Author, "author"), CreatedAt: f.past(in.CreatedAt, "createdAt"), Base: f.number(in.BaseRevision)}
	if in.Suggestion != nil {
		if _, ok := ParseTextID(*in.Suggestion); !ok {
			f.List = append(f.List, fault.Invalidf([]string{"suggestion"}, "not the id of a suggestion"))
		}
		row.Suggestion = *in.Suggestion
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	at := place{in.Branch, locale}
	key := revisionKey(in.Branch, locale, in.Number)
	body := &pending{s: k.s, item: id, body: in.Body}
	return k.s.library.ImportEdit(ctx, id, []library.RowKey{at.line(), key}, func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
		e, at, l, err := k.s.atLine(ctx, t, &in.Branch, locale)
		if err != nil {
			return nil, err
		}
		if in.Number <= l.Last {
			return nil, k.sameRevision(ctx, t.Rows[1].Value, row, &in)
		}
		if err := order(in.Number, l.Last, "revision"); err != nil {
			return nil, err
		}
		if err := k.s.checkLocales(ctx, id, at, l); err != nil {
			return nil, err
		}
		stored := row
		if stored.Text, err = body.put(ctx, key); err != nil {
			return nil, err
		}
		if _, err := e.save(at, l, stored, in.Current); err != nil {
			return nil, err
		}
		// Its line has told the item's title and place.
		e.visible, e.title = false, nil
		return e.libraryEdit(nil), nil
	})
}

// sameRevision refuses a revision that is stored otherwise.
func (k keeper) sameRevision(ctx context.Context, value []byte, told revisionRow, in *library.ImportRevision) error {
	stands, err := decodeRevision(value)
	if err != nil {
		return err
	}
	bodies, err := k.s.bodies(ctx, []text{stands.Text})
	if err != nil {
		return err
	}
	stands.Text = told.Text
	if in.CreatedAt == nil {
		stands.CreatedAt = told.CreatedAt
	}
	if stands != told || bodies[0] != in.Body {
		return principal.DiffersFrom("a revision")
	}
	return nil
}

// ImportSuggestion implements library.Pages.
func (k keeper) ImportSuggestion(ctx context.Context, in library.ImportSuggestion) (principal.ImportResult, error) {
	f := k.shape()
	item, row := f.item(in.Content), f.suggestion(&in)
	id, ok := ParseTextID(in.ID)
	if !ok {
		f.List = append(f.List, fault.Invalidf([]string{"id"}, "not the id of a suggestion: it has 32 hexadecimal digits, and begins with the time at which it was made"))
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	texts, err := k.s.store.ReadTexts(ctx, []TextID{id})
	if err != nil {
		return principal.Unchanged, err
	}
	if there := texts[0]; there.Item != "" && (there.Item != item || there.Row != suggestionKey(id)) {
		return principal.Unchanged, principal.DiffersFrom("a suggestion")
	}
	result, err := k.s.library.ImportEdit(ctx, item, []library.RowKey{suggestionKey(id)}, func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
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
	// Its id may be old, so the scrubber would remove the text if it met it before the row.
	// An import that ends here is repeated, and stores it then.
	if err := k.s.store.PutText(ctx, Text{ID: id, Item: item, Row: suggestionKey(id), Body: in.Body}); err != nil {
		return result, fault.Unavailablef(err, "the text of the suggestion was not stored; import it again")
	}
	return principal.Created, nil
}

// suggestion checks what a line tells of a suggestion, and returns its row.
func (f *shape) suggestion(in *library.ImportSuggestion) suggestionRow {
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
		f.List = append(f.List, fault.Invalidf([]string{"decidedBy"}, "it is told of suggestions that are not OPEN, and of all of those"))
	}
	if (row.State == Accepted) != (in.Revision != nil) {
		f.List = append(f.List, fault.Invalidf([]string{"revision"}, "it is told of suggestions that are ACCEPTED, and of all of those"))
	}
	return row
}

// sameSuggestion refuses a suggestion that is stored otherwise. What was decided of it since
// does not count.
func sameSuggestion(value []byte, told suggestionRow, body Text, in *library.ImportSuggestion) error {
	stands, err := decodeSuggestion(value)
	if err != nil {
		return err
	}
	sameNote := (stands.Note == nil) == (told.Note == nil) && (told.Note == nil || *stands.Note == *told.Note)
	if in.CreatedAt == nil {
		told.CreatedAt = stands.CreatedAt
	}
	told.Note, told.State, told.DecidedBy, told.Revision = stands.Note, stands.State, stands.DecidedBy, stands.Revision
	if stands != told || !sameNote || body.Item != "" && body.Body != in.Body {
		return principal.DiffersFrom("a suggestion")
	}
	return nil
}

// ImportDraft implements library.Pages.
func (k keeper) ImportDraft(ctx context.Context, in library.ImportDraft) (principal.ImportResult, error) {
	f := k.shape()
	item, user := f.item(in.Content), f.principal(in.Author, "author")
	row := draftRow{
		Item: item, At: place{in.Branch, checkLocale(&f.List, in.Locale)}, Title: in.Title, Base: f.number(in.BaseRevision),
		Version: 1, UpdatedAt: f.past(in.UpdatedAt, "updatedAt"),
	}
	if f.text(in.Title, in.Body, true); in.Version != nil {
		row.Version = *in.Version
	}
	if err := f.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	if err := k.s.library.RequireAll(ctx, []principal.ID{user}); err != nil {
		return principal.Unchanged, err
	}
	read, err := k.s.contents.Read(ctx, item, library.ContentQuery{})
	if err != nil {
		return principal.Unchanged, err
	}
	if !read.Header.Exists(k.s.library.Now()) {
		return principal.Unchanged, fault.NotFoundf([]string{"contentId"}, "there is no %s; give it a line before this one", item)
	}
	head, err := headOf(&read.Header)
	if err != nil {
		return principal.Unchanged, err
	}
	if err := head.requireBranch(in.Branch, "branch"); err != nil {
		return principal.Unchanged, err
	}
	return k.importDraft(ctx, user, row, &in)
}

// importDraft stores a draft in the place of none. It is the newest one of its author.
func (k keeper) importDraft(ctx context.Context, user principal.ID, row draftRow, in *library.ImportDraft) (principal.ImportResult, error) {
	name := draftName(row.Item, row.At)
	stored, err := k.s.store.ReadDrafts(ctx, user, []string{name})
	if err != nil {
		return principal.Unchanged, err
	}
	if stored[0].Name != "" {
		return principal.Unchanged, k.sameDraft(ctx, stored[0], row, in)
	}
	all, err := k.s.store.ListDrafts(ctx, user)
	if err != nil {
		return principal.Unchanged, err
	}
	if len(all) >= MaxDrafts {
		return principal.Unchanged, fault.TooManyf(nil, "%s has %d drafts, and nobody may have more", user, MaxDrafts)
	}
	made := k.s.library.StoreNow()
	if len(all) > 0 {
		made = max(made, all[0].Token.At().Add(time.Millisecond))
	}
	d := DraftRow{User: user, Name: name, Token: newTextID(made, k.s.rt.Random)}
	row.Text = text{Body: in.Body, Size: len(in.Body)}
	if len(in.Body) > inline {
		if err := k.s.putText(ctx, Text{ID: d.Token, Item: row.Item, Row: draftText(user, name), Body: in.Body}); err != nil {
			return principal.Unchanged, err
		}
		row.Text = text{ID: d.Token, Size: len(in.Body)}
	}
	d.Value = row.encode()
	stands, err := k.s.store.PutDraft(ctx, d, nil)
	if err == nil && stands.Token != d.Token {
		err = principal.DiffersFrom("a draft")
	}
	if err != nil {
		return principal.Unchanged, err
	}
	return principal.Created, nil
}

// sameDraft refuses a draft that is stored otherwise.
func (k keeper) sameDraft(ctx context.Context, stored DraftRow, told draftRow, in *library.ImportDraft) error {
	stands, err := decodeDraft(stored.Value)
	if err != nil {
		return err
	}
	bodies, err := k.s.bodies(ctx, []text{stands.Text})
	if err != nil {
		return err
	}
	stands.Text = told.Text
	if in.UpdatedAt == nil {
		stands.UpdatedAt = told.UpdatedAt
	}
	if stands != told || bodies[0] != in.Body {
		return principal.DiffersFrom("a draft")
	}
	return nil
}
