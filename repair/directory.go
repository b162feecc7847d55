package repair

import (
	"context"

	"carrel/principal"
)

// repairDirectory writes the rows of the directory that a principal's header derives.
func (s *Service) repairDirectory(ctx context.Context, p principal.ID) error {
	h, err := s.headerOf(ctx, p, false)
	if err != nil || h.Seq == 0 {
		return err
	}
	return s.people.Upkeep.ApplyDirectory(ctx, h, "")
}

// headerOf reads one header; its ID is set even if there is none.
func (s *Service) headerOf(ctx context.Context, p principal.ID, serial bool) (*principal.Header, error) {
	rows, err := s.principals.ReadPrincipal(ctx, p, principal.Query{Serial: serial})
	if err != nil {
		return nil, err
	}
	rows.Header.ID = p
	return &rows.Header, nil
}

// missing counts the rows of the directory that a header derives and that are missing or
// different.
func (s *Service) missing(ctx context.Context, h *principal.Header) (int, error) {
	rows, err := s.directory.ReadDirectory(ctx, h.ID, principal.DirectoryKeys(h))
	n := 0
	for i := range rows {
		if rows[i].MTS == 0 || rows[i].Visibility != h.Visibility {
			n++
		}
	}
	return n, err
}

// repairIfMissing repairs missing rows of a principal, if nothing of it is in flight; it
// returns their number.
func (s *Service) repairIfMissing(ctx context.Context, p principal.ID) (int, error) {
	h, err := s.headerOf(ctx, p, false)
	if err != nil {
		return 0, err
	}
	missing, err := s.missing(ctx, h)
	if err != nil || missing == 0 {
		return 0, err
	}
	if lists, err := s.library.OpenLists(ctx); err != nil || lists.MayHoldPrincipal(p, h.MTS, s.engine.Now()) {
		return 0, err
	}
	if h, err = s.headerOf(ctx, p, true); err != nil {
		return 0, err
	}
	if missing, err = s.missing(ctx, h); err != nil || missing == 0 {
		return 0, err
	}
	return missing, s.repairDirectory(ctx, p)
}

// dropUnjustified removes a row from the directory, unless its principal's header justifies it.
func (s *Service) dropUnjustified(ctx context.Context, row principal.DirectoryRow) error {
	rows, err := s.directory.ReadDirectory(ctx, row.Principal, []principal.DirectoryKey{row.DirectoryKey})
	if err != nil || rows[0].MTS == 0 {
		return err
	}
	h, err := s.headerOf(ctx, row.Principal, false)
	if err != nil || inDirectory(&row, h) {
		return err
	}
	return s.engine.Retry(ctx, func() error { return s.directory.DropDirectory(ctx, rows) })
}

// dropIfUnjustified removes a row that was found to be unjustified, if nothing of its principal
// is in flight that would remove it. It returns the number of rows removed.
func (s *Service) dropIfUnjustified(ctx context.Context, row principal.DirectoryRow) (int, error) {
	lists, err := s.library.OpenLists(ctx)
	if err != nil || lists.Principals[row.Principal] {
		return 0, err
	}
	rows, err := s.directory.ReadDirectory(ctx, row.Principal, []principal.DirectoryKey{row.DirectoryKey})
	if err != nil || rows[0].MTS == 0 {
		return 0, err
	}
	h, err := s.headerOf(ctx, row.Principal, true)
	if err != nil || inDirectory(&row, h) || lists.MayHide(h.MTS, s.engine.Now()) {
		return 0, err
	}
	return 1, s.dropUnjustified(ctx, row)
}

// directory removes the rows of the directory that no header justifies. A step ends with each page.
func (c *scrubbing) directory() error {
	var after []byte
	return c.each(func() (more bool, err error) {
		rows, headers, next, err := c.s.directoryAfter(c.ctx, after, scrubLook)
		if err != nil {
			return false, err
		}
		for i := range rows {
			if inDirectory(&rows[i], &headers[i]) {
				continue
			}
			dropped, err := c.s.dropIfUnjustified(c.ctx, rows[i])
			if c.found.Mismatches += dropped; err != nil {
				return false, err
			}
		}
		c.looked, after = scrubLooks, next
		return next != nil, nil
	})
}
