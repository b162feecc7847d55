package library

import (
	"context"
	"fmt"
)

// mendDirectory is RebuildDirectory, and sees that what it wrote shows. It
// counts the principals whose rows did not.
func (s *Service) mendDirectory(ctx context.Context) (mended int, err error) {
	if err := s.RebuildDirectory(ctx); err != nil {
		return 0, err
	}
	shown := map[PrincipalID]int{}
	err = s.walkDirectory(ctx, func(rows []DirectoryRow, headers []PrincipalHeader) error {
		for i := range rows {
			if row := &rows[i]; standsInDirectory(row, &headers[i]) && row.Visibility == headers[i].Visibility {
				shown[row.Principal]++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading the directory: %w", err)
	}
	err = s.eachHeader(ctx, anyPrincipal, func(h *PrincipalHeader) error {
		if shown[h.ID] == len(directoryKeys(h)) {
			return nil
		}
		mended++
		if err := s.mendFinding(ctx, h.ID); err != nil {
			return fmt.Errorf("mending the directory for %s: %w", h.ID, err)
		}
		return nil
	})
	return mended, err
}

// mendFinding writes the rows of one principal, and sees that they show.
func (s *Service) mendFinding(ctx context.Context, p PrincipalID) error {
	return s.raising(ctx, func(late bool) (int64, error) {
		rows, err := s.store.ReadPrincipal(ctx, p, PrincipalQuery{Serial: late})
		if err != nil {
			return settled, err
		}
		h := &rows.Header
		if err := s.enforceDirectory(ctx, h, ""); err != nil {
			return settled, err
		}
		for _, k := range directoryKeys(h) {
			shows, err := s.directoryShows(ctx, h, k)
			if err != nil {
				return settled, err
			}
			if !shows {
				return h.Seq, nil
			}
		}
		return settled, nil
	}, func(seq int64) error { return s.restampPrincipal(ctx, p, seq) })
}

// directoryShows tells whether a row stands, as of this header.
func (s *Service) directoryShows(ctx context.Context, h *PrincipalHeader, k DirectoryKey) (bool, error) {
	at := DirectoryPlace{k.Name, h.ID}
	// Before the row stand at most those of ids that begin like this one.
	q := DirectorySlice{Tenant: h.Tenant(), After: &DirectoryPlace{k.Name, h.ID[:len(h.ID)-1]}, Limit: rebuildPage}
	if !k.Whole {
		q.Prefix = k.Name
	}
	for {
		rows, err := s.store.PageDirectory(ctx, q)
		if err != nil {
			return false, err
		}
		for i := range rows {
			switch place := rows[i].Place(); {
			case place == at:
				return rows[i].Visibility == h.Visibility, nil
			case at.Less(place):
				return false, nil
			}
		}
		if len(rows) < rebuildPage {
			return false, nil
		}
		last := rows[len(rows)-1].Place()
		q.After = &last
	}
}
