package note

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// SaveDraft is the input of Service.SaveDraft.
type SaveDraft struct {
	ContentID string
	Branch    *int // the current one when nil
	Locale    *string
	Title     string // may be empty
	Body      string
	// BaseRevision is the revision that the text is made from. If it is nil, the base does not
	// change, and that of a new draft is the current revision.
	BaseRevision *int
	// ExpectedVersion is the version that the text was made from, 0 for a new draft. If it is
	// nil, any stored version is replaced.
	ExpectedVersion *int
}

// SaveDraft stores the viewer's draft for a branch and locale of an item. Only editors have drafts.
//
// Errors: UNAUTHENTICATED; FORBIDDEN; NOT_FOUND; the faults of the input; CONFLICT for
// another version; TOO_MANY; CONTENTION; those of the store.
func (s *Service) SaveDraft(ctx context.Context, v *principal.Viewer, in SaveDraft) (*Draft, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	locale := checkLocale(&faults, in.Locale)
	if in.Title != "" {
		faults.Add(library.CheckTitle(in.Title), "title")
	}
	faults.Add(library.CheckBody(in.Body), "body")
	c, err := s.begin(v, id, commit.Call{Name: "saveDraft", Input: &in, Faults: faults})
	if err != nil {
		return nil, err
	}
	var saved *Draft
	err = s.engine.WithBudget(ctx, c.Budget, func(ctx context.Context) error {
		for range commit.MaxTries {
			item, at, err := s.draftTarget(ctx, c, in.Branch, locale)
			if err != nil {
				return err
			}
			if saved, err = s.saveDraft(ctx, v.User, item, at, &in); err != nil || saved != nil {
				return err
			}
		}
		return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonContention, RetryAfter: 1,
			Msg: "this draft is being saved by too many requests at the same time; try again"}
	})
	return saved, err
}

// draftTarget returns the item, branch and locale of an editor's draft. Each try calls it.
func (s *Service) draftTarget(ctx context.Context, c change, branch *int, locale string) (*library.Content, branchLocale, error) {
	c.v.Forget()
	items, err := s.library.Items(ctx, c.v, []library.ContentID{c.id})
	if err != nil {
		return nil, branchLocale{}, err
	}
	if items[0] == nil || !items[0].Permissions.CanEdit {
		// Only stored users and administrators have CanEdit.
		if err := c.CheckActor(ctx); err != nil {
			return nil, branchLocale{}, err
		}
	}
	if items[0] == nil {
		return nil, branchLocale{}, fault.NotFoundf([]string{"contentId"}, "there is no such content, or you may not see it")
	}
	if !items[0].Permissions.CanEdit {
		return nil, branchLocale{}, fault.Forbiddenf([]string{"contentId"}, "only an editor or a manager of the item may do this")
	}
	h := items[0].Header
	head, err := headOf(h)
	if err != nil {
		return nil, branchLocale{}, err
	}
	at := branchLocale{head.branchOr(branch), locale}
	return &h.Content, at, head.requireBranch(at.Branch, "branch")
}

// saveDraft stores a version of a draft. It returns nil if another one was stored meanwhile.
func (s *Service) saveDraft(ctx context.Context, user principal.ID, item *library.Content, at branchLocale, in *SaveDraft) (*Draft, error) {
	name := draftName(item.ID, at)
	before, err := s.readDraft(ctx, user, name)
	if err != nil {
		return nil, err
	}
	row := draftRow{Item: item.ID, At: at, Title: in.Title, Version: 1, UpdatedAt: s.engine.Now()}
	var l LocaleRow
	var over *TextID
	began, stored := sched.Present(s.rt), s.engine.StoreNow()
	if before != nil {
		row.Base, row.Version, l, over = before.Base, before.Version+1, before.localeRow, &before.Token
		stored = max(stored, before.Token.At().Add(time.Millisecond))
	} else {
		if err := s.makeSpace(ctx, user); err != nil {
			return nil, err
		}
		if l, err = s.localeRow(ctx, item.ID, at); err != nil {
			return nil, err
		}
		row.Base = l.Current
	}
	if err := in.checkVersion(row.Version - 1); err != nil {
		if again, unread := s.savedBefore(ctx, before, in); unread != nil || !again {
			return nil, cmp.Or(unread, err)
		}
		return before.shown(item), nil
	}
	if in.BaseRevision != nil {
		if row.Base = *in.BaseRevision; row.Base < 0 || row.Base > l.Last {
			return nil, fault.OutOfRangef([]string{"baseRevision"}, "there is no revision %d in this locale of branch %d", row.Base, at.Branch)
		}
	}
	d := DraftRow{User: user, Name: name, Token: newTextID(stored, s.rt.Random)}
	current, err := s.putWithBody(ctx, began, &d, &row, in.Body, over)
	if err != nil {
		return nil, err
	}
	if current.Token != d.Token {
		s.texts.dropText(ctx, row.Text)
		return nil, nil
	}
	if before != nil {
		s.texts.dropText(ctx, before.Text)
	}
	if err := s.unlessDeleted(ctx, d, row.Text); err != nil {
		return nil, err
	}
	return (&storedDraft{d, row, l}).shown(item), nil
}

