package note

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// exportRows is how many rows of an item an export reads at once. The body of each may have
// 512 KiB.
const exportRows = 20

// ExportPage implements exchange.Pages. It first exports a revision in the item's own locale,
// because an import takes the locale of the first revision for the item's own.
func (u Upkeep) ExportPage(ctx context.Context, h *library.Header, to exchange.Sink) error {
	head, err := DecodeHead(h.Page)
	if err != nil {
		return fmt.Errorf("%s: %w", h.ID, err)
	}
	x := exporting{s: u.s, id: h.ID, head: head, last: map[branchLocale]int{}, to: to}
	var all []exportedLocale
	for n := 1; n <= head.Last; n++ {
		if err := x.branch(ctx, n); err != nil {
			return err
		}
		localeRows, err := u.s.localeRows(ctx, h.ID, n)
		if err != nil {
			return err
		}
		for _, l := range localeRows {
			at := branchLocale{n, l.locale}
			all = append(all, exportedLocale{at, l.LocaleRow})
			x.last[at] = l.Last
		}
	}
	for _, own := range []bool{true, false} {
		for _, l := range all {
			if (l.Locale == head.Locale) != own {
				continue
			}
			if err := x.revisions(ctx, l); err != nil {
				return err
			}
		}
	}
	return x.suggestions(ctx)
}

// exporting is a running export of one page.
type exporting struct {
	s    *Service
	id   library.ContentID
	head Head
	// last has the number of the last exported revision of each exported locale.
	last map[branchLocale]int
	to   exchange.Sink
}

type exportedLocale struct {
	branchLocale
	LocaleRow
}

// orNilIfEmpty returns a text, or nil for the empty one.
func orNilIfEmpty[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	value := string(s)
	return &value
}

// branch exports a branch. Branch 1 exists from the start, so it is not exported.
func (x *exporting) branch(ctx context.Context, n int) error {
	if n == 1 {
		return nil
	}
	rows, err := x.s.stored(ctx, x.id, []library.RowKey{branchKey(n)}, nil)
	if err != nil {
		return err
	}
	row, err := decodeBranch(rows[0].Value)
	if err != nil {
		return err
	}
	value := &exchange.ImportBranch{
		Content: string(x.id), Number: n, CreatedAt: &row.CreatedAt, CreatedBy: string(row.By),
		Current: n == x.head.Current, Working: n == x.head.Working,
	}
	if row.CopiedFrom != 0 {
		value.CopiedFrom = &row.CopiedFrom
	}
	return x.to(&exchange.Line{Type: exchange.TypeBranch, Branch: value})
}

// rows calls write with the rows of a kind from one key to another, a few at a time.
func (x *exporting) rows(ctx context.Context, kind library.RowKind, from, to string, write func([]library.Row) error) error {
	for more := true; more; {
		rows, err := x.s.contents.PageRows(ctx, library.RowSlice{Content: x.id, Kind: kind, From: from, To: to, Limit: exportRows})
		if err != nil {
			return err
		}
		if err := write(rows); err != nil {
			return err
		}
		if more = len(rows) == exportRows; more {
			from = rows[len(rows)-1].Key + "\x00"
		}
	}
	return nil
}

