package note

import (
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// maxNote is how many characters the note of a suggestion may have.
const maxNote = 2000

// SuggestRevision is the input of Service.SuggestRevision.
type SuggestRevision struct {
	ContentID      string
	Branch         *int // the current one when nil
	Locale         *string
	Title, Body    string
	Note           *string
	IdempotencyKey *string
}

// SuggestionOutcome is the result of a mutation of a suggestion.
type SuggestionOutcome struct {
	Suggestion *Suggestion // nil if the actor may not (or no longer) see it
	Revision   *Revision   // the revision that it became, if any
	// Libraries is how many libraries the change affects.
	Libraries int
}

// text returns the stored text of a suggestion.
func (in *SuggestRevision) text(made TextID, item library.ContentID) Text {
	return Text{made, item, suggestionKey(made), in.Body}
}

// SuggestRevision proposes a text to the editors of an item. Every signed-in viewer who sees the
// item may do so.
func (s *Service) SuggestRevision(ctx context.Context, v *principal.Viewer, in SuggestRevision) (*SuggestionOutcome, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	locale := checkLocale(&faults, in.Locale)
	faults.Add(library.CheckTitle(in.Title), "title")
	faults.Add(library.CheckBody(in.Body), "body")
	if in.Note != nil {
		faults.Add(input.CheckText(*in.Note, "a note", maxNote, "\n\r\t"), "note")
	}
	c, err := s.begin(v, id, commit.Call{Name: "suggestRevision", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	var made TextID
	put := func(ctx context.Context) error { return s.texts.putText(ctx, in.text(made, id)) }
	out, err := s.library.ChangeItem(ctx, v, library.ItemChange{
		Mutation: c.Mutation, ID: id, Path: "contentId",
		Rows: func(h *library.Header) []library.RowKey {
			head := guessHead(h)
			return []library.RowKey{branchLocale{head.branchOr(in.Branch), locale}.rowKey()}
		},
		Plan: func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			if err := requireVisible(ctx, t, in.Branch); err != nil {
				return nil, err
			}
			e, at, l, err := s.atLocale(ctx, t, in.Branch, locale)
			if err != nil {
				return nil, err
			}
			first := made == (TextID{})
			if first {
				made = newTextID(s.engine.StoreNow(), s.rt.Random)
			}
			err = e.suggest(made, suggestionRow{
				Branch: at.Branch, Locale: at.Locale, Title: in.Title, Note: in.Note, Size: len(in.Body), Author: v.User,
				CreatedAt: s.engine.Now(), Base: l.Current, State: Open, Revision: None,
			})
			if err != nil {
				return nil, err
			}
			if first {
				if err := put(ctx); err != nil {
					return nil, err
				}
			}
			edit := e.libraryEdit(answer{ID: made.String()}.encode())
			edit.Restore = put
			return edit, nil
		},
	})
	if err != nil {
		return nil, err
	}
	a, err := decodeAnswer(out.Answer)
	if err != nil {
		return nil, err
	}
	found, err := s.Suggestion(ctx, v, a.ID)
	return &SuggestionOutcome{Suggestion: found}, afterwards(err)
}

// requireVisible returns NOT_FOUND for a branch that the viewer may not see, whether it exists or not.
func requireVisible(ctx context.Context, t *library.ItemReading, branch *int) error {
	head, err := headOf(t.Header)
	if err != nil || head.branchOr(branch) == head.Current {
		return err
	}
	may, err := t.MayEdit(ctx)
	if err != nil || may {
		return err
	}
	return fault.NotFoundf([]string{"branch"}, "there is no branch %d, or you may not see it", *branch)
}

// Decision is a decision about a suggestion.
type Decision uint8

// The decisions.
const (
	Accept   Decision = 1 // by an editor: it becomes a revision
	Reject   Decision = 2 // by an editor
	Withdraw Decision = 3 // by its author
)

// DecideSuggestion is the input of Service.DecideSuggestion.
type DecideSuggestion struct {
	ID       string
	Decision Decision
	// Force accepts a suggestion although it was made from another revision than the current one.
	Force bool
}

// DecideSuggestion accepts, rejects or withdraws an OPEN suggestion.
func (s *Service) DecideSuggestion(ctx context.Context, v *principal.Viewer, in DecideSuggestion) (*SuggestionOutcome, error) {
	var faults fault.List
	id, ok := ParseTextID(in.ID)
	if !ok {
		faults = append(faults, fault.Invalidf([]string{"id"}, "not the id of a suggestion"))
	}
	// The tenant of the item is known only after the suggestion was read.
	if _, err := s.people.BeginSignedIn(v, commit.Call{Name: "decideSuggestion", Input: &in, Faults: faults}); err != nil {
		return nil, err
	}
	item, row, err := s.findSuggestion(ctx, id)
	if err != nil {
		return nil, err
	}
	c, err := s.begin(v, item, commit.Call{Name: "decideSuggestion", Input: &in})
	if err != nil {
		return nil, err
	}
	out, err := s.library.ChangeItem(ctx, v, library.ItemChange{
		Mutation: c.Mutation, ID: item, Path: "id",
		Rows: func(*library.Header) []library.RowKey {
			return []library.RowKey{localeKey(row.Branch, row.Locale), suggestionKey(id)}
		},
		Plan: func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			return s.planDecision(ctx, v, t, id, &in)
		},
	})
	if faults := fault.ListOf(err); len(faults) == 1 && faults[0].Code == fault.NotFound && slices.Equal(faults[0].Path, []string{"id"}) {
		err = noSuggestion() // nor an item that the viewer sees
	}
	if err != nil {
		return nil, err
	}
	a, err := decodeAnswer(out.Answer)
	if err != nil || out.Content == nil {
		return &SuggestionOutcome{Libraries: out.FanOut.Libraries}, err
	}
	found, err := s.Suggestion(ctx, v, in.ID)
	if err != nil || in.Decision != Accept {
		return &SuggestionOutcome{Suggestion: found, Libraries: out.FanOut.Libraries}, afterwards(err)
	}
	r, err := s.Revision(ctx, v, item, RevisionKey{Branch: a.Branch, Locale: a.Locale, Number: a.Number})
	return &SuggestionOutcome{Suggestion: found, Revision: r, Libraries: out.FanOut.Libraries}, afterwards(err)
}

// planDecision plans a decision. The rows of the reading are that of the locale and the suggestion.
func (s *Service) planDecision(ctx context.Context, v *principal.Viewer, t *library.ItemReading, id TextID,
	in *DecideSuggestion) (*library.Edit, error) {
	if t.Rows[1].Value == nil {
		return nil, noSuggestion()
	}
	row, err := decodeSuggestion(t.Rows[1].Value)
	if err != nil {
		return nil, err
	}
	editor, err := t.MayEdit(ctx)
	if err != nil {
		return nil, err
	}
	mine := row.Author == v.User
	switch {
	case !editor && !mine:
		return nil, noSuggestion()
	case in.Decision == Withdraw && !mine:
		return nil, fault.Forbiddenf([]string{"id"}, "only its author may withdraw a suggestion; reject it instead")
	case in.Decision != Withdraw && !editor:
		return nil, fault.Forbiddenf([]string{"id"}, "only an editor or a manager of the item may decide this; you may withdraw your suggestion")
	}
	e, at, l, err := s.atLocale(ctx, t, &row.Branch, row.Locale)
	if err != nil {
		return nil, err
	}
	done := answer{ID: id.String(), Branch: at.Branch, Locale: at.Locale}
	switch in.Decision {
	case Accept:
		if err = s.checkLocales(ctx, t.Header.ID, at, l); err == nil {
			done.Number, err = e.accept(id, row, l, v.User, s.engine.Now(), in.Force)
		}
	case Reject:
		err = e.decide(id, row, Rejected, v.User, None)
	case Withdraw:
		err = e.decide(id, row, Withdrawn, v.User, None)
	default:
		err = fault.Invalidf([]string{"decision"}, "a decision is ACCEPT, REJECT or WITHDRAW")
	}
	if err != nil {
		return nil, err
	}
	return e.libraryEdit(done.encode()), nil
}

func noSuggestion() error {
	return fault.NotFoundf([]string{"id"}, "there is no such suggestion, or you may not see it")
}

// noItem is an item that cannot exist, of a tenant that nobody can administer: looking for it costs administrators
// as much as looking for an item that they do not see.
const noItem = library.ContentID("c:-:/")

// findSuggestion returns the item and the row of a suggestion. If there is none it does the same
// reads, and returns noItem.
func (s *Service) findSuggestion(ctx context.Context, id TextID) (library.ContentID, suggestionRow, error) {
	texts, err := s.store.ReadTexts(ctx, []TextID{id})
	if err != nil {
		return "", suggestionRow{}, err
	}
	item := texts[0].Item
	if item == "" || texts[0].Row != suggestionKey(id) {
		item = noItem
	}
	read, err := s.contents.Read(ctx, item, library.ContentQuery{Rows: []library.RowKey{suggestionKey(id)}})
	if err != nil || read.Rows[0].Value == nil {
		return item, suggestionRow{Branch: 1}, err
	}
	row, err := decodeSuggestion(read.Rows[0].Value)
	return item, row, err
}
