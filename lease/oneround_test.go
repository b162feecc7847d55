package lease_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/lease"
)

// The claims of a lease take one round trip for any number of keys: all are sent before any is
// answered.
func TestAcquire_ClaimsAllKeysInOneRoundTrip(t *testing.T) {
	h, store := newFaulty(t)
	var keys []string
	for n := range lease.MaxDocuments {
		keys = append(keys, fmt.Sprint("k", n))
	}
	within, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var sent atomic.Int64
	all := make(chan struct{})
	store.set(func() {
		store.putClaim = func(_ claim.Claim, next func() (claim.Claim, error)) (claim.Claim, error) {
			if sent.Add(1) == lease.MaxDocuments {
				close(all)
			}
			select {
			case <-all:
				return next()
			case <-within.Done():
				return claim.Claim{}, within.Err()
			}
		}
	})
	h.acquire(h.Leases, h.ann, nil, keys...)
	if sent.Load() != lease.MaxDocuments {
		t.Errorf("%d claims were sent for %d keys", sent.Load(), lease.MaxDocuments)
	}
}
