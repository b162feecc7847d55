package scenario

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hostileTokens returns rows 25 to 32: tokens that an attacker can make.
func hostileTokens() []row {
	return []row{
		{25, "alg none", func(t *testing.T, w *world) {
			for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
				claims := b64(mustJSON(w.claims(nil)))
				head := b64(mustJSON(map[string]string{"alg": alg, "typ": "JWT"}))
				w.badToken("alg "+alg, head+"."+claims+".")
				w.badToken("alg "+alg+", signed", head+"."+claims+"."+b64([]byte("x")))
			}
		}},
		{26, "RS/HS confusion", hostileConfusion},
		{27, "no exp, past exp", func(_ *testing.T, w *world) {
			w.badToken("no exp", w.tokenWith(map[string]any{"exp": nil}))
			w.badToken("exp in words", w.tokenWith(map[string]any{"exp": "tomorrow"}))
			w.badToken("past exp", w.tokenWith(map[string]any{"exp": time.Now().Add(-31 * time.Second).Unix()}))
			w.goodToken("within the leeway", w.tokenWith(map[string]any{"exp": time.Now().Add(-20 * time.Second).Unix()}))
		}},
		{28, "future nbf, wrong or missing aud, iss and sub", func(_ *testing.T, w *world) {
			for name, claims := range map[string]map[string]any{
				"future nbf": {"nbf": time.Now().Add(40 * time.Second).Unix()}, "no aud": {"aud": nil}, "wrong aud": {"aud": "other"},
				"no iss": {"iss": nil}, "wrong iss": {"iss": "other"},
				"no sub": {"sub": nil}, "a group": {"sub": "g:acme:team"}, "malformed sub": {"sub": "ann"}, "malformed roles": {"roles": "admin"},
			} {
				w.badToken(name, w.tokenWith(claims))
			}
		}},
		{29, "unknown kid floods", hostileKeyFlood},
		{30, "kid as a path; jku, x5u and jwk are ignored", hostileHeaders},
		{31, "key host down; two keys at once", hostileKeyHosts},
		{31, "a key is withdrawn", hostileWithdrawal},
		{32, "1 MB token, JWE, forged identity headers", hostileEnvelopes},
	}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // test data can always be encoded
	}
	return b
}

// claims returns valid claims of ann, with some changed, or removed if nil.
func (w *world) claims(with map[string]any) map[string]any {
	now := time.Now().Unix()
	claims := map[string]any{"sub": "u:acme:ann", "iss": "carrel", "aud": "carrel", "iat": now, "exp": now + 3600}
	maps.Copy(claims, with)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// tokenWith returns a token signed with the gateway's secret.
func (w *world) tokenWith(claims map[string]any) string {
	return signed(map[string]any{"alg": "HS256"}, w.claims(claims), func(b []byte) []byte { return mac(w.secret, b) })
}

func mac(secret, b []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(b)
	return m.Sum(nil)
}

func signed(head, claims map[string]any, sign func([]byte) []byte) string {
	text := b64(mustJSON(head)) + "." + b64(mustJSON(claims))
	return text + "." + b64(sign([]byte(text)))
}

func (g *gateway) badToken(name, token string) {
	g.t.Helper()
	r := g.send("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer "+token)
	if r.Status != 401 || r.code() != "UNAUTHENTICATED" || !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Bearer") {
		g.t.Errorf("%s: got %d %.300s", name, r.Status, r.body)
	}
}

func (g *gateway) goodToken(name, token string) {
	g.t.Helper()
	// A user that is not stored may still create itself, so the token was accepted.
	r := g.send("POST", "/graphql", question("{__typename}"), "Authorization: Bearer "+token)
	if r.Status != 200 || r.code() != "" {
		g.t.Errorf("%s: got %d %.300s", name, r.Status, r.body)
	}
}

// keyHost serves a key set, and counts the requests for it.
type keyHost struct {
	*httptest.Server
	set      atomic.Pointer[[]byte]
	down     atomic.Bool
	requests atomic.Int64
}

func newKeyHost(t *testing.T, keys ...map[string]any) *keyHost {
	h := &keyHost{}
	h.serve(keys...)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.requests.Add(1)
		if h.down.Load() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(*h.set.Load())
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *keyHost) serve(keys ...map[string]any) {
	set := mustJSON(map[string]any{"keys": keys})
	h.set.Store(&set)
}

// signer is a key with its public half as a JWK.
type signer struct {
	alg, kid string
	jwk      map[string]any
	sign     func([]byte) []byte
}

// token returns a token of ann, with further members in the header.
func (s *signer) token(w *world, head map[string]any) string {
	all := map[string]any{"alg": s.alg, "kid": s.kid}
	maps.Copy(all, head)
	return signed(all, w.claims(nil), s.sign)
}

