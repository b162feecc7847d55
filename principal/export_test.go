package principal

import "context"

// HeaderIsWrong is headerIsWrong for tests.
func (s *Service) HeaderIsWrong(ctx context.Context, id ID, copied *Header) (bool, error) {
	return s.headerIsWrong(ctx, id, copied)
}
