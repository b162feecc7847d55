package principal

import "sync"

// Forgetter is what a domain keeps for a viewer while it serves one request.
type Forgetter interface {
	// Forget drops it, also what is being read just now: a mutation may change it.
	Forget()
}

// keeper holds what other domains keep for a viewer.
type keeper struct {
	mu   sync.Mutex
	kept map[any]Forgetter
}

// Keep returns what is kept for the viewer under a key, fresh's result the first time.
// The key is of a type of the domain's own, so that two domains never meet in one.
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

// forget has everything be dropped. The order does not matter: each is by itself.
func (k *keeper) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kept := range k.kept {
		kept.Forget()
	}
}