func newES256(t *testing.T, kid string) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		t.Fatal(err)
	}
	return &signer{"ES256", kid, map[string]any{"kty": "EC", "crv": "P-256", "kid": kid, "x": b64(point[1:33]), "y": b64(point[33:])},
		func(b []byte) []byte {
			sum := sha256.Sum256(b)
			r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}}
}

func newEdDSA(t *testing.T, kid string) *signer {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{"EdDSA", kid, map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": b64(public)},
		func(b []byte) []byte { return ed25519.Sign(private, b) }}
}

func newRS256(t *testing.T, kid string) (*signer, *rsa.PrivateKey) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{"RS256", kid, map[string]any{"kty": "RSA", "kid": kid, "n": b64(key.N.Bytes()),
		"e": b64(big.NewInt(int64(key.E)).Bytes())}, func(b []byte) []byte {
		sum := sha256.Sum256(b)
		s, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}, key
}

func hostileConfusion(t *testing.T, w *world) {
	rs, _ := newRS256(t, "r")
	es, ed := newES256(t, "e"), newEdDSA(t, "d")
	host := newKeyHost(t, rs.jwk, es.jwk, ed.jwk)
	g := serveWith(t, "--auth-jwks", host.URL)
	for _, s := range []*signer{rs, es, ed} {
		g.goodToken(s.alg, s.token(w, nil))
	}
	// The public key, in the forms in which it can be found, used as if it were the
	// secret.
	for _, secret := range [][]byte{*host.set.Load(), mustJSON(rs.jwk), []byte(rs.jwk["n"].(string))} {
		head := map[string]any{"alg": "HS256", "kid": "r"}
		g.badToken("HS256 with a public key", signed(head, w.claims(nil), func(b []byte) []byte { return mac(secret, b) }))
	}
	g.badToken("the key of another kind", rs.token(w, map[string]any{"kid": "e"}))
	g.badToken("another name for the algorithm", rs.token(w, map[string]any{"alg": "PS256"}))
	// The gateway of the other rows has no key set.
	w.badToken("no key set", rs.token(w, nil))
}

func hostileKeyFlood(t *testing.T, w *world) {
	known, stranger := newES256(t, "known"), newES256(t, "stranger")
	host := newKeyHost(t, known.jwk)
	g := serveWith(t, "--auth-jwks", host.URL, "--rate-limit", "0")
	began := time.Now()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 50 {
				g.badToken("unknown", stranger.token(w, map[string]any{"kid": strings.Repeat("x", 1+n) + string(rune('A'+i))}))
			}
		})
	}
	wg.Wait()
	g.goodToken("in the flood", known.token(w, nil))
	// One request at the start, and one for each half minute of the test.
	if most := 2 + int64(time.Since(began)/(30*time.Second)); host.requests.Load() > most {
		t.Errorf("the key host received %d requests, want at most %d", host.requests.Load(), most)
	}
}

func hostileHeaders(t *testing.T, w *world) {
	known, stranger := newES256(t, "known"), newES256(t, "stranger")
	host, theirs := newKeyHost(t, known.jwk), newKeyHost(t, stranger.jwk)
	g := serveWith(t, "--auth-jwks", host.URL)
	for _, kid := range []string{"../../../../etc/passwd", "/dev/null", "known\x00", "' OR 1=1 --", strings.Repeat("k", 5_000)} {
		g.badToken("kid "+kid[:5], known.token(w, map[string]any{"kid": kid}))
	}
	for name, head := range map[string]map[string]any{
		"jku": {"jku": theirs.URL}, "x5u": {"x5u": theirs.URL}, "jwk": {"jwk": stranger.jwk}, "x5c": {"x5c": []string{"MIIB"}},
		"jku of the kid": {"jku": theirs.URL, "kid": "known"}, "crit": {"crit": []string{"exp"}, "kid": "known"},
	} {
		g.badToken(name, stranger.token(w, head))
	}
	g.goodToken("with a jku that is ignored", known.token(w, map[string]any{"jku": theirs.URL, "x5u": theirs.URL, "jwk": stranger.jwk}))
	if n := theirs.requests.Load(); n != 0 {
		t.Errorf("the attacker's host received %d requests", n)
	}
}

func hostileKeyHosts(t *testing.T, w *world) {
	first, next := newES256(t, "first"), newES256(t, "next")
	host := newKeyHost(t, first.jwk)
	g := serveWith(t, "--auth-jwks", host.URL)
	g.goodToken("first", first.token(w, nil))
	host.down.Store(true)
	g.badToken("unknown while the host is down", next.token(w, nil))
	g.goodToken("the last good set is kept", first.token(w, nil))

	both := newKeyHost(t, first.jwk, next.jwk)
	g = serveWith(t, "--auth-jwks", both.URL)
	g.goodToken("the old key while both are published", first.token(w, nil))
	g.goodToken("the new key while both are published", next.token(w, nil))

	dead := newKeyHost(t)
	dead.down.Store(true)
	g = serveWith(t, "--auth-jwks", dead.URL)
	r := g.send("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer "+first.token(w, nil))
	if r.Status != 503 || r.code() != "UNAVAILABLE" || strings.Contains(string(r.body), strings.TrimPrefix(dead.URL, "http://")) {
		t.Errorf("no keys yet: %d %s", r.Status, r.body)
	}
	if r := g.send("POST", "/graphql", question("{viewer{id}}")); r.Status != 200 {
		t.Errorf("without a token: %d %s", r.Status, r.body)
	}
}

