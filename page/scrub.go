package page

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// garbageAfter is how old a text must be before the scrubber removes it. A mutation that
// has stored its text writes the row that refers to it, or gives up, within seconds.
const garbageAfter = time.Hour

// draftText returns what a text refers to that is the body of a draft.
func draftText(user principal.ID, name string) library.RowKey {
	return library.RowKey{Key: string(user) + " " + name}
}

// ScrubTexts looks at the next texts after one, at most limit, and removes those that no
// row refers to: a crash or a lost race has left them behind. It returns the last text that
// it has looked at, and the number of texts looked at and removed.
func (s *Service) ScrubTexts(ctx context.Context, after [16]byte, limit int) (last [16]byte, seen, removed int, err error) {
	texts, err := s.store.ScanTexts(ctx, after, limit)
	if err != nil || len(texts) == 0 {
		return after, 0, 0, err
	}
	now := s.library.StoreNow()
	var garbage []Text
	for _, t := range texts {
		if t.ID.At() > now.Add(-garbageAfter) {
			continue
		}
		kept, err := s.refersTo(ctx, t, false)
		if err != nil {
			return after, 0, 0, err
		}
		if !kept {
			garbage = append(garbage, t)
		}
	}
	removed, err = s.dropGarbage(ctx, garbage, now)
	return texts[len(texts)-1].ID, len(texts), removed, err
}

// dropGarbage removes texts that no row refers to and no change in flight will refer to.
// The in-flight lists are read before the rows: a change that has left them has its row.
func (s *Service) dropGarbage(ctx context.Context, texts []Text, now clock.Instant) (removed int, err error) {
	if len(texts) == 0 {
		return 0, nil
	}
	open, err := s.library.OpenLists(ctx)
	if err != nil {
		return 0, err
	}
	for _, t := range texts {
		if open.MayHold(t.Item, t.ID.At(), now) {
			continue
		}
		kept, err := s.refersTo(ctx, t, true)
		if err != nil || kept {
			if err != nil {
				return removed, err
			}
			continue
		}
		if err := s.store.DropTexts(ctx, []TextID{t.ID}); err != nil {
			return removed, fmt.Errorf("removing a text of %s: %w", t.Item, err)
		}
		removed++
	}
	return removed, nil
}

// refersTo reports whether the row that a text was stored for refers to it. Other rows may
// refer to it too, as long as that one is there: a copied branch, or what a suggestion
// became. A row that cannot be read refers to it.
func (s *Service) refersTo(ctx context.Context, t Text, serial bool) (bool, error) {
	if t.Row.Kind == 0 {
		return s.draftRefersTo(ctx, t)
	}
	read, err := s.contents.Read(ctx, t.Item, library.ContentQuery{Rows: []library.RowKey{t.Row}, Serial: serial})
	if err != nil || read.Rows[0].Value == nil {
		return false, err
	}
	if t.Row.Kind != revisionKind {
		return t.Row == suggestionKey(t.ID), nil
	}
	row, err := decodeRevision(read.Rows[0].Value)
	return err != nil || row.Text.ID == t.ID, nil
}

// draftRefersTo is refersTo for the text of a draft, which has the id of its version.
func (s *Service) draftRefersTo(ctx context.Context, t Text) (bool, error) {
	user, name, ok := strings.Cut(t.Row.Key, " ")
	if !ok {
		return true, nil // of a version of this program that names it otherwise
	}
	drafts, err := s.store.ReadDrafts(ctx, principal.ID(user), []string{name})
	return err == nil && drafts[0].Token == t.ID, err
}
