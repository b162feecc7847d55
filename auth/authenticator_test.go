package auth

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwe"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"carrel/library"
)

func TestViewerOfGoodTokens(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	a := newAuthenticator(t, Config{Secret: testSecret, Keys: keys, Now: c.now})
	hs := func(with map[string]any) string {
		return sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, with))
	}
	type who struct {
		user          library.PrincipalID
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
			for range 2 { // the second one is remembered
				got, err := a.Caller(t.Context(), request("Bearer " + tc.token).Header["Authorization"])
				if err != nil {
					t.Fatal(err)
				}
				if want := c.now().Add(time.Hour + Leeway); tc.want == ann && name == "HS256" && !got.Until.Equal(want) {
					t.Errorf("good until %s, want %s", got.Until, want)
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

// badTokens are the hostile ones of the edge's table, rows 25 to 32, and more.
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
		"empty":                      "",
		"garbage":                    "garbage",
		"three empty parts":          "..",
		"binary":                     "\x00\xff.\x00.\x00",
		"more than a megabyte":       strings.Repeat("a", 1<<20),
		"alg none":                   b64(`{"alg":"none"}`) + "." + parts[1] + ".",
		"alg None":                   b64(`{"alg":"None"}`) + "." + parts[1] + ".",
		"alg none with a signature":  b64(`{"alg":"none"}`) + "." + parts[1] + "." + parts[2],
		"no alg":                     b64(`{"typ":"JWT"}`) + "." + parts[1] + "." + parts[2],
		"signature cut off":          parts[0] + "." + parts[1] + ".",
		"claims exchanged":           parts[0] + "." + b64(`{"sub":"u:acme:bob","iss":"carrel","aud":"carrel","exp":99999999999}`) + "." + parts[2],
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
		"claims are no object":       sign(t, jwa.HS256(), testSecret, nil, nil),
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
		"roles are no list":          hs(map[string]any{"roles": "admin"}),
		"a role is a number":         hs(map[string]any{"roles": []any{1}}),
	}
}

func TestBadTokensAreRefusedAndNeverAnonymous(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	a := newAuthenticator(t, Config{Secret: testSecret, Keys: keys, Now: c.now})
	for name, token := range badTokens(t, c, s) {
		t.Run(name, func(t *testing.T) {
			v, err := a.Caller(t.Context(), request("Bearer " + token).Header["Authorization"])
			wantCode(t, err, library.Unauthenticated)
			if v != (Caller{}) {
				t.Errorf("a caller came with the error")
			}
			if strings.Contains(err.Error(), string(testSecret)) || len(err.Error()) > 200 {
				t.Errorf("the error tells too much: %v", err)
			}
		})
	}
}

func TestAuthorizationHeaders(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	token := sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil))
	t.Run("none is anonymous", func(t *testing.T) {
		v, err := a.Caller(t.Context(), request().Header["Authorization"])
		if err != nil || v.SignedIn() {
			t.Errorf("got %v, %v", v, err)
		}
	})
	t.Run("the scheme in any case", func(t *testing.T) {
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
			wantCode(t, err, library.Unauthenticated)
		})
	}
}

func TestWhatIsNotConfiguredIsRefused(t *testing.T) {
	c, s := newClock(), makeSigners()
	keys, _ := setFile(t, c, s.set(t))
	onlyKeys := newAuthenticator(t, Config{Keys: keys, Now: c.now})
	_, err := onlyKeys.Token(context.Background(), sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil)))
	wantCode(t, err, library.Unauthenticated)
	onlySecret := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	_, err = onlySecret.Token(context.Background(), sign(t, jwa.RS256(), s.rsa, map[string]any{"kid": "r"}, goodClaims(c, nil)))
	wantCode(t, err, library.Unauthenticated)
}

func TestIssuerAndAudienceOfTheOperator(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Issuer: "me", Audience: "you", Now: c.now})
	_, err := a.Token(context.Background(), sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil)))
	wantCode(t, err, library.Unauthenticated)
	ours := goodClaims(c, map[string]any{"iss": "me", "aud": "you"})
	if _, err := a.Token(context.Background(), sign(t, jwa.HS256(), testSecret, nil, ours)); err != nil {
		t.Error(err)
	}
}

func TestARememberedTokenExpires(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
	token := sign(t, jwa.HS256(), testSecret, nil, goodClaims(c, nil))
	if _, err := a.Token(context.Background(), token); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Hour + Leeway)
	_, err := a.Token(context.Background(), token)
	wantCode(t, err, library.Unauthenticated)
}

func TestViewersAreNotShared(t *testing.T) {
	caller := Caller{User: "u:acme:ann", Admin: true}
	v, w := caller.Viewer(), caller.Viewer()
	if v == w {
		t.Error("two operations share a viewer, and with it what was resolved of its groups")
	}
	if v.User != caller.User || !v.Admin || v.GlobalAdmin || !(Caller{GlobalAdmin: true}).Viewer().GlobalAdmin {
		t.Errorf("got %+v of %+v", v.User, caller)
	}
}

func TestRememberingIsBounded(t *testing.T) {
	v := newVerified()
	for i := range 5 * maxVerified {
		v.put([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, identity{})
	}
	if n := len(v.younger) + len(v.older); n > 2*maxVerified {
		t.Errorf("%d tokens are remembered", n)
	}
	if _, ok := v.get([32]byte{0}, nil); ok {
		t.Error("the oldest one is still remembered")
	}
	last := 5*maxVerified - 1
	if _, ok := v.get([32]byte{byte(last), byte(last >> 8), byte(last >> 16)}, nil); !ok {
		t.Error("the newest one is not remembered")
	}
}

func TestViewerFromContext(t *testing.T) {
	if v := ViewerFrom(context.Background()); v == nil || v.SignedIn() {
		t.Errorf("without a viewer: %v", v)
	}
	ann := &library.Viewer{User: "u:acme:ann"}
	if v := ViewerFrom(WithViewer(context.Background(), ann)); v != ann {
		t.Errorf("got %v", v)
	}
}