// putWithBody stores a body, and then d with its row that refers to it, for a mutation that began at
// a moment. It returns the draft that is stored then, as Store.PutDraft does.
func (s *Service) putWithBody(ctx context.Context, began sched.Moment, d *DraftRow, row *draftRow, body string,
	over *TextID) (DraftRow, error) {
	row.Text = text{Body: body, Size: len(body)}
	var put func(context.Context) error
	if len(body) > inline {
		row.Text = text{ID: d.Token, Size: len(body)}
		put = func(ctx context.Context) error {
			return s.texts.putText(ctx, Text{ID: d.Token, Item: row.Item, Row: draftText(d.User, d.Name), Body: body})
		}
		if err := put(ctx); err != nil {
			return DraftRow{}, err
		}
	}
	d.Value = row.encode()
	if commit.Stopped(s.rt, began) {
		return DraftRow{}, commit.ErrStopped
	}
	current, err := s.putDraft(ctx, *d, over)
	failed := commit.RestoreIfStopped(ctx, s.rt, began, put)
	if err = cmp.Or(err, failed); err != nil {
		return DraftRow{}, fault.Unavailablef(err, "the store did not confirm the draft; save it again")
	}
	return current, nil
}

// putDraft stores d like Store.PutDraft. If the answer of the store is lost, it reads whether d is stored. It
// does not send d again: that could bring back a draft that was stored and then discarded, whose text is gone.
func (s *Service) putDraft(ctx context.Context, d DraftRow, over *TextID) (DraftRow, error) {
	current, err := s.store.PutDraft(ctx, d, over)
	if err == nil || !fault.MayHaveCommitted(err) {
		return current, err
	}
	rows, unread := s.store.ReadDrafts(ctx, d.User, []string{d.Name}, true)
	if unread != nil || rows[0].Token != d.Token {
		return DraftRow{}, err
	}
	return rows[0], nil
}

// savedBefore reports whether the stored draft is what the input saves: the version after the expected one,
// with the same text. Then the answer to an earlier save was lost, and this one repeats it.
func (s *Service) savedBefore(ctx context.Context, d *storedDraft, in *SaveDraft) (bool, error) {
	if d == nil || d.Version-1 != *in.ExpectedVersion || d.Title != in.Title || d.Text.Size != len(in.Body) ||
		in.BaseRevision != nil && *in.BaseRevision != d.Base {
		return false, nil
	}
	body, err := s.bodies(ctx, []text{d.Text})
	if errors.Is(err, errGone) {
		return false, nil // another version was saved meanwhile
	}
	return err == nil && body[0] == in.Body, err
}

// unlessDeleted removes a draft that was saved after its user was deleted, because the deletion of the
// user's drafts may have missed it.
func (s *Service) unlessDeleted(ctx context.Context, d DraftRow, body text) error {
	gone, err := s.people.DeletedOf(ctx, []principal.ID{d.User})
	if err != nil {
		return fault.Unavailablef(err, "the store did not confirm the draft; save it again")
	}
	if len(gone) == 0 {
		return nil
	}
	if err := s.texts.dropDraft(ctx, d, body); err != nil {
		return err
	}
	return fault.Forbiddenf(nil, "your user %s was deleted, and its id is not used again", d.User)
}

// checkVersion returns an error if the text was not made from the stored version.
func (in *SaveDraft) checkVersion(current int) error {
	if in.ExpectedVersion == nil || *in.ExpectedVersion == current {
		return nil
	}
	msg := fmt.Sprintf("version %d of this draft is stored: read it, and save with expectedVersion %d", current, current)
	if current == 0 {
		msg = "there is no such draft any more: it was published or discarded; save with expectedVersion 0 to begin another"
	}
	return fault.VersionConflict(current, msg)
}

// localeRow reads the row of a branch and locale.
func (s *Service) localeRow(ctx context.Context, item library.ContentID, at branchLocale) (LocaleRow, error) {
	read, err := s.contents.Read(ctx, item, library.ContentQuery{Rows: []library.RowKey{at.rowKey()}})
	if err != nil {
		return LocaleRow{}, err
	}
	return decodeLocaleRow(read.Rows[0].Value)
}

// makeSpace returns an error if a user has as many drafts as allowed. It first removes drafts of
// deleted items.
func (s *Service) makeSpace(ctx context.Context, user principal.ID) error {
	all, err := s.store.ListDrafts(ctx, user)
	if err != nil || len(all) < MaxDrafts {
		return err
	}
	remaining := len(all)
	for stored, err := range draftPages(ctx, s.store, user, all, MaxDraftRows) {
		if err != nil {
			return err
		}
		n, err := s.dropOrphans(ctx, stored)
		if err != nil {
			return err
		}
		remaining -= n
	}
	if remaining < MaxDrafts {
		return nil
	}
	return fault.TooManyf(nil, "you have %d drafts, and nobody may have more: publish or discard some", MaxDrafts)
}

// dropOrphans removes those of the drafts whose items were deleted, and returns how many.
func (s *Service) dropOrphans(ctx context.Context, drafts []DraftRow) (int, error) {
	n := 0
	for _, stored := range drafts {
		row, err := decodeDraft(stored.Value)
		if err != nil {
			return n, err
		}
		read, err := s.contents.Read(ctx, row.Item, library.ContentQuery{})
		if err != nil {
			return n, err
		}
		if read.Header.State == commit.Live {
			continue
		}
		if err := s.texts.dropDraft(ctx, stored, row.Text); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