// hostileRotation returns another part of row 31. It replaces the keys while the gateway runs. Half
// a minute after the last request for the key set, the first token with an unknown key triggers
// another one.
func hostileRotation() longRow {
	var (
		g           *gateway
		host        *keyHost
		first, next *signer
	)
	begin := func(t *testing.T, w *world) {
		first, next = newES256(t, "first"), newEdDSA(t, "next")
		host = newKeyHost(t, first.jwk)
		g = serveWith(t, "--auth-jwks", host.URL, "--rate-limit", "0")
		g.goodToken("the first key", first.token(w, nil))
		host.serve(first.jwk, next.jwk)
	}
	try := func(t *testing.T, w *world) {
		old, young := first.token(w, nil), next.token(w, nil)
		here := g.in(t)
		for tries := 0; here.send("POST", "/graphql", question("{__typename}"), "Authorization: Bearer "+young).Status != 200; tries++ {
			if tries == 200 {
				t.Fatalf("the new key was not read within a minute; the host received %d requests", host.requests.Load())
			}
			here.goodToken("the old key while the new one is not known", old)
			<-time.After(300 * time.Millisecond)
		}
		here.goodToken("the new key", young)
		here.goodToken("the old key, which is still published", old)
		if n := host.requests.Load(); n > 3 {
			t.Errorf("the key host received %d requests", n)
		}
	}
	return longRow{row{31, "rotation", try}, begin}
}

// hostileWithdrawal removes a key from the set. A token that was accepted before is
// refused after the next request for the set. A subscription that is open by then
// continues until its token expires, as docs/authentication.md says.
func hostileWithdrawal(t *testing.T, w *world) {
	stolen, other := newES256(t, "stolen"), newEdDSA(t, "other")
	host := newKeyHost(t, stolen.jwk, other.jwk)
	g := serveWith(t, "--auth-jwks", host.URL, "--auth-jwks-every", "1s", "--rate-limit", "0")
	old, young := stolen.token(w, nil), other.token(w, nil)
	g.must(old, createUser, vars{"in": vars{"tenant": "acme", "name": "ann", "displayName": "Ann", "email": "ann@acme.example"}})
	follower := g.followByEvents(old, "u:acme:ann", "")
	g.awaitFollowers(t, 1)
	host.serve(other.jwk)
	deadline := time.Now().Add(answerWithin)
	for g.send("POST", "/graphql", question("{__typename}"), "Authorization: Bearer "+old).Status == 200 {
		if time.Now().After(deadline) {
			t.Fatalf("a withdrawn key is still accepted; the host received %d requests", host.requests.Load())
		}
	}
	g.badToken("of a withdrawn key", old)
	g.goodToken("of the remaining key", young)
	g.must(young, createItem, vars{"in": vars{"name": "after", "kind": "NOTE", "title": "After"}})
	follower.wants("+c:acme:after After MANAGER")
	follower.leave()
	g.badToken("of a withdrawn key, later", old)
}

func hostileEnvelopes(t *testing.T, w *world) {
	r, err := w.trySend("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer "+strings.Repeat("a", 1<<20))
	if err == nil && r.Status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("1 MB: %d", r.Status)
	}
	w.badToken("10 KB", strings.Repeat("a", 10_000))
	received := w.exchange(2, `{"type":"connection_init","payload":{"authorization":"Bearer `+strings.Repeat("a", 900_000)+`"}}`)
	if got := received[len(received)-1]; got != "closed 4403" {
		t.Errorf("900 KB over a socket: %s", got)
	}
	w.badToken("JWE", b64([]byte(`{"alg":"dir","enc":"A256GCM"}`))+"..AAAA.AAAA.AAAA")
	parts := strings.Split(w.ann, ".")
	w.badToken("JSON form", `{"payload":"`+parts[1]+`","protected":"`+parts[0]+`","signature":"`+parts[2]+`"}`)
	for _, header := range []string{"X-User: u:acme:ann", "X-Forwarded-User: u:acme:ann", "X-Remote-User: u:acme:ann",
		"Cookie: token=" + w.ann, "X-Roles: global-admin"} {
		if r := w.send("POST", "/graphql", question("{viewer{id}}"), header); r.Status != 200 || r.at("viewer") != nil {
			t.Errorf("%.20s: %d %s", header, r.Status, r.body)
		}
	}
}
