//go:build !race

package simulator

import (
	"slices"
	"testing"
)

// TestDeterminism plays seeds twice, on machines with different pasts.
func TestDeterminism(t *testing.T) {
	first, second := NewMachine(), NewMachine()
	defer first.Close()
	defer second.Close()
	hashes := map[uint64]bool{}
	var seeds []uint64
	for n := range uint64(sample) {
		seeds = append(seeds, 1+n, copiesFrom+n)
	}
	for _, seed := range seeds {
		first.Play(t.Context(), seed)
		hashes[first.TraceHash()] = true
	}
	for _, seed := range slices.Backward(seeds) {
		second.Play(t.Context(), seed)
		if !hashes[second.TraceHash()] {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
	if len(hashes) < len(seeds)*99/100 {
		t.Errorf("%d seeds gave %d different runs", len(seeds), len(hashes))
	}
}
