package note

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// garbageAfter is how old a text must be before the scrubber may remove it. A mutation writes the
// row that refers to its text within seconds after the text, or fails, or stores its text again
// (commit.Attempt.Restore).
const garbageAfter = time.Hour

// draftText returns the Row of a text that is the body of a draft.
func draftText(user principal.ID, name string) library.RowKey {
	return library.RowKey{Key: string(user) + " " + name}
}

// ScrubTexts checks at most limit texts after one, and removes those that no row refers to, which
// exist after a crash or a lost race. It returns the last text that it checked, and the number of
// checked and removed texts.
func (u Upkeep) ScrubTexts(ctx context.Context, after [16]byte, limit int) (last [16]byte, seen, removed int, err error) {
	texts, err := u.s.store.ScanTexts(ctx, after, limit)
	if err != nil || len(texts) == 0 {
		return after, 0, 0, err
	}
	now := u.s.engine.StoreNow()
	var garbage []Text
	for _, t := range texts {
		if t.ID.At() > now.Add(-garbageAfter) {
			continue
		}
		kept, err := u.s.refersTo(ctx, t, false)
		if err != nil {
			return after, 0, 0, err
		}
		if !kept {
			garbage = append(garbage, t)
		}
	}
	removed, err = u.s.dropGarbage(ctx, garbage, now)
	return texts[len(texts)-1].ID, len(texts), removed, err
}

// dropGarbage removes texts that no row refers to and no pending change will refer to. It reads the
// in-flight lists before the rows, because a change that has left the lists has written its row.
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

// refersTo reports whether the row that a text was stored for refers to it. Other rows may refer to
// it only while that one exists: those of a copied branch, or of an accepted suggestion. A row that
// cannot be decoded counts as referring to it.
func (s *Service) refersTo(ctx context.Context, t Text, serial bool) (bool, error) {
	if t.Row.Kind == 0 {
		return s.draftRefersTo(ctx, t, serial)
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

// draftRefersTo is refersTo for the text of a draft, whose id is the token of the draft's version.
func (s *Service) draftRefersTo(ctx context.Context, t Text, serial bool) (bool, error) {
	user, name, ok := strings.Cut(t.Row.Key, " ")
	if !ok {
		return true, nil // another version of this program wrote it
	}
	drafts, err := s.store.ReadDrafts(ctx, principal.ID(user), []string{name}, serial)
	return err == nil && drafts[0].Token == t.ID, err
}
