package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"go.uber.org/goleak"

	"carrel/core/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testSecret = []byte("0123456789abcdef0123456789abcdef")

// clock is a clock that only the test advances.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// signers has one private key of each kind that a key set may contain.
type signers struct {
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
	ed  ed25519.PrivateKey
}

var makeSigners = sync.OnceValue(func() signers {
	r, err1 := rsa.GenerateKey(rand.Reader, 2048)
	e, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, d, err3 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err)
	}
	return signers{r, e, d}
})

// keySetJSON returns a JWKS with the public keys for some private keys, by key id.
func keySetJSON(t *testing.T, byID map[string]any) []byte {
	t.Helper()
	set := jwk.NewSet()
	for kid, raw := range byID {
		key, err := jwk.Import(raw)
		if err != nil {
			t.Fatal(err)
		}
		if key.KeyType() != jwa.OctetSeq() {
			if key, err = key.PublicKey(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(key.Set(jwk.KeyIDKey, kid), set.AddKey(key)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s signers) set(t *testing.T) []byte {
	return keySetJSON(t, map[string]any{"r": s.rsa, "e": s.ec, "d": s.ed})
}

// goodClaims returns claims that are valid at the clock's time, with some replaced by those of
// with; a nil value removes a claim.
func goodClaims(c *clock, with map[string]any) map[string]any {
	out := map[string]any{
		"sub": "u:acme:ann", "iss": "carrel", "aud": "carrel",
		"iat": c.now().Unix(), "exp": c.now().Add(time.Hour).Unix(),
	}
	maps.Copy(out, with)
	for k, v := range out {
		if v == nil {
			delete(out, k)
		}
	}
	return out
}

// sign returns a token with these headers and claims.
func sign(t *testing.T, alg jwa.SignatureAlgorithm, key any, header, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	h := jws.NewHeaders()
	for k, v := range header {
		if err := h.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	signed, err := jws.Sign(payload, jws.WithKey(alg, key, jws.WithProtectedHeaders(h)))
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// setFile writes a JWKS to a file and opens the file as a key set.
func setFile(t *testing.T, c *clock, set []byte) (*KeySet, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, set, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := OpenKeySet(context.Background(), path, c.now, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return keys, path
}

func newAuthenticator(t *testing.T, c Config) *Authenticator {
	t.Helper()
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// request returns a request with these Authorization headers.
func request(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/graphql", nil)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return r
}

func wantCode(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if err == nil || fault.CodeOf(err) != want {
		t.Fatalf("got error %v, want one of code %d", err, want)
	}
}
