package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"

	"carrel/core/fault"
)

// keyHost serves a key set, counts how often it is read, and can be down.
type keyHost struct {
	*httptest.Server
	reads atomic.Int32
	down  atomic.Bool
	set   atomic.Pointer[[]byte]
}

func newKeyHost(t *testing.T, set []byte) *keyHost {
	h := &keyHost{}
	h.set.Store(&set)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.reads.Add(1)
		if h.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(*h.set.Load())
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		h.Close()
	})
	return h
}

func (h *keyHost) open(t *testing.T, c *clock) *KeySet {
	t.Helper()
	keys, err := OpenKeySet(context.Background(), h.URL, c.now, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestKeySet_UnknownKeysCauseOneReadIn30Seconds(t *testing.T) {
	c, s := newClock(), makeSigners()
	host := newKeyHost(t, s.set(t))
	a := newAuthenticator(t, Config{Keys: host.open(t, c), Now: c.now})
	c.advance(refreshPause)
	flood := func() {
		var wg sync.WaitGroup
		for i := range 20 {
			token := sign(t, jwa.ES256(), s.ec, map[string]any{"kid": fmt.Sprint("unknown", i)}, goodClaims(c, nil))
			wg.Go(func() {
				if _, err := a.Token(context.Background(), token); fault.CodeOf(err) != fault.Unauthenticated {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	}
	flood()
	flood()
	if n := host.reads.Load(); n != 2 { // one at the start, one for all unknown keys
		t.Errorf("%d reads", n)
	}
	c.advance(refreshPause)
	flood()
	if n := host.reads.Load(); n != 3 {
		t.Errorf("%d reads after another 30 s", n)
	}
}

func TestKeySet_RotatedKeysAreAccepted(t *testing.T) {
	c, s := newClock(), makeSigners()
	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	host := newKeyHost(t, keySetJSON(t, map[string]any{"old": s.ec}))
	a := newAuthenticator(t, Config{Keys: host.open(t, c), Now: c.now})
	old := sign(t, jwa.ES256(), s.ec, map[string]any{"kid": "old"}, goodClaims(c, nil))
	if _, err := a.Token(context.Background(), old); err != nil {
		t.Fatal(err)
	}
	set := keySetJSON(t, map[string]any{"new": next})
	host.set.Store(&set)
	c.advance(refreshPause)
	if _, err := a.Token(context.Background(), sign(t, jwa.ES256(), next, map[string]any{"kid": "new"}, goodClaims(c, nil))); err != nil {
		t.Fatalf("the new key's token: %v", err)
	}
	// The old key was removed, so its tokens are no longer accepted from the cache.
	_, err = a.Token(context.Background(), old)
	wantCode(t, err, fault.Unauthenticated)
}

func TestKeySet_KeepsTheLastGoodSet(t *testing.T) {
	c, s := newClock(), makeSigners()
	host := newKeyHost(t, s.set(t))
	a := newAuthenticator(t, Config{Keys: host.open(t, c), Now: c.now})
	unknown := func() {
		c.advance(refreshPause)
		_, err := a.Token(context.Background(), sign(t, jwa.ES256(), s.ec, map[string]any{"kid": "x"}, goodClaims(c, nil)))
		wantCode(t, err, fault.Unauthenticated)
	}
	good := func() {
		t.Helper()
		if _, err := a.Token(context.Background(), sign(t, jwa.ES256(), s.ec, map[string]any{"kid": "e"}, goodClaims(c, nil))); err != nil {
			t.Error(err)
		}
	}
	host.down.Store(true)
	unknown()
	good()
	host.down.Store(false)
	for _, set := range []string{"garbage", "{}", "[]", `{"error":"down"}`, `{"keys":null}`, `{"keys":[`, strings.Repeat(" ", maxSetBytes+1)} {
		b := []byte(set)
		host.set.Store(&b)
		unknown()
		good()
	}
}

func TestKeySet_EmptyOrUnusableSetWithdrawsAllKeys(t *testing.T) {
	c, s := newClock(), makeSigners()
	for name, set := range map[string]string{
		"empty":          `{"keys":[]}`,
		"for encryption": strings.Replace(string(keySetJSON(t, map[string]any{"e": s.ec})), `"kid"`, `"use":"enc","kid"`, 1),
		"broken key":     `{"keys":[{"kty":"EC","kid":"e"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			host := newKeyHost(t, s.set(t))
			a := newAuthenticator(t, Config{Keys: host.open(t, c), Now: c.now})
			good := sign(t, jwa.ES256(), s.ec, map[string]any{"kid": "e"}, goodClaims(c, nil))
			if _, err := a.Token(context.Background(), good); err != nil {
				t.Fatal(err)
			}
			b := []byte(set)
			host.set.Store(&b)
			c.advance(refreshPause)
			a.keys.refresh(context.Background(), a.keys.currentKeys(), 0)
			_, err := a.Token(context.Background(), good)
			wantCode(t, err, fault.Unauthenticated)
			// The keys return with the next read.
			b2 := s.set(t)
			host.set.Store(&b2)
			c.advance(refreshPause)
			if _, err := a.Token(context.Background(), good); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKeySet_RedirectsStayOnTheConfiguredOrigin(t *testing.T) {
	c, s := newClock(), makeSigners()
	other := newKeyHost(t, s.set(t))
	secure := httptest.NewTLSServer(other.Config.Handler)
	t.Cleanup(secure.Close)
	var at atomic.Value
	at.Store("")
	mux := http.NewServeMux()
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, at.Load().(string), http.StatusFound)
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(s.set(t)) })
	host := httptest.NewServer(mux)
	t.Cleanup(host.Close)
	for to, followed := range map[string]bool{
		"/elsewhere":            true,
		host.URL + "/elsewhere": true,
		other.URL:               false, // another port is another host
		strings.Replace(host.URL, "127.0.0.1", "localhost", 1) + "/elsewhere": false,
		strings.Replace(host.URL, "http:", "https:", 1) + "/elsewhere":        false,
		secure.URL: false,
		"/keys":    false, // for ever
	} {
		t.Run(to, func(t *testing.T) {
			at.Store(to)
			keys, err := OpenKeySet(context.Background(), host.URL+"/keys", c.now, quiet())
			if err != nil {
				t.Fatal(err)
			}
			if read := keys.currentKeys() != nil; read != followed {
				t.Errorf("the set was read: %v", read)
			}
			if n := other.reads.Load(); n != 0 {
				t.Errorf("the other host was read %d times", n)
			}
		})
	}
}

// TestKeySet_LogsNoQuery: some providers take a key in the URL.
func TestKeySet_LogsNoQuery(t *testing.T) {
	host := httptest.NewServer(http.NotFoundHandler())
	host.Close()
	var log bytes.Buffer
	if _, err := OpenKeySet(t.Context(), host.URL+"/keys?key=canary", time.Now, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	if s := log.String(); strings.Contains(s, "canary") || !strings.Contains(s, "could not be read") || !strings.Contains(s, "refused") {
		t.Error(s)
	}
}

func TestKeySet_HostDownAtTheStartIsReadLater(t *testing.T) {
	c, s := newClock(), makeSigners()
	host := newKeyHost(t, s.set(t))
	host.down.Store(true)
	a := newAuthenticator(t, Config{Keys: host.open(t, c), Now: c.now})
	token := sign(t, jwa.ES256(), s.ec, map[string]any{"kid": "e"}, goodClaims(c, nil))
	_, err := a.Token(context.Background(), token)
	wantCode(t, err, fault.Unavailable)
	host.down.Store(false)
	c.advance(refreshPause)
	if _, err := a.Token(context.Background(), token); err != nil {
		t.Error(err)
	}
}

func TestKeySet_IsReadPeriodically(t *testing.T) {
	s := makeSigners()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, keySetJSON(t, map[string]any{"e": s.ec}), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := OpenKeySet(t.Context(), path, time.Now, quiet())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); keys.Run(ctx, time.Minute) }()
		before := keys.currentKeys()
		if err := os.WriteFile(path, keySetJSON(t, map[string]any{"d": s.ed}), 0o600); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute + time.Second)
		synctest.Wait()
		if keys.currentKeys() == before {
			t.Error("the set was not read again")
		}
		stop()
		<-done
	})
}

func TestOpenKeySet_UnusableSetIsRefused(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := makeSigners()
	for name, set := range map[string][]byte{
		"not JSON":       []byte("garbage"),
		"empty":          []byte(`{"keys":[]}`),
		"symmetric":      keySetJSON(t, map[string]any{"s": testSecret}),
		"weak RSA":       []byte(`{"keys":[{"kty":"RSA","kid":"w","e":"AQAB","n":"` + b64(string(weak.N.Bytes())) + `"}]}`),
		"another curve":  keySetJSON(t, map[string]any{"c": wide}),
		"for encryption": []byte(strings.Replace(string(keySetJSON(t, map[string]any{"e": s.ec})), `"kid"`, `"use":"enc","kid"`, 1)),
		"for ES512":      []byte(strings.Replace(string(keySetJSON(t, map[string]any{"e": s.ec})), `"kid"`, `"alg":"ES512","kid"`, 1)),
		"unknown kind":   []byte(`{"keys":[{"kty":"XX"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.json")
			if err := os.WriteFile(path, set, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenKeySet(context.Background(), path, newClock().now, quiet()); err == nil {
				t.Error("no error")
			} else if strings.Contains(err.Error(), "garbage") {
				t.Errorf("the error quotes the source: %v", err)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		if _, err := OpenKeySet(context.Background(), filepath.Join(t.TempDir(), "none"), newClock().now, quiet()); err == nil {
			t.Error("no error")
		}
	})
	t.Run("not a URL", func(t *testing.T) {
		if _, err := OpenKeySet(context.Background(), "http://", newClock().now, quiet()); err == nil {
			t.Error("no error")
		}
	})
}

// TestKeySet_IgnoresUnusableKeys puts one unusable key in front of three good ones.
func TestKeySet_IgnoresUnusableKeys(t *testing.T) {
	c, s := newClock(), makeSigners()
	one := func(member string) string {
		set := string(keySetJSON(t, map[string]any{"first": s.ec}))
		return strings.TrimSuffix(strings.TrimPrefix(strings.Replace(set, `"kid"`, member+`,"kid"`, 1), `{"keys":[`), `]}`)
	}
	modulus := func(bits int) string {
		return `{"kty":"RSA","kid":"w","e":"AQAB","n":"` + b64("\xff"+strings.Repeat("\x01", bits/8-1)) + `"}`
	}
	for _, tc := range []struct{ name, key, reason string }{
		{"unknown type", `{"kty":"XX","kid":"odd"}`, "cannot be read"},
		{"not an object", `7`, "cannot be read"},
		{"use is enc", one(`"use":"enc"`), "use"},
		{"key_ops without verify", one(`"key_ops":["deriveKey","sign"]`), "key_ops"},
		{"no key_ops", one(`"key_ops":[]`), "key_ops"},
		{"RSA of 2040 bits", modulus(2040), "cannot be read"},
		{"RSA of 16392 bits", modulus(16392), "16392 bits"},
		{"another alg", one(`"alg":"ES512"`), "alg"},
		{"good", one(`"key_ops":["verify"],"use":"sig","alg":"ES256"`), ""},
		{"RSA of 16384 bits", modulus(16384), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			set := strings.Replace(string(s.set(t)), `[`, "["+tc.key+",", 1)
			path := filepath.Join(t.TempDir(), "keys.json")
			if err := os.WriteFile(path, []byte(set), 0o600); err != nil {
				t.Fatal(err)
			}
			keys, err := OpenKeySet(context.Background(), path, c.now, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			want := 4
			if tc.reason != "" {
				want = 3
			}
			if n := len(keys.currentKeys().list); n != want {
				t.Errorf("%d usable keys, want %d", n, want)
			}
			warned := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "key 1: ")
			if warned != (tc.reason != "") || !strings.Contains(log.String(), tc.reason) {
				t.Errorf("the log is %q, want a warning about %q", log.String(), tc.reason)
			}
		})
	}
}
