package simulator

import "time"

// leaseScenarios are all operations on keys, in all forms in which they write differently.
func leaseScenarios() []Scenario {
	key := "key"
	none, later := time.Duration(0), 3*time.Second
	acquire := func(ttl int, wait *time.Duration, keys ...string) *Operation {
		return &Operation{kind: opAcquire, viewer: ann, lease: &leaseCall{keys: keys, ttl: ttl, wait: wait}}
	}
	end := func(kind opKind, wait *time.Duration) *Operation {
		return &Operation{kind: kind, viewer: bob, lease: &leaseCall{wait: wait}}
	}
	keyed := acquire(60_000, &none, "a", "b", "c")
	keyed.key = &key
	long, short := acquire(60_000, &none, "b", "a"), acquire(1000, &none, "b", "a")
	return []Scenario{
		{Name: "acquireLease", op: long},
		{Name: "acquireLease with a key", op: keyed},
		{Name: "acquireLease of taken keys", before: []*Operation{long}, op: acquire(60_000, &none, "a", "b", "c"), refused: true},
		{Name: "acquireLease of keys that were given up", before: []*Operation{long, end(opCancel, &none)}, op: long},
		{Name: "acquireLease of keys whose time is over", before: []*Operation{short}, op: acquire(60_000, &later, "a", "b", "c")},
		{Name: "acquireLease and its expiry", op: short, runFor: 10 * time.Second},
		{Name: "confirmLease", before: []*Operation{long}, op: end(opConfirm, &none)},
		{Name: "confirmLease after the deadline", before: []*Operation{short}, op: end(opConfirm, &later), refused: true},
		{Name: "cancelLease", before: []*Operation{long}, op: end(opCancel, &none)},
		{Name: "cancelLease after the deadline", before: []*Operation{short}, op: end(opCancel, &later)},
		{Name: "lease after the deadline", before: []*Operation{short}, op: end(opLease, &later)},
	}
}
