package principal

import (
	"context"

	"carrel/core/sched"
)

// HeaderIsWrong is headerIsWrong for a copy that was served just now.
func (s *Service) HeaderIsWrong(ctx context.Context, id ID, copied *Header) (bool, error) {
	return s.headerIsWrong(ctx, id, copied, sched.Present(s.rt))
}
