package repair

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library/listing"
	"carrel/principal"
)

// directoryRun is the state of filling the directory in this process.
type directoryRun struct {
	mu      sync.Mutex
	filled  bool // once true it stays true
	running *rebuildRun
}

// requireDirectory returns UNAVAILABLE while the directory is not complete. The first caller
// starts to fill it, and waits a little.
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
	return &fault.Error{Code: fault.Unavailable, RetryAfter: listing.RebuildRetryAfter, Err: cause,
		Msg: "the directory of users and groups is being built; try again in a few seconds"}
}

// directoryFilled reports whether the directory has all principals.
func (s *Service) directoryFilled(ctx context.Context) (bool, error) {
	s.filling.mu.Lock()
	filled := s.filling.filled
	s.filling.mu.Unlock()
	if filled {
		return true, nil
	}
	filled, err := s.directory.DirectoryFilled(ctx)
	if err != nil {
		return false, fmt.Errorf("read the directory: %w", err)
	}
	s.filling.mu.Lock()
	defer s.filling.mu.Unlock()
	s.filling.filled = s.filling.filled || filled
	return filled, nil
}

// startFilling starts to fill the directory, unless it is being filled already.
func (s *Service) startFilling(ctx context.Context) *rebuildRun {
	s.filling.mu.Lock()
	defer s.filling.mu.Unlock()
	if s.filling.running != nil {
		return s.filling.running
	}
	run := &rebuildRun{ended: s.rt.Latch()}
	s.filling.running = run
	background := s.rt.Detach(ctx)
	s.rt.Go(func() {
		run.err = s.FillDirectory(background)
		if run.err != nil {
			s.log.ErrorContext(background, "the directory could not be filled", "error", run.err)
		}
		s.filling.mu.Lock()
		s.filling.running = nil
		s.filling.mu.Unlock()
		run.ended.Open()
	})
	return run
}

// FillDirectory completes the directory of a store that was created before there was one, while
// the store is in use. It does nothing if the directory is complete. Principals that are
// created or renamed meanwhile get their rows by that change.
func (s *Service) FillDirectory(ctx context.Context) error {
	if filled, err := s.directoryFilled(ctx); err != nil || filled {
		return err
	}
	_, err := s.RebuildDirectory(ctx)
	return err
}

// RebuildDirectory writes the rows of all principals, and removes those that no header justifies. It
// removes nothing newer than what it read. repaired counts the rows that were missing or wrong.
func (s *Service) RebuildDirectory(ctx context.Context) (repaired int, err error) {
	var rows atomic.Int64
	err = s.eachHeaders(ctx, func(hs []principal.Header) error {
		return sched.ForEach(ctx, s.rt, len(hs), deriveAtOnce, func(i int) error {
			if s.Ending() {
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
	if err := s.Retry(ctx, func() error { return s.directory.SetDirectoryFilled(ctx) }); err != nil {
		return 0, fmt.Errorf("mark the directory as complete: %w", err)
	}
	return int(rows.Load()), nil
}

// eachHeaders calls see with the headers of the live principals, a page at a time.
func (s *Service) eachHeaders(ctx context.Context, see func([]principal.Header) error) error {
	page := make([]principal.Header, 0, rebuildPage)
	err := s.EachHeader(ctx, principal.Any, func(h *principal.Header) error {
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
		if s.Ending() {
			return commit.ErrEnding
		}
		if err := see(rows, headers); err != nil || next == nil {
			return err
		}
		after = next
	}
}

// directoryAfter reads rows after a key, and then their headers.
func (s *Service) directoryAfter(ctx context.Context, after []byte, limit int) (rows []principal.DirectoryRow, headers []principal.Header, next []byte, err error) {
	rows, next, err = s.directory.ScanDirectory(ctx, after, limit)
	if err != nil {
		return nil, nil, nil, err
	}
	ids := make([]principal.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].Principal
	}
	headers, err = s.people.ReadPrincipals(ctx, ids)
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

// auditDirectory checks every row, and that none is missing. In a store whose directory was
// never filled rows may be missing; those that exist must be correct.
func (s *Service) auditDirectory(ctx context.Context, r *AuditReport) error {
	filled, err := s.directory.DirectoryFilled(ctx)
	if err != nil {
		return err
	}
	want, found := 0, 0
	err = s.EachHeader(ctx, principal.Any, func(h *principal.Header) error {
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
	if err == nil && filled && found != want {
		r.mismatch("the directory has %d rows and must have %d", found, want)
	}
	return err
}
