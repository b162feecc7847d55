package paste

import "context"

// NewBodyID is newBodyID for tests.
func (s *Service) NewBodyID() BodyID { return s.newBodyID() }

// DropBodies removes the bodies of a paste that are not needed, as tidying does.
func (s *Service) DropBodies(ctx context.Context, p *Paste) error {
	return s.dropBodies(ctx, p)
}
