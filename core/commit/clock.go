package commit

import (
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
)

// AheadAtMost is how far the clock of a process may be ahead of its store's clock. An item that is
// changed by a process whose clock is ahead stays first in every library until the other clocks
// have caught up, and each later change of the item must have a still later timestamp, so the
// difference must be bounded.
const AheadAtMost = 10 * time.Second

// RequireClock returns an error if the clock is too far ahead to change anything.
// Reads are still served, because they assign no timestamps.
func (g *Engine) RequireClock() error {
	if g.ahead() <= AheadAtMost {
		return nil
	}
	return &fault.Error{Code: fault.Unavailable, RetryAfter: 5,
		Msg: "the clock of this gateway is too far ahead of its store's for any change; nothing was changed, try again"}
}

// StoreNow returns the time by the store's clock, as far as that is known. It is the
// timestamp of rows that processes with other clocks compare with their own time.
func (g *Engine) StoreNow() clock.Instant { return g.Now().Add(-g.ahead()) }
