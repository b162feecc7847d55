package lease

import "carrel/core/claim"

// Record returns the claim.Record of the leases of s.
func Record(s *Service) claim.Record { return keyRecord{s} }
