package note

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// PublishDraft is the input of Service.PublishDraft.
type PublishDraft struct {
	ContentID string
	Branch    *int
	Locale    *string
	// Force publishes a draft although it was made from another revision than the current one.
	Force bool
}

// PublishDraft saves the viewer's draft as a revision, makes it the current one, and removes the
// draft. It returns REVISION_CONFLICT in the same cases as SaveRevision.
func (s *Service) PublishDraft(ctx context.Context, v *principal.Viewer, in PublishDraft) (*RevisionOutcome, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	locale := checkLocale(&faults, in.Locale)
	c, err := s.begin(v, id, commit.Call{Name: "publishDraft", Input: &in, Faults: faults})
	if err != nil {
		return nil, err
	}
	var d DraftRow
	var row draftRow
	var body []string
	err = s.engine.WithBudget(ctx, c.Budget, func(ctx context.Context) error {
		_, at, err := s.draftTarget(ctx, c, in.Branch, locale)
		if err != nil {
			return err
		}
		rows, err := s.store.ReadDrafts(ctx, v.User, []string{draftName(id, at)}, false)
		if err != nil {
			return err
		}
		if d = rows[0]; d.Name == "" {
			return fault.NotFoundf([]string{"contentId"}, "you have no draft in this locale of branch %d", at.Branch)
		}
		if row, err = decodeDraft(d.Value); err != nil {
			return err
		}
		faults.Add(library.CheckTitle(row.Title), "title")
		if err := faults.OrNil(); err != nil {
			return err
		}
		body, err = s.bodies(ctx, []text{row.Text})
		return err
	})
	if err != nil {
		return nil, err
	}
	m, err := s.publishing(v.User, d.Name, d.Token)
	if err != nil {
		return nil, err
	}
	c.Request = m.Request
	out, err := s.save(ctx, c, saving{
		SaveRevision: SaveRevision{Branch: &row.At.Branch, Title: row.Title, Body: body[0], BaseRevision: &row.Base, Publish: true},
		locale:       row.At.Locale, force: in.Force, field: "force",
	})
	if err == nil {
		// If this fails, the next reader of the draft removes it.
		_ = s.texts.dropDraft(ctx, d, row.Text)
	}
	return out, err
}

// DiscardDraft is the input of Service.DiscardDraft.
type DiscardDraft struct {
	ContentID string
	Branch    *int
	Locale    *string
}

// DiscardDraft removes the viewer's draft. discarded is false if there was none.
func (s *Service) DiscardDraft(ctx context.Context, v *principal.Viewer, in DiscardDraft) (discarded bool, err error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	locale := checkLocale(&faults, in.Locale)
	m, err := s.people.BeginSignedIn(v, commit.Call{Name: "discardDraft", Input: &in, Faults: faults})
	if err != nil {
		return false, err
	}
	err = s.engine.WithBudget(ctx, m.Budget, func(ctx context.Context) error {
		p, err := s.see(ctx, v, id)
		if err != nil || p == nil {
			return err
		}
		at := branchLocale{p.head.branchOr(in.Branch), locale}
		for range commit.MaxTries {
			d, err := s.readDraft(ctx, v.User, draftName(id, at))
			if err != nil || d == nil {
				return err
			}
			if err := s.texts.dropDraft(ctx, d.DraftRow, d.Text); err != nil {
				return err
			}
			discarded = true // try again, because another version may have been saved meanwhile
		}
		return nil
	})
	return discarded, err
}
