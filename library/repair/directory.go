package repair

import (
	"context"

	"carrel/principal"
)

// repairDirectory lets a principal be found as its header says, and sees that it
// is.
func (s *Service) repairDirectory(ctx context.Context, p principal.ID) error {
	return s.raising(ctx, func(late bool) (int64, error) {
		h, err := s.headerOf(ctx, p, late)
		if err != nil || h.Seq == 0 {
			return settled, err
		}
		if err := s.ApplyDirectory(ctx, h, ""); err != nil {
			return settled, err
		}
		missed, err := s.missed(ctx, h)
		if err != nil || missed == 0 {
			return settled, err
		}
		return h.Seq, nil
	}, func(seq int64) error { return s.RestampPrincipal(ctx, p, seq) })
}

// headerOf reads one header; its ID is set also where there is none.
func (s *Service) headerOf(ctx context.Context, p principal.ID, serial bool) (*principal.Header, error) {
	rows, err := s.people.ReadPrincipal(ctx, p, principal.Query{Serial: serial})
	if err != nil {
		return nil, err
	}
	rows.Header.ID = p
	return &rows.Header, nil
}

// missed counts the rows of the directory that a header derives and that do not
// stand as it has them.
func (s *Service) missed(ctx context.Context, h *principal.Header) (int, error) {
	rows, err := s.directory.ReadDirectory(ctx, h.ID, principal.DirectoryKeys(h))
	n := 0
	for i := range rows {
		if rows[i].MTS == 0 || rows[i].Visibility != h.Visibility {
			n++
		}
	}
	return n, err
}

// repairIfMissed mends the rows of a principal that are missing though nothing of
// it is in flight; it counts them.
func (s *Service) repairIfMissed(ctx context.Context, p principal.ID) (int, error) {
	h, err := s.headerOf(ctx, p, false)
	if err != nil {
		return 0, err
	}
	missed, err := s.missed(ctx, h)
	if err != nil || missed == 0 {
		return 0, err
	}
	if lists, err := s.OpenLists(ctx); err != nil || lists.MayHoldPrincipal(p, h.MTS, s.Now()) {
		return 0, err
	}
	if h, err = s.headerOf(ctx, p, true); err != nil {
		return 0, err
	}
	if missed, err = s.missed(ctx, h); err != nil || missed == 0 {
		return 0, err
	}
	return missed, s.repairDirectory(ctx, p)
}

// dropMisfound takes a row out of the directory, unless its principal's header
// justifies it, and sees that it is gone.
func (s *Service) dropMisfound(ctx context.Context, row principal.DirectoryRow) error {
	key := []principal.DirectoryKey{row.DirectoryKey}
	return s.raising(ctx, func(late bool) (int64, error) {
		rows, err := s.directory.ReadDirectory(ctx, row.Principal, key)
		if err != nil || rows[0].MTS == 0 {
			return settled, err
		}
		h, err := s.headerOf(ctx, row.Principal, late)
		if err != nil || standsInDirectory(&row, h) {
			return settled, err
		}
		err = s.Retry(ctx, func() error { return s.directory.DropDirectory(ctx, rows) })
		if err == nil && late {
			// It was written by hand, later than it tells: as if it had been the name.
			err = s.ApplyDirectory(ctx, h, row.Name)
		}
		if err != nil {
			return settled, err
		}
		if rows, err = s.directory.ReadDirectory(ctx, row.Principal, key); err != nil || rows[0].MTS == 0 {
			return settled, err
		}
		return h.Seq, nil
	}, func(seq int64) error { return s.RestampPrincipal(ctx, row.Principal, seq) })
}

// dropIfMisfound drops a row that was found to be without right, if nothing of
// its principal is in flight that would drop it, and counts it.
func (s *Service) dropIfMisfound(ctx context.Context, row principal.DirectoryRow) (int, error) {
	lists, err := s.OpenLists(ctx)
	if err != nil || lists.Principals[row.Principal] {
		return 0, err
	}
	rows, err := s.directory.ReadDirectory(ctx, row.Principal, []principal.DirectoryKey{row.DirectoryKey})
	if err != nil || rows[0].MTS == 0 {
		return 0, err
	}
	h, err := s.headerOf(ctx, row.Principal, true)
	if err != nil || standsInDirectory(&row, h) || lists.MayHide(h.MTS, s.Now()) {
		return 0, err
	}
	return 1, s.dropMisfound(ctx, row)
}

// directory scrubs rows of the directory from the place on: it drops those that
// no header justifies.
func (c *scrubbing) directory(ctx context.Context) error {
	var after []byte
	if c.at.Row != "" {
		after = []byte(c.at.Row)
	}
	rows, headers, next, err := c.s.directoryAfter(ctx, after, scrubLook)
	if err != nil {
		return err
	}
	for i := range rows {
		if standsInDirectory(&rows[i], &headers[i]) {
			continue
		}
		dropped, err := c.s.dropIfMisfound(ctx, rows[i])
		if c.report.Mismatches += dropped; err != nil {
			return err
		}
	}
	c.report.Next = ScrubPlace{Claims: true}
	if next != nil {
		c.report.Next = ScrubPlace{Directory: true, Row: string(next)}
	}
	return nil
}
