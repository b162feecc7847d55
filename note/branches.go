package note

import (
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// CreateBranch is the input of Service.CreateBranch.
type CreateBranch struct {
	ContentID string
	// CopyFrom is the branch whose current texts are copied; nil for an empty branch.
	CopyFrom       *int
	IdempotencyKey *string
}

// BranchOutcome is the result of a mutation of a branch.
type BranchOutcome struct {
	Content *library.Content // nil if the actor may not (or no longer) see it
	Branch  *Branch          // likewise
	// Libraries is how many libraries the change affects.
	Libraries int
}

// CreateBranch adds a branch to an item. Only editors may add one. The new branch is not current.
func (s *Service) CreateBranch(ctx context.Context, v *principal.Viewer, in CreateBranch) (*BranchOutcome, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	c, err := s.begin(v, id, commit.Call{Name: "createBranch", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.changeBranch(ctx, c, noRows, func(ctx context.Context, t *library.ItemReading, e *edit) (int, error) {
		row := branchRow{CreatedAt: s.engine.Now(), By: v.User}
		var texts []copied
		if in.CopyFrom != nil {
			if err := e.head.requireBranch(*in.CopyFrom, "copyFrom"); err != nil {
				return 0, err
			}
			row.CopiedFrom = *in.CopyFrom
			var err error
			if texts, err = s.currentTexts(ctx, id, *in.CopyFrom); err != nil {
				return 0, err
			}
		}
		return e.branch(row, texts)
	})
}

func noRows(*library.Header) []library.RowKey { return nil }

// currentTexts reads the current revisions of a branch, ordered by locale.
func (s *Service) currentTexts(ctx context.Context, id library.ContentID, branch int) ([]copied, error) {
	localeRows, err := s.localeRows(ctx, id, branch)
	if err != nil {
		return nil, err
	}
	var texts []copied
	var keys []library.RowKey
	for _, l := range localeRows {
		if l.Current != None {
			texts, keys = append(texts, copied{locale: l.locale}), append(keys, revisionKey(branch, l.locale, l.Current))
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := s.stored(ctx, id, keys, nil)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if texts[i].row, err = decodeRevision(r.Value); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// storedLocale is a locale of a branch with its row.
type storedLocale struct {
	locale string
	LocaleRow
}

// localeRows reads the rows of all locales of a branch, ordered by locale.
func (s *Service) localeRows(ctx context.Context, id library.ContentID, branch int) ([]storedLocale, error) {
	slice := localeSlice(id, branch)
	slice.Limit = MaxLocales
	rows, err := s.contents.PageRows(ctx, slice)
	if err != nil {
		return nil, err
	}
	localeRows := make([]storedLocale, len(rows))
	for i, r := range rows {
		localeRows[i].locale = localeOf(r.Key)
		if localeRows[i].LocaleRow, err = decodeLocaleRow(r.Value); err != nil {
			return nil, err
		}
	}
	return localeRows, nil
}

// SetCurrentBranch is the input of Service.SetCurrentBranch.
type SetCurrentBranch struct {
	ContentID string
	Branch    int
	// Working sets the branch that editors work on instead of the one that visitors see.
	Working bool
}

// SetCurrentBranch changes the branch that visitors see, or the one that editors work on.
func (s *Service) SetCurrentBranch(ctx context.Context, v *principal.Viewer, in SetCurrentBranch) (*BranchOutcome, error) {
	var faults fault.List
	id := checkItem(&faults, in.ContentID)
	c, err := s.begin(v, id, commit.Call{Name: "setCurrentBranch", Input: &in, Faults: faults})
	if err != nil {
		return nil, err
	}
	ownLocale := func(h *library.Header) []library.RowKey {
		return []library.RowKey{localeKey(in.Branch, guessHead(h).Locale)}
	}
	return s.changeBranch(ctx, c, ownLocale, func(ctx context.Context, t *library.ItemReading, e *edit) (int, error) {
		if err := e.head.requireBranch(in.Branch, "branch"); err != nil {
			return 0, err
		}
		if in.Working {
			if e.head.Working == in.Branch {
				return in.Branch, errNothing
			}
			e.head.Working = in.Branch
			return in.Branch, nil
		}
		localeRows, own, err := s.shownBy(ctx, t, in.Branch)
		if err == nil && !e.makeCurrent(in.Branch, localeRows, own) {
			err = errNothing
		}
		return in.Branch, err
	})
}

// shownBy returns the locales of a branch, and the current revision of the item's own locale in it,
// or nil if there is none. The row of that locale must be the first row of t. If nothing was
// published in the branch, visitors would see nothing, and shownBy returns an error.
func (s *Service) shownBy(ctx context.Context, t *library.ItemReading, branch int) ([]storedLocale, *revisionRow, error) {
	localeRows, err := s.localeRows(ctx, t.Header.ID, branch)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(localeRows, func(l storedLocale) bool { return l.Current != None }) {
		return nil, nil, fault.Emptyf([]string{"branch"}, "branch %d is empty: publish a revision in it first", branch)
	}
	own, err := decodeLocaleRow(t.Rows[0].Value)
	if err != nil || own.Current == None {
		return localeRows, nil, err
	}
	key := revisionKey(branch, guessHead(t.Header).Locale, own.Current)
	rows, err := s.stored(ctx, t.Header.ID, []library.RowKey{key}, nil)
	if err != nil {
		return nil, nil, err
	}
	row, err := decodeRevision(rows[0].Value)
	return localeRows, &row, err
}

// changeBranch runs an editor's change of one branch. plan returns the number of the branch, and
// errNothing if nothing changes.
func (s *Service) changeBranch(ctx context.Context, c change, rows func(*library.Header) []library.RowKey,
	plan func(ctx context.Context, t *library.ItemReading, e *edit) (int, error)) (*BranchOutcome, error) {
	var done []byte
	out, err := s.library.ChangeItem(ctx, c.v, library.ItemChange{
		Mutation: c.Mutation, ID: c.id, Path: "contentId", Editors: true, Rows: rows,
		Plan: func(ctx context.Context, t *library.ItemReading) (*library.Edit, error) {
			head, err := headOf(t.Header)
			if err != nil {
				return nil, err
			}
			e := &edit{head: head}
			n, err := plan(ctx, t, e)
			done = answer{Branch: n}.encode()
			if err == errNothing {
				return nil, nil
			}
			return e.libraryEdit(done), err
		},
	})
	if err != nil {
		return nil, err
	}
	if out.Answer != nil {
		done = out.Answer
	}
	a, err := decodeAnswer(done)
	if err != nil || out.Content == nil {
		return &BranchOutcome{Libraries: out.FanOut.Libraries}, err
	}
	b, err := s.Branch(ctx, c.v, c.id, &a.Branch, false)
	return &BranchOutcome{Content: out.Content, Branch: b, Libraries: out.FanOut.Libraries}, afterwards(err)
}
