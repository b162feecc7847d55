package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"carrel/core/fault"
)

const (
	// refreshPause is the shortest time between a read of a key set and the next one that tokens
	// with unknown keys cause, however many of them arrive.
	refreshPause = 30 * time.Second
	// fetchTimeout is how long one read may take. Requests may wait for it.
	fetchTimeout = 5 * time.Second
	// maxSetBytes limits the size of a key set. One key has less than 1 KB.
	maxSetBytes = 1 << 20
	// minRSABits is the smallest size that NIST SP 800-131A allows. maxRSABits is the largest one
	// that OpenSSL verifies: the time of a verification grows with the square of the size.
	minRSABits, maxRSABits = 2048, 16384
)

// KeySet is a set of public signing keys that is read from a file or a URL,
// and read again when a token names a key that is not in it. The last good set
// is kept while the source is down.
type KeySet struct {
	read func(ctx context.Context) ([]byte, error)
	now  func() time.Time
	log  *slog.Logger

	current atomic.Pointer[keys]
	// gate is held by the goroutine that reads the set, and guards lastTry.
	gate    chan struct{}
	lastTry time.Time
}

// keys is one state of a key set.
type keys struct {
	source []byte
	list   []signingKey
}

type signingKey struct {
	alg jwa.SignatureAlgorithm
	kid string
	raw any
}

// OpenKeySet reads the key set at source, a path or an http(s) URL. A file that cannot be read or
// contains no usable key is an error. If a URL cannot be read, that is logged, and it is read again
// later, so that the gateway starts while the server of the keys is down.
func OpenKeySet(ctx context.Context, source string, now func() time.Time, log *slog.Logger) (*KeySet, error) {
	s := &KeySet{now: now, log: log, gate: make(chan struct{}, 1)}
	remote := strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
	if remote {
		if u, err := url.Parse(source); err != nil || u.Host == "" {
			return nil, errors.New("key set: not a URL")
		}
		client := &http.Client{Timeout: fetchTimeout, CheckRedirect: sameOrigin}
		s.read = func(ctx context.Context) ([]byte, error) { return fetch(ctx, client, source) }
	} else {
		s.read = func(context.Context) ([]byte, error) { return os.ReadFile(source) }
	}
	s.gate <- struct{}{}
	err := s.reload(ctx)
	<-s.gate
	if !remote {
		if err == nil && len(s.current.Load().list) == 0 {
			err = errors.New("it has no public key for RS256, ES256 or EdDSA")
		}
		if err != nil {
			return nil, fmt.Errorf("key set: %w", err)
		}
	}
	s.logError(err)
	return s, nil
}

// Run reads the set periodically until ctx ends, so that tokens of withdrawn keys are refused.
func (s *KeySet) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.refresh(ctx, s.current.Load(), 0)
		}
	}
}

// currentKeys returns the current keys, or nil if there are none.
func (s *KeySet) currentKeys() *keys {
	if s == nil {
		return nil
	}
	return s.current.Load()
}

// find returns the key for tokens of alg and kid, and the set that it is in.
func (s *KeySet) find(ctx context.Context, alg jwa.SignatureAlgorithm, kid string) (any, *keys, error) {
	set := s.current.Load()
	if key := set.find(alg, kid); key != nil {
		return key, set, nil
	}
	s.refresh(ctx, set, refreshPause)
	set = s.current.Load()
	if set == nil {
		return nil, nil, &fault.Error{Code: fault.Unavailable, RetryAfter: int(refreshPause / time.Second),
			Msg: "the keys for verifying tokens cannot be read now"}
	}
	if key := set.find(alg, kid); key != nil {
		return key, set, nil
	}
	return nil, nil, refused("the token's key (kid) is not known")
}

// find returns the raw key, or nil if there is none. A token without a key id is accepted if only
// one key has its algorithm.
func (k *keys) find(alg jwa.SignatureAlgorithm, kid string) any {
	if k == nil {
		return nil
	}
	var found any
	for _, key := range k.list {
		if key.alg != alg || kid != "" && key.kid != kid {
			continue
		}
		if kid != "" {
			return key.raw
		}
		if found != nil {
			return nil
		}
		found = key.raw
	}
	return found
}

// refresh reads the set, unless it has changed since seen or the last attempt is
// more recent than pause. Concurrent callers wait for the one that reads.
func (s *KeySet) refresh(ctx context.Context, seen *keys, pause time.Duration) {
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.gate }()
	if s.current.Load() != seen || s.now().Sub(s.lastTry) < pause {
		return
	}
	// Other requests need the new keys even if this request ends.
	s.logError(s.reload(context.WithoutCancel(ctx)))
}

