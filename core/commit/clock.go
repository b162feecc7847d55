package commit

import (
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
)

// AheadAtMost is how far a clock may be ahead of its store's. What is changed
// by one that is ahead stands in front of everybody's libraries until the others
// have come as far, and every later change of the same item must be dated later
// still; so there is a bound to it.
const AheadAtMost = 10 * time.Second

// RequireClock refuses to change anything by a clock that is too far ahead.
// Reading goes on: nothing that was decided depends on clocks.
func (g *Engine) RequireClock() error {
	if g.ahead() <= AheadAtMost {
		return nil
	}
	return &fault.Error{Code: fault.Unavailable, RetryAfter: 5,
		Msg: "the clock of this gateway is too far ahead of its store's for any change; nothing was changed, try again"}
}

// StoreNow is the time by the store's clock, as far as that is known. By it is
// dated what processes with other clocks compare with their own.
func (g *Engine) StoreNow() clock.Instant { return g.Now().Add(-g.ahead()) }
