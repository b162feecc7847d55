package principal

import (
	"context"

	"carrel/core/clock"
	"carrel/core/sched"
)

// HeaderIsWrong is headerIsWrong for a copy that was served just now.
func (s *Service) HeaderIsWrong(ctx context.Context, id ID, copied *Header) (bool, error) {
	return s.headerIsWrong(ctx, id, copied, sched.Present(s.rt))
}

// Since returns since when the principal of a closure is in a group.
func (c *Closure) Since(group ID) clock.Instant { return c.groups[group].since }
