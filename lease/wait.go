package lease

import (
	"context"
	"encoding/binary"
	"time"

	"carrel/core/claim"
	"carrel/core/fault"
)

// Pauses between looks at a key that others hold. The longest one doubles each time.
const (
	pauseAtLeast = 10 * time.Millisecond
	pauseAtMost  = 40 * time.Millisecond
	longestPause = 320 * time.Millisecond
)

// awaitKeys waits until none of the keys seems to be held, one is held permanently, or until, on the
// monotonic clock.
func (s *Service) awaitKeys(ctx context.Context, tenant string, keys []string, until time.Duration) (permanent bool, err error) {
	for limit := pauseAtMost; ; limit = min(2*limit, longestPause) {
		busy, permanent, err := s.anyBusy(ctx, tenant, keys)
		if err != nil || permanent {
			return permanent, err
		}
		rest := until - s.rt.Elapsed()
		if !busy || rest <= 0 {
			return false, nil
		}
		if err := s.pauseUpTo(ctx, min(limit, rest)); err != nil {
			return false, err
		}
	}
}

// anyBusy reports whether a lease seems to hold one of the keys, and whether permanently.
func (s *Service) anyBusy(ctx context.Context, tenant string, keys []string) (busy, permanent bool, err error) {
	for _, name := range keys {
		key := claim.Leased(tenant, name)
		err := s.engine.WithBudget(ctx, s.engine.NewBudget(), func(ctx context.Context) error {
			holder, err := s.claims.Candidate(ctx, key)
			if err != nil || holder == "" {
				return err
			}
			seen, err := s.look(ctx, ID(holder))
			if err == nil && seen.l != nil && seen.l.keeps(key, s.engine.Now()) && !seen.ownerGone {
				busy, permanent = true, seen.l.State == Confirmed
			}
			return err
		})
		if err != nil || busy {
			return busy, permanent, err
		}
	}
	return false, false, nil
}

// pause waits for a random moment, so that colliding attempts do not collide again.
func (s *Service) pause(ctx context.Context) error { return s.pauseUpTo(ctx, pauseAtMost) }

func (s *Service) pauseUpTo(ctx context.Context, limit time.Duration) error {
	var b [8]byte
	s.rt.Random(b[:])
	spread := uint64(max(limit-pauseAtLeast, 0)) + 1
	return s.rt.After(ctx, pauseAtLeast+time.Duration(binary.LittleEndian.Uint64(b[:])%spread))
}

func contention() *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "too many requests for these keys at the same time; try again"}
}
