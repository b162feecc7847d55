package note

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// SaveRevision is the input of Service.SaveRevision.
type SaveRevision struct {
	ContentID    string
	Branch       *int    // the current one when nil
	Locale       *string // nil if the text is not translatable
	Title, Body  string
	BaseRevision *int
	// Publish makes the revision the current one.
	Publish        bool
	IdempotencyKey *string
}

// RevisionOutcome is the result of a mutation of a revision.
type RevisionOutcome struct {
	Content  *library.Content // nil if the actor may not (or no longer) see it
	Revision *Revision        // likewise
	// Libraries is how many libraries the change affects.
	Libraries int
}

// SaveRevision adds a revision to a locale of a branch. Only editors may do so. It returns
// REVISION_CONFLICT if the text was made from another revision than the current one.
func (s *Service) SaveRevision(ctx context.Context, v *principal.Viewer, in SaveRevision) (*RevisionOutcome, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	locale := checkLocale(&faults, in.Locale)
	faults.Add(library.CheckTitle(in.Title), "title")
	faults.Add(library.CheckBody(in.Body), "body")
	c, err := s.begin(v, id, commit.Call{Name: "saveRevision", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.save(ctx, c, saving{SaveRevision: in, locale: locale, field: "baseRevision"})
}

// saving is a checked SaveRevision.
type saving struct {
	SaveRevision
	locale string
	// force saves the text whatever revision is current. Its base is still recorded.
	force bool
	field string // see checkBase
}

func (s *Service) save(ctx context.Context, c change, in saving) (*RevisionOutcome, error) {
	body := &pending{s: s.texts, item: c.id, body: in.Body}
	var made Revision
	change := library.ItemChange{
		Rows: func(h *library.Header) []library.RowKey {
			head := guessHead(h)
			return []library.RowKey{branchLocale{head.branchOr(in.Branch), in.locale}.rowKey()}
		},
		Plan: func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			e, at, l, err := s.atLocale(ctx, t, in.Branch, in.locale)
			if err != nil {
				return nil, err
			}
			if !in.force {
				if err := checkBase(in.BaseRevision, l, in.field); err != nil {
					return nil, err
				}
			}
			if err := s.checkLocales(ctx, t.Header.ID, at, l); err != nil {
				return nil, err
			}
			base := None
			if in.BaseRevision != nil {
				base = *in.BaseRevision
			}
			row := revisionRow{Title: in.Title, Author: c.v.User, CreatedAt: s.engine.Now(), Base: base}
			if row.Text, err = body.put(ctx, revisionKey(at.Branch, at.Locale, l.Last+1)); err != nil {
				return nil, err
			}
			n, err := e.save(at, l, row, in.Publish)
			if err != nil {
				return nil, err
			}
			made = Revision{
				RevisionKey: RevisionKey{at.Branch, at.Locale, n}, Title: row.Title, Author: row.Author, CreatedAt: row.CreatedAt,
				BaseRevision: orNil(row.Base), IsCurrent: in.Publish, IsWorking: true, text: row.Text,
			}
			edit := e.libraryEdit(answer{Branch: at.Branch, Locale: at.Locale, Number: n}.encode())
			edit.Restore = body.restore
			return edit, nil
		},
	}
	change.Mutation, change.ID, change.Path, change.Editors = c.Mutation, c.id, "contentId", true
	out, err := s.library.ChangeItem(ctx, c.v, change)
	if err != nil {
		return nil, err
	}
	if out.Repeated || out.Content == nil {
		return s.revisionOutcome(ctx, c.v, out)
	}
	made.Content = out.Content
	return &RevisionOutcome{Content: out.Content, Revision: &made, Libraries: out.FanOut.Libraries}, nil
}

// atLocale begins an edit of a branch and locale, whose row is the first one of the reading.
func (s *Service) atLocale(_ context.Context, t *library.ItemReading, branch *int, locale string) (*edit, branchLocale, LocaleRow, error) {
	head, err := headOf(t.Header)
	if err != nil {
		return nil, branchLocale{}, LocaleRow{}, err
	}
	at := branchLocale{head.branchOr(branch), locale}
	if err := head.requireBranch(at.Branch, "branch"); err != nil {
		return nil, branchLocale{}, LocaleRow{}, err
	}
	l, err := decodeLocaleRow(t.Rows[0].Value)
	return &edit{head: head}, at, l, err
}

// checkLocales returns an error for a new locale of a branch that has as many as allowed.
func (s *Service) checkLocales(ctx context.Context, id library.ContentID, at branchLocale, l LocaleRow) error {
	if l.Last != None {
		return nil
	}
	slice := localeSlice(id, at.Branch)
	slice.Limit = MaxLocales
	rows, err := s.contents.PageRows(ctx, slice)
	if err == nil && len(rows) == MaxLocales {
		err = fault.TooManyf([]string{"locale"}, "a branch has at most %d locales", MaxLocales)
	}
	return err
}

// revisionOutcome reads the current state of the revision that was changed.
func (s *Service) revisionOutcome(ctx context.Context, v *principal.Viewer, out *library.ContentOutcome) (*RevisionOutcome, error) {
	a, err := decodeAnswer(out.Answer)
	if err != nil || out.Content == nil {
		return &RevisionOutcome{Libraries: out.FanOut.Libraries}, err
	}
	r, err := s.Revision(ctx, v, out.ID, RevisionKey{Branch: a.Branch, Locale: a.Locale, Number: a.Number})
	return &RevisionOutcome{Content: out.Content, Revision: r, Libraries: out.FanOut.Libraries}, afterwards(err)
}

// PublishRevision is the input of Service.PublishRevision.
type PublishRevision struct {
	ContentID string
	Branch    int
	Locale    *string
	Number    int
}

// PublishRevision makes a revision the current one of its locale and branch. Publishing an older one
// is a rollback. The working revision does not change.
func (s *Service) PublishRevision(ctx context.Context, v *principal.Viewer, in PublishRevision) (*RevisionOutcome, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	locale := checkLocale(&faults, in.Locale)
	c, err := s.begin(v, id, commit.Call{Name: "publishRevision", Input: &in, Faults: faults})
	if err != nil {
		return nil, err
	}
	done := answer{Branch: in.Branch, Locale: locale, Number: in.Number}
	out, err := s.library.ChangeItem(ctx, v, library.ItemChange{
		Mutation: c.Mutation, ID: id, Path: "contentId", Editors: true,
		Rows: func(*library.Header) []library.RowKey {
			return []library.RowKey{localeKey(in.Branch, locale), revisionKey(in.Branch, locale, in.Number)}
		},
		Plan: func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			e, at, l, err := s.atLocale(ctx, t, &in.Branch, locale)
			if err != nil {
				return nil, err
			}
			if t.Rows[1].Value == nil {
				return nil, fault.NotFoundf([]string{"number"}, "there is no revision %d in this locale of branch %d", in.Number, in.Branch)
			}
			row, err := decodeRevision(t.Rows[1].Value)
			if err != nil || !e.publish(at, l, in.Number, row, t.Header.Title) {
				return nil, err
			}
			return e.libraryEdit(done.encode()), nil
		},
	})
	if err != nil {
		return nil, err
	}
	out.Answer = done.encode()
	return s.revisionOutcome(ctx, v, out)
}