// logError logs why the set could not be read. The last good set is kept.
func (s *KeySet) logError(err error) {
	if err != nil {
		s.log.Warn("the key set could not be read", "err", err.Error(), "kept", s.current.Load() != nil)
	}
}

// reload reads the set. The caller holds the gate.
func (s *KeySet) reload(ctx context.Context) error {
	s.lastTry = s.now()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	source, err := s.read(ctx)
	if err != nil {
		return err
	}
	if last := s.current.Load(); last != nil && bytes.Equal(last.source, source) {
		return nil
	}
	set, unusable, err := parseKeys(source)
	if err != nil {
		return err
	}
	s.current.Store(set)
	if len(set.list) == 0 {
		s.log.Warn("the key set has no usable key; tokens that are verified by it are refused from now on")
	}
	if len(unusable) > 0 {
		s.log.Warn("the key set has keys that do not verify tokens", "keys", len(unusable), "first", unusable[0])
	}
	return nil
}

// sameOrigin refuses redirects of a read to another scheme or host. The server there was not
// configured, and its keys would be trusted.
func sameOrigin(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return errors.New("the server of the key set redirects to another scheme or host")
	}
	if len(via) >= 10 {
		return errors.New("the server of the key set redirects too often")
	}
	return nil
}

// fetch reads a key set over HTTP.
func fetch(ctx context.Context, client *http.Client, source string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		var of *url.Error // with the URL, whose query may contain a key
		if errors.As(err, &of) {
			err = of.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server of the key set answered with status %d", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSetBytes+1))
	if err == nil && len(b) > maxSetBytes {
		err = fmt.Errorf("the key set has more than %d bytes", maxSetBytes)
	}
	return b, err
}

// parseKeys returns the public keys of a JWKS that can verify tokens, and says of the other ones why
// they cannot. Others (symmetric, for encryption, on other curves) are no error, because a set may
// be shared with services that use them. A set without keys is valid: its keys were withdrawn.
func parseKeys(source []byte) (*keys, []string, error) {
	var members struct {
		Keys []json.RawMessage `json:"keys"`
	}
	// The library's message may quote the source, and it takes any object for an empty set.
	if json.Unmarshal(source, &members) != nil || members.Keys == nil {
		return nil, nil, errors.New("it is not a JSON Web Key Set")
	}
	k := &keys{source: source}
	var unusable []string
	for i, member := range members.Keys {
		usable, err := signingKeyOf(member)
		if err != nil {
			unusable = append(unusable, fmt.Sprintf("key %d: %v", i+1, err))
			continue
		}
		k.list = append(k.list, usable)
	}
	return k, unusable, nil
}

// signingKeyOf returns the public part of a key with the algorithm for its type. It is an error if
// the key cannot verify tokens.
func signingKeyOf(source []byte) (signingKey, error) {
	var out signingKey
	key, err := jwk.ParseKey(source)
	if err != nil {
		return out, errors.New("it cannot be read")
	}
	if use, ok := key.KeyUsage(); ok && use != "sig" {
		return out, errors.New("its use is not sig")
	}
	if ops, ok := key.KeyOps(); ok && !slices.Contains(ops, jwk.KeyOpVerify) {
		return out, errors.New("its key_ops do not contain verify")
	}
	public, err := key.PublicKey()
	if err == nil {
		err = jwk.Export(public, &out.raw)
	}
	if err != nil {
		return out, errors.New("it cannot be read")
	}
	switch raw := out.raw.(type) {
	case *rsa.PublicKey:
		if bits := raw.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return out, fmt.Errorf("it has %d bits; RSA keys have %d to %d", bits, minRSABits, maxRSABits)
		}
		out.alg = jwa.RS256()
	case *ecdsa.PublicKey:
		if raw.Curve != elliptic.P256() {
			return out, errors.New("its curve is not P-256")
		}
		out.alg = jwa.ES256()
	case ed25519.PublicKey:
		out.alg = jwa.EdDSA()
	default:
		return out, errors.New("its type is not RSA, EC or Ed25519")
	}
	if alg, ok := key.Algorithm(); ok && alg.String() != out.alg.String() {
		return out, errors.New("its alg is not " + out.alg.String())
	}
	out.kid, _ = key.KeyID()
	return out, nil
}
