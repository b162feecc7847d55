package library

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// directoryRun is the filling of the directory in this process.
type directoryRun struct {
	mu      sync.Mutex
	filled  bool // seen once: it is never empty again
	running *rebuildRun
}

// requireDirectory answers UNAVAILABLE while the directory is not complete. The
// first who asks starts the filling of it, and waits a little.
func (s *Service) requireDirectory(ctx context.Context) error {
	if filled, err := s.directoryFilled(ctx); err != nil || filled {
		return err
	}
	run := s.startFilling(ctx)
	ended, err := s.rt.Wait(ctx, run.ended, rebuildWait)
	if err != nil {
		return err
	}
	if ended && run.err == nil {
		return nil
	}
	cause := errors.New("the directory is not filled yet")
	if ended {
		cause = run.err
	}
	return &Error{Code: Unavailable, RetryAfter: rebuildRetryAfter, Err: cause,
		Msg: "the directory of users and groups is being made; try again in a few seconds"}
}

// directoryFilled tells whether all principals stand in the directory.
func (s *Service) directoryFilled(ctx context.Context) (bool, error) {
	s.directory.mu.Lock()
	filled := s.directory.filled
	s.directory.mu.Unlock()
	if filled {
		return true, nil
	}
	filled, err := s.store.DirectoryFilled(ctx)
	if err != nil {
		return false, fmt.Errorf("read the directory: %w", err)
	}
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	s.directory.filled = s.directory.filled || filled
	return filled, nil
}

// startFilling begins to fill the directory, unless that is under way.
func (s *Service) startFilling(ctx context.Context) *rebuildRun {
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	if s.directory.running != nil {
		return s.directory.running
	}
	run := &rebuildRun{ended: s.rt.Latch()}
	s.directory.running = run
	background := s.rt.Detach(ctx)
	s.rt.Go(func() {
		run.err = s.FillDirectory(background)
		if run.err != nil {
			s.log.ErrorContext(background, "filling the directory", "error", run.err)
		}
		s.directory.mu.Lock()
		s.directory.running = nil
		s.directory.mu.Unlock()
		run.ended.Open()
	})
	return run
}

// FillDirectory completes the directory of a store that was made before there
// was one, beside live traffic; where it is complete nothing is done. The rows
// of whoever is created or renamed meanwhile are written by that change.
func (s *Service) FillDirectory(ctx context.Context) error {
	if filled, err := s.directoryFilled(ctx); err != nil || filled {
		return err
	}
	return s.RebuildDirectory(ctx)
}

// RebuildDirectory writes the rows of all principals, and takes away those that
// no header justifies. It removes nothing newer than what it read.
func (s *Service) RebuildDirectory(ctx context.Context) error {
	err := s.eachHeaders(ctx, func(hs []PrincipalHeader) error {
		return s.eachAtOnce(ctx, len(hs), deriveAtOnce, func(i int) error { return s.enforceDirectory(ctx, &hs[i], "") })
	})
	if err != nil {
		return fmt.Errorf("writing the directory: %w", err)
	}
	err = s.walkDirectory(ctx, func(rows []DirectoryRow, headers []PrincipalHeader) error {
		var bad []DirectoryRow
		for i := range rows {
			if !standsInDirectory(&rows[i], &headers[i]) {
				bad = append(bad, rows[i])
			}
		}
		if len(bad) == 0 {
			return nil
		}
		return s.insist(ctx, func() error { return s.store.DropDirectory(ctx, bad) })
	})
	if err != nil {
		return fmt.Errorf("sweeping the directory: %w", err)
	}
	if err := s.insist(ctx, func() error { return s.store.SetDirectoryFilled(ctx) }); err != nil {
		return fmt.Errorf("completing the directory: %w", err)
	}
	return nil
}

// eachHeaders walks over the headers of the live principals, a page at a time.
func (s *Service) eachHeaders(ctx context.Context, see func([]PrincipalHeader) error) error {
	page := make([]PrincipalHeader, 0, rebuildPage)
	err := s.eachHeader(ctx, anyPrincipal, func(h *PrincipalHeader) error {
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
func (s *Service) walkDirectory(ctx context.Context, see func([]DirectoryRow, []PrincipalHeader) error) error {
	var after []byte
	for {
		rows, next, err := s.store.ScanDirectory(ctx, after, rebuildPage)
		if err != nil {
			return err
		}
		ids := make([]PrincipalID, len(rows))
		for i := range rows {
			ids[i] = rows[i].Principal
		}
		headers, err := s.store.ReadPrincipals(ctx, ids)
		if err != nil {
			return err
		}
		if err := see(rows, headers); err != nil || next == nil {
			return err
		}
		after = next
	}
}

// standsInDirectory tells whether a row is one that the header derives.
func standsInDirectory(r *DirectoryRow, h *PrincipalHeader) bool {
	for _, k := range directoryKeys(h) {
		if k == r.DirectoryKey {
			return true
		}
	}
	return false
}

// auditDirectory checks every row, and that none is missing. In a store whose
// directory was never filled rows may be missing; those that stand are right.
func (s *Service) auditDirectory(ctx context.Context, r *AuditReport) error {
	filled, err := s.store.DirectoryFilled(ctx)
	if err != nil {
		return err
	}
	want, found := 0, 0
	err = s.eachHeader(ctx, anyPrincipal, func(h *PrincipalHeader) error {
		want += len(directoryKeys(h))
		return nil
	})
	if err != nil {
		return err
	}
	err = s.walkDirectory(ctx, func(rows []DirectoryRow, headers []PrincipalHeader) error {
		for i := range rows {
			row, h := &rows[i], &headers[i]
			switch {
			case !standsInDirectory(row, h):
				r.mismatch("the directory has %s as %q without right", row.Principal, row.Name)
				continue
			case row.Visibility != h.Visibility:
				r.mismatch("the directory tells the visibility %s of %s, which is %s", row.Visibility, row.Principal, h.Visibility)
			}
			found++
		}
		return nil
	})
	r.Directory = found
	if err == nil && filled && found != want {
		r.mismatch("the directory has %d rows and must have %d", found, want)
	}
	return err
}
