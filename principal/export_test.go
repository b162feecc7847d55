package principal

import "context"

// HeaderIsWrong is what the sampler asks of a copy that was served.
func (s *Service) HeaderIsWrong(ctx context.Context, id ID, copied *Header) (bool, error) {
	return s.headerIsWrong(ctx, id, copied)
}
