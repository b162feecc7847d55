package lease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"carrel/core/sched"
	"carrel/domain/domaintest"
	"carrel/lease"
)

// queued is a Runtime whose callers get the locks of keys after a time, if they wait for so long.
type queued struct {
	*sched.Real
	after time.Duration
}

func (q queued) Lock(ctx context.Context, key string, queue int) (func(), error) {
	if end, ok := ctx.Deadline(); ok && strings.HasPrefix(key, "key ") && time.Until(end) < q.after {
		return nil, context.DeadlineExceeded
	}
	return q.Real.Lock(ctx, key, queue)
}

// A request waits for its turn at its gateway for as long as it waits for keys, and a repetition for as
// long as for its first attempt.
func TestAcquire_WaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		in    lease.Acquire
		after time.Duration
		want  []string
	}{
		"a request":                             {lease.Acquire{}, 3 * time.Second, nil},
		"a request that does not wait":          {lease.Acquire{}, 7 * time.Second, []string{"CONTENTION"}},
		"a request that waits for keys":         {lease.Acquire{WaitMs: domaintest.Ptr(10_000)}, 7 * time.Second, nil},
		"a request that waits for a short time": {lease.Acquire{WaitMs: domaintest.Ptr(1000)}, 3 * time.Second, nil},
		"a repetition, or its first attempt":    {lease.Acquire{IdempotencyKey: domaintest.Ptr("k")}, 7 * time.Second, nil},
		"a turn that comes too late":            {lease.Acquire{IdempotencyKey: domaintest.Ptr("k")}, 11 * time.Second, []string{"CONTENTION"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newLeases(t, nil)
			rt := queued{sched.NewReal(), c.after}
			defer rt.Close()
			c.in.Documents, c.in.TTLMs = documents("a"), hour
			_, err := h.otherProcess(rt).Leases.Acquire(t.Context(), domaintest.Ann(), c.in)
			domaintest.WantFaults(t, err, c.want...)
		})
	}
}
