package note

import (
	"context"
	"fmt"

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
		for stored, err := range draftPages(ctx, s.store, h.ID, all, MaxDraftRows) {
			if err != nil {
				return fmt.Errorf("reading the drafts: %w", err)
			}
			for _, d := range stored {
				var body text
				if row, err := decodeDraft(d.Value); err == nil {
					body = row.Text
				}
				if err := s.dropDraft(ctx, d, body); err != nil {
					return err
				}
			}
		}
	}
	return fmt.Errorf("drafts of %s keep being saved", h.ID)
}
