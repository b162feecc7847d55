package principal

import "sync"

// Forgetter is the data that a domain keeps for a viewer while it serves one request.
type Forgetter interface {
	// Forget drops it, including what is being read now: a mutation may change it.
	Forget()
}

// keeper holds the data that other domains keep for a viewer.
type keeper struct {
	mu   sync.Mutex
	kept map[any]Forgetter
}

// Keep returns the data that is kept for the viewer under a key. If there is none, it keeps the
// result of fresh. The key must be of a type of the domain's own, so that two domains never share
// one.
func (v *Viewer) Keep(key any, fresh func() Forgetter) Forgetter {
	k := &v.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept[key] == nil {
		if k.kept == nil {
			k.kept = map[any]Forgetter{}
		}
		k.kept[key] = fresh()
	}
	return k.kept[key]
}

// forget drops everything. The order does not matter, because the data is independent.
func (k *keeper) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kept := range k.kept {
		kept.Forget()
	}
}
