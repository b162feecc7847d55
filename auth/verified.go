package auth

import "carrel/core/lru"

// maxVerified is how many tokens are kept. They take about 1 MB, and are more than the viewers that one process
// serves within the lifetime of a token.
const maxVerified = 8192

// verified caches the content of valid tokens, so that a signature is verified once and not for
// every request. Its keys are digests, so it stores no token, and the duration of a look-up reveals
// nothing about one.
type verified struct {
	*lru.Cache[[32]byte, identity]
}

func newVerified() verified {
	return verified{lru.New[[32]byte](maxVerified, maxVerified, func(identity) int { return 1 }, nil)}
}

// get finds a token that was verified by the secret or by the current key set.
func (v verified) get(digest [32]byte, current *keys) (identity, bool) {
	id, ok := v.Get(digest)
	return id, ok && (id.keys == nil || id.keys == current)
}
