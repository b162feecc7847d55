package paste

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

const (
	// keptFor is how long the row of a paste is kept after its end, so that late writers
	// find it.
	keptFor = 24 * time.Hour
	// attemptTimeout is longer than any attempt to write a row takes.
	attemptTimeout = time.Minute
	// bodyKeptFor is how long after a change of its body a paste is tidied. Tidying keeps bodies that
	// the row does not name while they are younger than half of that: their rows may not be written
	// yet. A gateway that was stopped for longer stores its body again. A reader of the former row that misses its body reads the current one.
	bodyKeptFor = 2 * attemptTimeout
)

// tidyDue tidies a paste for a reminder that is due. It reports whether the reminder can be removed. It
// is the Expire function of the commit.Handler.
func (s *Service) tidyDue(ctx context.Context, d commit.Reminder) (done bool, err error) {
	p, err := s.read(ctx, ID(d.Key))
	if err != nil {
		return false, err
	}
	now := s.engine.Now()
	if d.At > now || (p == nil || p.MTS < d.MTS) && now < d.At.Add(attemptTimeout) {
		// It is not due by this clock, or the state that the reminder was written for may still
		// be decided.
		return false, nil
	}
	if p == nil {
		p = &Paste{ID: ID(d.Key), State: commit.Void}
	}
	return s.tidy(ctx, p, d.At)
}

// tidy deletes an expired paste, removes bodies that its row does not refer to, and removes the
// row a day after its end. at is the time of a reminder, and done reports whether that reminder can be
// removed. If the clock was set back meanwhile, so that the paste expires at the time of the reminder
// but has not expired yet, the reminder is kept.
func (s *Service) tidy(ctx context.Context, p *Paste, at clock.Instant) (done bool, err error) {
	if p.State == commit.Live && p.expired(s.engine.Now()) {
		if p, err = s.expire(ctx, p.ID); err != nil || p == nil {
			return err == nil, err
		}
	}
	if err := s.dropBodies(ctx, p); err != nil {
		return false, err
	}
	if p.State == commit.Live {
		return p.reminder() != at, nil
	}
	if p.Seq == 0 || p.ModifiedAt.Add(keptFor) > s.engine.Now() {
		return true, nil
	}
	if p.State == commit.Deleted {
		if err := s.applyIndex(ctx, p); err != nil {
			return false, err
		}
	}
	err = s.store.DropRow(ctx, p.ID, p.Seq)
	return err == nil, err
}

// expire deletes a paste if it has expired according to its row. It returns the current state.
func (s *Service) expire(ctx context.Context, id ID) (*Paste, error) {
	var before, p *Paste
	entry, decided, err := s.engine.Decide(ctx, s.engine.NewBudget(), string(id), func(ctx context.Context) (*commit.Attempt, error) {
		var err error
		if before, err = s.read(ctx, id); err != nil {
			return nil, err
		}
		if p = before; before == nil || before.State != commit.Live || !before.expired(s.engine.Now()) {
			return commit.Nothing, nil
		}
		if p, err = s.planDelete(ctx, before); err != nil {
			return nil, err
		}
		return s.write(p, relists(before, p)), nil
	})
	if err != nil {
		return nil, err
	}
	if decided {
		s.finish(ctx, entry, before, p)
	}
	return p, nil
}

// newBodyID returns the id of a new body: the time, and random bytes.
func (s *Service) newBodyID() (b BodyID) {
	s.rt.Random(b[8:])
	binary.BigEndian.PutUint64(b[:8], uint64(s.engine.StoreNow()))
	return b
}

// dropBodies removes the long bodies of a paste that its row does not refer to. If the paste is
// live, it keeps recent ones: a pending change may have stored its body but not yet its row.
func (s *Service) dropBodies(ctx context.Context, p *Paste) error {
	bodies, err := s.store.ListBodies(ctx, p.ID)
	if err != nil {
		return err
	}
	now := s.engine.StoreNow()
	var refs []BodyRef
	for _, b := range bodies {
		stored := clock.Instant(binary.BigEndian.Uint64(b[:8]))
		if b != p.Body.Long && (p.State == commit.Deleted || stored.Add(bodyKeptFor/2) <= now) {
			refs = append(refs, BodyRef{p.ID, b})
		}
	}
	for part := range slices.Chunk(refs, MaxRows) {
		if err := s.store.DropBodies(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// reminder returns when a paste must be tidied next, or 0 for never.
func (p *Paste) reminder() clock.Instant {
	switch {
	case p.State != commit.Live:
		return p.ModifiedAt.Add(keptFor)
	case p.ExpiresAt != nil:
		return *p.ExpiresAt
	}
	return 0
}
