package note

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/principal"
)

// RemoveDrafts removes the drafts of a deleted user. A draft that is saved afterwards is removed by
// the mutation that saves it.
func (s *Texts) RemoveDrafts(ctx context.Context, h *principal.Header) error {
	if !h.ID.IsUser() {
		return nil
	}
	for range commit.MaxTries {
		all, err := s.store.ListDrafts(ctx, h.ID)
		if err != nil {
			return fmt.Errorf("listing the drafts: %w", err)
		}
		if len(all) == 0 {
			return nil
		}
		for some := range slices.Chunk(all, MaxDraftRows) {
			if err := s.dropDrafts(ctx, h.ID, some); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("drafts of %s keep being saved", h.ID)
}

// dropDrafts removes some drafts of a user with their texts.
func (s *Texts) dropDrafts(ctx context.Context, user principal.ID, some []DraftRow) error {
	names := make([]string, len(some))
	for i, d := range some {
		names[i] = d.Name
	}
	rows, err := s.store.ReadDrafts(ctx, user, names, false)
	if err != nil {
		return fmt.Errorf("reading the drafts: %w", err)
	}
	for _, d := range rows {
		if d.Name == "" {
			continue
		}
		var body text
		if row, err := decodeDraft(d.Value); err == nil {
			body = row.Text
		}
		if err := s.dropDraft(ctx, d, body); err != nil {
			return err
		}
	}
	return nil
}
