package lease

import "carrel/core/claim"

// Record returns the record by which claims ask s about leases.
func Record(s *Service) claim.Record { return keyRecord{s} }
