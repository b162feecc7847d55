package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwe"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"carrel/core/fault"
	"carrel/principal"
)

func TestCaller_ValidTokenHasItsViewer(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	a := newAuthenticator(t, Config{Secret: testSecret, Keys: keys, Now: c.now})
	hs := func(with map[string]any) string {
		return sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, with))
	}
	type who struct {
		user          principal.ID
		admin, global bool
	}
	ann := who{user: "u:acme:ann"}
	for name, tc := range map[string]struct {
		token string
		want  who
	}{
		"HS256":                  {hs(nil), ann},
		"RS256":                  {sign(t, jwa.RS256(), s.rsa, map[string]any{"kid": "r"}, goodClaims(c, nil)), ann},
		"ES256":                  {sign(t, jwa.ES256(), s.ec, map[string]any{"kid": "e"}, goodClaims(c, nil)), ann},
		"EdDSA":                  {sign(t, jwa.EdDSA(), s.ed, map[string]any{"kid": "d"}, goodClaims(c, nil)), ann},
		"no kid, one key fits":   {sign(t, jwa.ES256(), s.ec, nil, goodClaims(c, nil)), ann},
		"upper-case subject":     {hs(map[string]any{"sub": "U:Acme:ANN"}), ann},
		"audience in a list":     {hs(map[string]any{"aud": []string{"x", "carrel"}}), ann},
		"expired within leeway":  {hs(map[string]any{"exp": c.now().Add(-29 * time.Second).Unix()}), ann},
		"not yet, within leeway": {hs(map[string]any{"nbf": c.now().Add(30 * time.Second).Unix()}), ann},
		"administrator":          {hs(map[string]any{"roles": []string{"admin"}}), who{user: ann.user, admin: true}},
		"global administrator":   {hs(map[string]any{"roles": []string{"global-admin"}}), who{user: ann.user, global: true}},
		"both, and an unknown role": {hs(map[string]any{"roles": []string{"x", "admin", "global-admin"}}),
			who{ann.user, true, true}},
		"jku, x5u and jwk are ignored": {sign(t, jwa.HS256(), testSecret, map[string]any{
			"jku": "https://127.0.0.1:1/keys", "x5u": "https://127.0.0.1:1/cert", "jwk": mustImport(t, s.rsa),
		}, goodClaims(c, nil)), ann},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time it is in the cache
				got, err := a.Caller(t.Context(), request("Bearer " + tc.token).Header["Authorization"])
				if err != nil {
					t.Fatal(err)
				}
				if want := c.now().Add(time.Hour + Leeway); tc.want == ann && name == "HS256" && !got.Until.Equal(want) {
					t.Errorf("valid until %s, want %s", got.Until, want)
				}
				if diff := cmp.Diff(tc.want, who{got.User, got.Admin, got.GlobalAdmin}, cmp.AllowUnexported(who{})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func mustImport(t *testing.T, raw any) jwk.Key {
	t.Helper()
	key, err := jwk.Import(raw)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// badTokens returns tokens that must be refused, by what is wrong with them.
func badTokens(t *testing.T, c *clock, s signers) map[string]string {
	hs := func(with map[string]any) string {
		return sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, with))
	}
	good := hs(nil)
	parts := strings.Split(good, ".")
	publicAsSecret := keySetJSON(t, map[string]any{"r": s.rsa})
	encrypted, err := jwe.Encrypt([]byte(good), jwe.WithKey(jwa.RSA_OAEP_256(), &s.rsa.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"empty":                     "",
		"garbage":                   "garbage",
		"three empty parts":         "..",
		"binary":                    "\x00\xff.\x00.\x00",
		"more than a megabyte":      strings.Repeat("a", 1<<20),
		"alg none":                  b64(`{"alg":"none"}`) + "." + parts[1] + ".",
		"alg None":                  b64(`{"alg":"None"}`) + "." + parts[1] + ".",
		"alg none with a signature": b64(`{"alg":"none"}`) + "." + parts[1] + "." + parts[2],
		"no alg":                    b64(`{"typ":"JWT"}`) + "." + parts[1] + "." + parts[2],
		"signature cut off":         parts[0] + "." + parts[1] + ".",
		"claims exchanged": parts[0] + "." + b64(`{"sub":"u:acme:bob","iss":"carrel","aud":"carrel","exp":99999999999}`) +
			"." + parts[2],
		"another secret":             sign(t, jwa.HS256(), []byte(strings.Repeat("x", 32)), nil, goodClaims(c, nil)),
		"HS512 with the secret":      sign(t, jwa.HS512(), append(append([]byte{}, testSecret...), testSecret...), nil, goodClaims(c, nil)),
		"PS256":                      sign(t, jwa.PS256(), s.rsa, map[string]any{"kid": "r"}, goodClaims(c, nil)),
		"RS512":                      sign(t, jwa.RS512(), s.rsa, map[string]any{"kid": "r"}, goodClaims(c, nil)),
		"public key as HS256 secret": sign(t, jwa.HS256(), publicAsSecret, map[string]any{"kid": "r"}, goodClaims(c, nil)),
		"kid of a key of other kind": sign(t, jwa.RS256(), s.rsa, map[string]any{"kid": "e"}, goodClaims(c, nil)),
		"unknown kid":                sign(t, jwa.RS256(), s.rsa, map[string]any{"kid": "nobody's"}, goodClaims(c, nil)),
		"kid as a path":              sign(t, jwa.RS256(), s.rsa, map[string]any{"kid": "../../etc/passwd"}, goodClaims(c, nil)),
		"critical extension":         sign(t, jwa.HS256(), testSecret, map[string]any{"crit": []string{"exp"}, "exp": 1}, goodClaims(c, nil)),
		"encrypted":                  string(encrypted),
		"JSON form":                  `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"claims not an object":       sign(t, jwa.HS256(), testSecret, nil, nil),
		"no exp":                     hs(map[string]any{"exp": nil}),
		"exp in words":               hs(map[string]any{"exp": "tomorrow"}),
		"expired":                    hs(map[string]any{"exp": c.now().Add(-30 * time.Second).Unix()}),
		"not valid yet":              hs(map[string]any{"nbf": c.now().Add(31 * time.Second).Unix()}),
		"no iss":                     hs(map[string]any{"iss": nil}),
		"another iss":                hs(map[string]any{"iss": "other"}),
		"no aud":                     hs(map[string]any{"aud": nil}),
		"another aud":                hs(map[string]any{"aud": "other"}),
		"aud list without ours":      hs(map[string]any{"aud": []string{"other", "carrel2"}}),
		"no sub":                     hs(map[string]any{"sub": nil}),
		"sub is a group":             hs(map[string]any{"sub": "g:acme:team"}),
		"sub is malformed":           hs(map[string]any{"sub": "ann"}),
		"sub is a number":            hs(map[string]any{"sub": 7}),
		"roles not a list":           hs(map[string]any{"roles": "admin"}),
		"a role is a number":         hs(map[string]any{"roles": []any{1}}),
	}
}

// signParts signs an encoded header and encoded claims, and encodes the signature with encoding.
func signParts(head, claims string, encoding *base64.Encoding) string {
	mac := hmac.New(sha256.New, testSecret)
	mac.Write([]byte(head + "." + claims))
	return head + "." + claims + "." + encoding.EncodeToString(mac.Sum(nil))
}

// alter changes the unused bits of the last character of a part.
func alter(t *testing.T, part string) string {
	t.Helper()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, part[len(part)-1])
	if len(part)%4 == 0 || last < 0 || last%4 != 0 {
		t.Fatalf("%s has no unused bits", part)
	}
	return part[:len(part)-1] + alphabet[last+1:last+2]
}

// TestToken_OnlyCanonicalBase64URLIsAccepted: each valid token has exactly one encoding.
func TestToken_OnlyCanonicalBase64URLIsAccepted(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	const head = `{"alg":"HS256","typ":"J?T"}` // its base64 and base64url encodings differ
	claims := func(more string) string {
		return fmt.Sprintf(`{"sub":"u:acme:ann","iss":"carrel","aud":"carrel","exp":%d,"x":"%s"}`, c.now().Add(time.Hour).Unix(), more)
	}
	text := claims("??>")
	for more := "??>"; len(text)%3 == 0; more += "?" { // until the encoding has no unused bits
		text = claims(more)
	}
	good := signParts(b64(head), b64(text), base64.RawURLEncoding)
	if _, err := a.Token(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	cut := strings.LastIndexByte(good, '.') + 1
	for name, token := range map[string]string{
		"a padded signature":                   good + "=",
		"unused bits of the signature":         good[:cut] + alter(t, good[cut:]),
		"a line break in the signature":        good[:cut+5] + "\n" + good[cut+5:],
		"a line break at the end":              good + "\r\n",
		"a padded payload":                     signParts(b64(head), base64.URLEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding),
		"a payload in the standard alphabet":   signParts(b64(head), base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding),
		"unused bits of the payload":           signParts(b64(head), alter(t, b64(text)), base64.RawURLEncoding),
		"a line break in the payload":          signParts(b64(head), b64(text)[:8]+"\n"+b64(text)[8:], base64.RawURLEncoding),
		"a padded header":                      signParts(base64.URLEncoding.EncodeToString([]byte(head+" ")), b64(text), base64.RawURLEncoding),
		"unused bits of the header":            signParts(alter(t, b64(head+" ")), b64(text), base64.RawURLEncoding),
		"a header in the standard alphabet":    signParts(base64.RawStdEncoding.EncodeToString([]byte(head)), b64(text), base64.RawURLEncoding),
		"a signature of the standard alphabet": standardSignature(b64(head), claims),
	} {
		t.Run(name, func(t *testing.T) {
			if caller, err := a.Token(t.Context(), token); err == nil || caller != (Caller{}) {
				t.Errorf("accepted: %s", token)
			}
		})
	}
}

// standardSignature returns a token that is valid except that its signature contains a character of
// the standard base64 alphabet.
func standardSignature(head string, claims func(string) string) string {
	for n := 0; ; n++ {
		token := signParts(head, b64(claims(strings.Repeat("x", n))), base64.RawStdEncoding)
		if strings.ContainsAny(token[strings.LastIndexByte(token, '.'):], "+/") {
			return token
		}
	}
}

// TestToken_TimesMustBeNumbers: exp, nbf and iat must be JSON numbers, as RFC 7519 says, and not
// strings.
func TestToken_TimesMustBeNumbers(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	soon, past := c.now().Add(time.Hour), c.now().Add(-time.Hour)
	for name, when := range map[string]time.Time{"exp": soon, "nbf": past, "iat": past} {
		unix := when.Unix()
		if _, err := a.Token(t.Context(), sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, map[string]any{name: unix}))); err != nil {
			t.Errorf("%s as a number: %v", name, err)
		}
		if _, err := a.Token(t.Context(), sign(t, jwa.HS256(), testSecret, nil,
			goodClaims(c, map[string]any{name: float64(unix) + 0.5}))); err != nil {
			t.Errorf("%s with a fraction: %v", name, err)
		}
		for _, value := range []any{strconv.FormatInt(unix, 10), when.Format(time.RFC3339), "", json.RawMessage("null"),
			true, []int64{unix}, map[string]int64{"at": unix}} {
			_, err := a.Token(t.Context(), sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, map[string]any{name: value})))
			if fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("%s as %#v: %v", name, value, err)
			}
		}
	}
}

func TestCaller_BadTokenIsRefusedAndNeverAnonymous(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	a := newAuthenticator(t, Config{Secret: testSecret, Keys: keys, Now: c.now})
	for name, token := range badTokens(t, c, s) {
		t.Run(name, func(t *testing.T) {
			v, err := a.Caller(t.Context(), request("Bearer " + token).Header["Authorization"])
			wantCode(t, err, fault.Unauthenticated)
			if v != (Caller{}) {
				t.Errorf("a caller was returned with the error")
			}
			if strings.Contains(err.Error(), string(testSecret)) || len(err.Error()) > 200 {
				t.Errorf("the error reveals too much: %v", err)
			}
		})
	}
}

func TestCaller_OnlyOneBearerHeaderIsAccepted(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	token := sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil))
	t.Run("no header is anonymous", func(t *testing.T) {
		v, err := a.Caller(t.Context(), request().Header["Authorization"])
		if err != nil || v.SignedIn() {
			t.Errorf("got %v, %v", v, err)
		}
	})
	t.Run("the case of the scheme is ignored", func(t *testing.T) {
		if _, err := a.Caller(t.Context(), request("bEARER " + token).Header["Authorization"]); err != nil {
			t.Error(err)
		}
	})
	t.Run("forged identity headers are ignored", func(t *testing.T) {
		r := request()
		r.Header.Set("X-User", "u:acme:ann")
		r.Header.Set("X-Forwarded-User", "u:acme:ann")
		if v, err := a.Caller(t.Context(), r.Header["Authorization"]); err != nil || v.SignedIn() {
			t.Errorf("got %v, %v", v, err)
		}
	})
	for name, headers := range map[string][]string{
		"empty":         {""},
		"only a scheme": {"Bearer"},
		"basic":         {"Basic YTpi"},
		"no scheme":     {token},
		"twice":         {"Bearer " + token, "Bearer " + token},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.Caller(t.Context(), request(headers...).Header["Authorization"])
			wantCode(t, err, fault.Unauthenticated)
		})
	}
}

func TestToken_OfAnUnconfiguredKindIsRefused(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	onlyKeys := newAuthenticator(t, Config{Keys: keys, Now: c.now})
	_, err := onlyKeys.Token(context.Background(), sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil)))
	wantCode(t, err, fault.Unauthenticated)
	onlySecret := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	_, err = onlySecret.Token(context.Background(), sign(t, jwa.RS256(), s.rsa, map[string]any{"kid": "r"}, goodClaims(c, nil)))
	wantCode(t, err, fault.Unauthenticated)
}

func TestToken_IssuerAndAudienceAreConfigurable(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Issuer: "me", Audience: "you", Now: c.now})
	_, err := a.Token(context.Background(), sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil)))
	wantCode(t, err, fault.Unauthenticated)
	ours := goodClaims(c, map[string]any{"iss": "me", "aud": "you"})
	if _, err := a.Token(context.Background(), sign(t, jwa.HS256(), testSecret, nil, ours)); err != nil {
		t.Error(err)
	}
}

func TestToken_CachedTokenExpires(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	token := sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil))
	if _, err := a.Token(context.Background(), token); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Hour + Leeway)
	_, err := a.Token(context.Background(), token)
	wantCode(t, err, fault.Unauthenticated)
}

func TestCaller_EachOperationHasItsOwnViewer(t *testing.T) {
	caller := Caller{User: "u:acme:ann", Admin: true}
	v, w := caller.Viewer(), caller.Viewer()
	if v == w {
		t.Error("two operations share a viewer, and so its resolved groups")
	}
	if v.User != caller.User || !v.Admin || v.GlobalAdmin || !(Caller{GlobalAdmin: true}).Viewer().GlobalAdmin {
		t.Errorf("got %+v of %+v", v.User, caller)
	}
}

func TestVerified_CacheIsLimited(t *testing.T) {
	v := newVerified()
	for i := range 5 * maxVerified {
		v.Put([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, identity{})
	}
	if n, _ := v.Size(); n > maxVerified {
		t.Errorf("%d tokens are cached", n)
	}
	if _, ok := v.get([32]byte{0}, nil); ok {
		t.Error("the oldest token is still cached")
	}
	last := 5*maxVerified - 1
	if _, ok := v.get([32]byte{byte(last), byte(last >> 8), byte(last >> 16)}, nil); !ok {
		t.Error("the newest token is not cached")
	}
}

func TestToken_BadAlgorithmSaysWhatIsAccepted(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	signed := sign(t, jwa.HS384(), []byte(strings.Repeat("x", 48)), nil, goodClaims(c, nil))
	_, rest, _ := strings.Cut(signed, ".")
	for _, tc := range []struct {
		name   string
		config Config
		want   string
	}{
		{"secret", Config{Secret: testSecret}, "accepted: HS256"},
		{"keys", Config{Keys: keys}, "accepted: RS256, ES256, EdDSA"},
		{"both", Config{Secret: testSecret, Keys: keys}, "accepted: HS256, RS256, ES256, EdDSA"},
		{"neither", Config{}, "accepts no tokens"},
	} {
		tc.config.Now = c.now
		a := newAuthenticator(t, tc.config)
		for _, alg := range []string{"none", "None", "HS384", "RS512", "made-up", "hs256"} {
			_, err := a.Token(context.Background(), b64(`{"alg":"`+alg+`"}`)+"."+rest)
			wantCode(t, err, fault.Unauthenticated)
			if err != nil && !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("%s, alg %s: got %q, want it to end with %q", tc.name, alg, err, tc.want)
			}
		}
	}
	for alg, config := range map[string]Config{"HS256": {Keys: keys}, "RS256": {Secret: testSecret}, "ES256": {Secret: testSecret}} {
		config.Now = c.now
		_, err := newAuthenticator(t, config).Token(context.Background(), b64(`{"alg":"`+alg+`"}`)+"."+rest)
		wantCode(t, err, fault.Unauthenticated)
		if err != nil && !strings.Contains(err.Error(), "(alg) is not accepted here") {
			t.Errorf("%s: got %q", alg, err)
		}
	}
}
