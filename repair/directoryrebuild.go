package repair

import (
	"context"
	"fmt"
	"sync/atomic"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/principal"
)

// RebuildDirectory writes the rows of all principals, and removes those that no header justifies. It
// removes nothing newer than what it read. repaired counts the rows that were missing or wrong.
func (s *Service) RebuildDirectory(ctx context.Context) (repaired int, err error) {
	var rows atomic.Int64
	err = s.eachHeaders(ctx, func(hs []principal.Header) error {
		return sched.ForEach(ctx, s.rt, len(hs), rebuiltAtOnce, func(i int) error {
			if s.engine.Ending() {
				return commit.ErrEnding
			}
			missing, err := s.missing(ctx, &hs[i])
			if rows.Add(int64(missing)); err != nil || missing == 0 {
				return err
			}
			return s.repairDirectory(ctx, hs[i].ID)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("write the directory: %w", err)
	}
	err = s.walkDirectory(ctx, func(found []principal.DirectoryRow, headers []principal.Header) error {
		for i := range found {
			if inDirectory(&found[i], &headers[i]) {
				continue
			}
			rows.Add(1)
			if err := s.dropUnjustified(ctx, found[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("sweep the directory: %w", err)
	}
	return int(rows.Load()), nil
}

// eachHeaders calls see with the headers of the live principals, a page at a time.
func (s *Service) eachHeaders(ctx context.Context, see func([]principal.Header) error) error {
	page := make([]principal.Header, 0, rebuildPage)
	err := s.people.Upkeep.EachHeader(ctx, principal.Any, func(h *principal.Header) error {
		if page = append(page, *h); len(page) < rebuildPage {
			return nil
		}
		err := see(page)
		page = page[:0]
		return err
	})
	if err != nil || len(page) == 0 {
		return err
	}
	return see(page)
}

// walkDirectory reads all rows, with headers read after the rows were.
func (s *Service) walkDirectory(ctx context.Context, see func([]principal.DirectoryRow, []principal.Header) error) error {
	var after []byte
	for {
		rows, headers, next, err := s.directoryAfter(ctx, after, rebuildPage)
		if err != nil {
			return err
		}
		if s.engine.Ending() {
			return commit.ErrEnding
		}
		if err := see(rows, headers); err != nil || next == nil {
			return err
		}
		after = next
	}
}

// directoryAfter reads rows after a key, and then their headers.
func (s *Service) directoryAfter(ctx context.Context, after []byte, limit int) (rows []principal.DirectoryRow,
	headers []principal.Header, next []byte, err error) {
	rows, next, err = s.directory.ScanDirectory(ctx, after, limit)
	if err != nil {
		return nil, nil, nil, err
	}
	ids := make([]principal.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].Principal
	}
	headers, err = s.principals.ReadPrincipals(ctx, ids)
	return rows, headers, next, err
}

// inDirectory reports whether a row is one that the header derives.
func inDirectory(r *principal.DirectoryRow, h *principal.Header) bool {
	for _, k := range principal.DirectoryKeys(h) {
		if k == r.DirectoryKey {
			return true
		}
	}
	return false
}

// auditDirectory checks every row, and that none is missing.
func (s *Service) auditDirectory(ctx context.Context, r *AuditReport) error {
	want, found := 0, 0
	err := s.people.Upkeep.EachHeader(ctx, principal.Any, func(h *principal.Header) error {
		want += len(principal.DirectoryKeys(h))
		return nil
	})
	if err != nil {
		return err
	}
	err = s.walkDirectory(ctx, func(rows []principal.DirectoryRow, headers []principal.Header) error {
		for i := range rows {
			row, h := &rows[i], &headers[i]
			switch {
			case !inDirectory(row, h):
				r.mismatch("the directory has %s as %q without justification", row.Principal, row.Name)
				continue
			case row.Visibility != h.Visibility:
				r.mismatch("the directory has the visibility %s of %s, which is %s", row.Visibility, row.Principal, h.Visibility)
			}
			found++
		}
		return nil
	})
	r.Directory = found
	if err == nil && found != want {
		r.mismatch("the directory has %d rows and must have %d", found, want)
	}
	return err
}
