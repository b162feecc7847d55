package domaintest

import (
	"testing"

	"carrel/core/claim"
)

// WantFence checks the contract of claim.Record.Fence with a record that does not hold the key:
// only the state with the given base is fenced, and after that nothing based on it can be decided.
// It returns the base of the state that the fence has written.
func WantFence(t *testing.T, record claim.Record, id string, key claim.Key) int64 {
	t.Helper()
	base := look(t, record, id, key)
	fence := func(at int64, want bool) {
		t.Helper()
		if applied, err := record.Fence(t.Context(), id, at); err != nil || applied != want {
			t.Fatalf("a fence of %s with base %d, its state has %d: applied %t, %v", id, at, base, applied, err)
		}
		after := base
		if want {
			after++
		}
		if got := look(t, record, id, key); got != after {
			t.Fatalf("a fence of %s with base %d changed %d to %d, want %d", id, at, base, got, after)
		}
	}
	fence(base-1, false)
	fence(base+1, false)
	fence(base, true)
	base++
	fence(base-1, false)
	return base
}

// look returns the base of a record that must not hold the key.
func look(t *testing.T, record claim.Record, id string, key claim.Key) int64 {
	t.Helper()
	got, err := record.Look(t.Context(), id, key)
	if err != nil || got.Status != claim.Idle {
		t.Fatalf("%s: %+v, %v; want an idle record", id, got, err)
	}
	return got.Base
}