// revisions exports the revisions of a locale.
func (x *exporting) revisions(ctx context.Context, l exportedLocale) error {
	from, to := revisionKey(l.Branch, l.branchLocale.Locale, 0).Key, revisionKey(l.Branch, l.branchLocale.Locale, l.Last).Key+"\x00"
	return x.rows(ctx, revisionKind, from, to, func(rows []library.Row) error {
		decoded, texts := make([]revisionRow, len(rows)), make([]text, len(rows))
		for i, r := range rows {
			var err error
			if decoded[i], err = decodeRevision(r.Value); err != nil {
				return err
			}
			texts[i] = decoded[i].Text
		}
		bodies, err := x.s.bodies(ctx, texts)
		if err != nil {
			return err
		}
		for i, row := range decoded {
			_, _, n, err := revisionOf(rows[i].Key)
			if err != nil {
				return err
			}
			err = x.to(&exchange.Line{Type: exchange.TypeRevision, Revision: &exchange.ImportRevision{
				Content: string(x.id), Branch: l.Branch, Locale: orNilIfEmpty(l.branchLocale.Locale), Number: n, Title: row.Title, Body: bodies[i],
				Author: string(row.Author), CreatedAt: &row.CreatedAt, BaseRevision: orNil(row.Base), Suggestion: orNilIfEmpty(row.Suggestion),
				Current: n == l.Current,
			}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// suggestions exports the suggestions of the item, oldest first. They refer to exported revisions only: one
// that was accepted during the export is OPEN, and one for a newer branch or revision is left out.
func (x *exporting) suggestions(ctx context.Context) error {
	return x.rows(ctx, suggestionKind, "", "", func(rows []library.Row) error {
		decoded, texts := make([]suggestionRow, len(rows)), make([]text, len(rows))
		for i, r := range rows {
			var err error
			if decoded[i], err = decodeSuggestion(r.Value); err != nil {
				return err
			}
			id, ok := ParseTextID(r.Key)
			if !ok {
				return errRow
			}
			texts[i] = text{ID: id, Size: decoded[i].Size}
		}
		bodies, err := x.s.bodies(ctx, texts)
		if err != nil {
			return err
		}
		for i, row := range decoded {
			last, ok := x.last[branchLocale{row.Branch, row.Locale}]
			if !ok {
				last = None
			}
			if row.Branch > x.head.Last || row.Base > last {
				continue
			}
			if row.State == Accepted && row.Revision > last {
				row.State, row.DecidedBy, row.Revision = Open, "", None
			}
			state := row.State.String()
			err := x.to(&exchange.Line{Type: exchange.TypeSuggestion, Suggestion: &exchange.ImportSuggestion{
				ID: rows[i].Key, Content: string(x.id), Branch: row.Branch, Locale: orNilIfEmpty(row.Locale), Title: row.Title, Body: bodies[i],
				Note: row.Note, Author: string(row.Author), CreatedAt: &row.CreatedAt, BaseRevision: orNil(row.Base), State: &state,
				DecidedBy: orNilIfEmpty(row.DecidedBy), Revision: orNil(row.Revision),
			}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ExportDrafts implements exchange.Pages.
func (u Upkeep) ExportDrafts(ctx context.Context, user principal.ID, to exchange.Sink) error {
	all, err := u.s.store.ListDrafts(ctx, user)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	for stored, err := range draftPages(ctx, u.s.store, user, all, exportRows) {
		if err != nil {
			return err
		}
		for _, d := range stored {
			if err := u.s.exportDraft(ctx, d, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// exportDraft exports a draft, unless it was published, or it or its item was deleted.
func (s *Service) exportDraft(ctx context.Context, stored DraftRow, to exchange.Sink) error {
	row, err := decodeDraft(stored.Value)
	if err != nil {
		return err
	}
	m, err := s.publishing(stored.User, stored.Name, stored.Token)
	if err != nil {
		return err
	}
	read, err := s.contents.Read(ctx, row.Item, library.ContentQuery{Request: m.Request.Lookup()})
	if err != nil || read.Header.State != commit.Live || !read.Header.Exists(s.engine.Now()) {
		return err
	}
	if published, err := m.Request.Answered(read.Request, s.engine.Now()); err != nil || published {
		return err
	}
	bodies, err := s.bodies(ctx, []text{row.Text})
	if err != nil {
		return err
	}
	return to(&exchange.Line{Type: exchange.TypeDraft, Draft: &exchange.ImportDraft{
		Content: string(row.Item), Author: string(stored.User), Branch: row.At.Branch, Locale: orNilIfEmpty(row.At.Locale), Title: row.Title,
		Body: bodies[0], BaseRevision: orNil(row.Base), Version: &row.Version, UpdatedAt: &row.UpdatedAt,
	}})
}
