package simulator

import (
	"testing"

	"carrel/domain"
	"carrel/storetest"
)

// TestConformance: the simulated store is a backend like others, so what the simulator finds on
// it would be found on them.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) domain.Store { return NewClient(NewStore(nil), nil).Store })
	storetest.RunArchive(t, func(*testing.T) (domain.Store, storetest.Archive) {
		c := NewClient(NewStore(nil), nil)
		return c.Store, c
	})
}
