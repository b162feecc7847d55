package library

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// Pages of a rebuild and of an audit, in rows: few enough to be held, many
// enough that the round trips do not count.
const rebuildPage = 100

// A reader of a missing library waits this long for its rebuild, and is told
// to come back after as many seconds.
const (
	rebuildWait       = 2 * time.Second
	rebuildRetryAfter = 5
)

// rebuildTable holds one rebuild a principal in this process.
type rebuildTable struct {
	mu      sync.Mutex
	running map[PrincipalID]*rebuildRun
}

type rebuildRun struct {
	ended Latch
	err   error // after ended
}

// RebuildLibrary brings a library back from the record of what was shared with
// its owner. Administrators of the owner's tenant only.
func (s *Service) RebuildLibrary(ctx context.Context, v *Viewer, principal string) (*RebuildOutcome, error) {
	v.forget()
	defer v.forget()
	if !v.SignedIn() {
		return nil, unauthenticated()
	}
	p, err := ParsePrincipalID(principal)
	if err != nil {
		var faults Faults
		faults.add(err, "principalId")
		return nil, faults
	}
	if err := s.requireActor(ctx, v, p.Tenant()); err != nil {
		return nil, err
	}
	headers, err := s.store.ReadPrincipals(ctx, []PrincipalID{p})
	if err != nil {
		return nil, err
	}
	sees, err := s.seesPrincipal(ctx, v, &headers[0])
	switch {
	case err != nil:
		return nil, err
	case !sees:
		return nil, noSuchPrincipal("principalId")
	case !v.Administers(p.Tenant()):
		return nil, Forbiddenf([]string{"principalId"}, "only an administrator of the tenant may rebuild a library")
	}
	restored, removed, err := s.Rebuild(ctx, p)
	if err != nil {
		return nil, err
	}
	return &RebuildOutcome{Principal: principalOf(headers[0]), Restored: restored, Removed: removed}, nil
}

// Rebuild enforces everything that is recorded as shared with p, then takes out
// of p's library what no header justifies. It runs in place, beside live
// traffic: it removes nothing newer than what it read. restored and removed
// are numbers of items in the PRIVATE bucket, which holds all.
func (s *Service) Rebuild(ctx context.Context, p PrincipalID) (restored, removed int, err error) {
	before, err := s.store.CountLibrary(ctx, p, Private, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	var after ContentID
	for {
		shared, err := s.store.SharedWith(ctx, p, after, rebuildPage)
		if err != nil {
			return 0, 0, err
		}
		for _, sh := range shared {
			e := InFlight{Content: sh.Content, Reverse: true}
			if err := s.enforceListed(ctx, e, []PrincipalID{p}, false); err != nil {
				return 0, 0, err
			}
			after = sh.Content
		}
		if len(shared) < rebuildPage {
			break
		}
	}
	for _, b := range allBuckets {
		n, err := s.sweep(ctx, p, b)
		if err != nil {
			return 0, 0, err
		}
		if b == Private {
			removed = n
		}
	}
	now, err := s.store.CountLibrary(ctx, p, Private, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	return max(0, now-before+removed), removed, s.store.SetBuilt(ctx, p)
}

// sweep walks a bucket and drops the entries that no header justifies.
func (s *Service) sweep(ctx context.Context, p PrincipalID, b Bucket) (dropped int, err error) {
	err = s.walkBucket(ctx, p, b, func(entries []Entry, rows []ContentRows) error {
		var bad []BucketEntry
		for i, e := range entries {
			if !justified(e, b, p, &rows[i]) {
				bad = append(bad, BucketEntry{b, e})
			}
		}
		if len(bad) == 0 {
			return nil
		}
		dropped += len(bad)
		return s.insist(ctx, func() error { return s.store.DropEntries(ctx, p, bad) })
	})
	return dropped, err
}

// walkBucket reads a bucket from its oldest entry on, with the headers of the
// entries and p's member rows, read after the entries were.
func (s *Service) walkBucket(ctx context.Context, p PrincipalID, b Bucket, see func([]Entry, []ContentRows) error) error {
	slice := Slice{Owner: p, Bucket: b, Newer: true, Limit: rebuildPage}
	for {
		entries, err := s.store.PageLibrary(ctx, slice)
		if err != nil || len(entries) == 0 {
			return err
		}
		ids := make([]ContentID, len(entries))
		for i, e := range entries {
			ids[i] = e.Content
		}
		rows, err := s.store.ReadMany(ctx, ids, []PrincipalID{p})
		if err != nil {
			return err
		}
		if err := see(entries, rows); err != nil {
			return err
		}
		if len(entries) < rebuildPage {
			return nil
		}
		last := entries[len(entries)-1]
		slice.From = &EntryKey{last.Position, last.Content}
	}
}

// justified tells whether an entry stands where the item's state has it.
func justified(e Entry, b Bucket, p PrincipalID, rows *ContentRows) bool {
	h := &rows.Header
	return h.State == Live && rows.Members[0].Active() && e.Position == h.Position && StandsIn(b, h.Visibility, e.Content, p)
}

// rebuildMissing starts the rebuild of a library that is not there, unless it
// runs already, and waits a little for it.
func (s *Service) rebuildMissing(ctx context.Context, p PrincipalID) error {
	s.rebuilds.mu.Lock()
	run := s.rebuilds.running[p]
	start := run == nil
	if start {
		run = &rebuildRun{ended: s.rt.Latch()}
		s.rebuilds.running[p] = run
	}
	s.rebuilds.mu.Unlock()
	if start {
		background := s.rt.Detach(ctx)
		s.rt.Go(func() {
			_, _, run.err = s.Rebuild(background, p)
			if run.err != nil {
				s.log.ErrorContext(background, "rebuilding a library", "principal", string(p), "error", run.err)
			}
			s.rebuilds.mu.Lock()
			delete(s.rebuilds.running, p)
			s.rebuilds.mu.Unlock()
			run.ended.Open()
		})
	}
	ended, err := s.rt.Wait(ctx, run.ended, rebuildWait)
	if err != nil {
		return err
	}
	if ended && run.err == nil {
		return nil
	}
	cause := errors.New("the rebuild is not done yet")
	if ended {
		cause = run.err
	}
	return &Error{Code: Unavailable, RetryAfter: rebuildRetryAfter, Err: cause,
		Msg: "this library is being rebuilt; try again in a few seconds"}
}

// RepairEntry brings p's library in line with the item's state.
func (s *Service) RepairEntry(ctx context.Context, p PrincipalID, id ContentID) error {
	return s.enforceListed(ctx, InFlight{Content: id, Reverse: true}, []PrincipalID{p}, false)
}
