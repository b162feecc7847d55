package auth

import "sync"

// maxVerified is how many tokens each of the two generations holds. Both together take about 1 MB,
// and hold more viewers than one process serves within the lifetime of a token.
const maxVerified = 4096

// verified caches the content of valid tokens, so that a signature is verified once and not for
// every request. Its keys are digests, so it stores no token, and the duration of a look-up reveals
// nothing about one. When the younger generation is full, it replaces the older one.
type verified struct {
	mu             sync.Mutex
	younger, older map[[32]byte]identity
}

func newVerified() *verified {
	return &verified{younger: map[[32]byte]identity{}}
}

// get finds a token that was verified by the secret or by the current key set.
func (v *verified) get(digest [32]byte, current *keys) (identity, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, ok := v.younger[digest]
	if !ok {
		if id, ok = v.older[digest]; ok {
			v.add(digest, id)
		}
	}
	return id, ok && (id.keys == nil || id.keys == current)
}

func (v *verified) put(digest [32]byte, id identity) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(digest, id)
}

func (v *verified) add(digest [32]byte, id identity) {
	if len(v.younger) >= maxVerified {
		v.older, v.younger = v.younger, make(map[[32]byte]identity, maxVerified)
	}
	v.younger[digest] = id
}
