package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"carrel/core/fault"
	"carrel/principal"
)

const (
	// DefaultName is the issuer and the audience that are expected by default.
	DefaultName = "carrel"
	// Leeway is how much the clocks of issuer and gateway may differ.
	Leeway = 30 * time.Second
	// maxTokenBytes limits the work that a token can cause. Real tokens have less than
	// 2 KiB; the whole request header is limited to 16 KiB anyway.
	maxTokenBytes = 8 << 10

	roleAdmin       = "admin"
	roleGlobalAdmin = "global-admin"
)

// Config is the configuration of an Authenticator.
type Config struct {
	// Secret verifies HS256. If it is nil, such tokens are refused.
	Secret []byte
	// Keys verify RS256, ES256 and EdDSA. If it is nil, such tokens are refused.
	Keys *KeySet
	// Issuer and Audience are always checked; empty means DefaultName.
	Issuer, Audience string
	// Now returns the current time.
	Now func() time.Time
}

// Authenticator verifies bearer tokens. It is safe for concurrent use.
type Authenticator struct {
	secret   []byte
	keys     *KeySet
	issuer   string
	audience string
	now      func() time.Time
	known    verified
}

// New returns an Authenticator.
func New(c Config) (*Authenticator, error) {
	if c.Now == nil {
		return nil, errors.New("authenticator: a clock is required")
	}
	if c.Secret != nil && len(c.Secret) < MinSecretBytes {
		return nil, fmt.Errorf("authenticator: the secret has %d bytes; it must have at least %d", len(c.Secret), MinSecretBytes)
	}
	if c.Issuer == "" {
		c.Issuer = DefaultName
	}
	if c.Audience == "" {
		c.Audience = DefaultName
	}
	return &Authenticator{
		secret: c.Secret, keys: c.Keys, issuer: c.Issuer, audience: c.Audience,
		now: c.Now, known: newVerified(),
	}, nil
}

// Caller returns the caller of a request with these Authorization headers, which is anonymous
// without one. A bad token is an error of code Unauthenticated, never an anonymous caller. If no
// signing keys have been read yet, the error has code Unavailable.
func (a *Authenticator) Caller(ctx context.Context, authorization []string) (Caller, error) {
	if len(authorization) == 0 {
		return Caller{}, nil
	}
	if len(authorization) != 1 {
		return Caller{}, refused("the request has several Authorization headers")
	}
	scheme, token, _ := strings.Cut(authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Caller{}, refused("the Authorization header must have the form: Bearer <token>")
	}
	return a.Token(ctx, strings.TrimSpace(token))
}

// Token returns the caller of a token. Its errors are those of Caller.
func (a *Authenticator) Token(ctx context.Context, token string) (Caller, error) {
	if token == "" {
		return Caller{}, refused("the token is empty")
	}
	if len(token) > maxTokenBytes {
		return Caller{}, refused(fmt.Sprintf("the token has more than %d bytes", maxTokenBytes))
	}
	digest := sha256.Sum256([]byte(token))
	id, ok := a.known.get(digest, a.keys.currentKeys())
	if !ok {
		var err error
		if id, err = a.verify(ctx, token); err != nil {
			return Caller{}, err
		}
		a.known.Put(digest, id)
	}
	// The times are checked each time, even for a token that was verified before.
	now := a.now()
	until := id.expires.Add(Leeway)
	if !now.Before(until) {
		return Caller{}, refused("the token has expired")
	}
	if now.Add(Leeway).Before(id.notBefore) {
		return Caller{}, refused("the token is not valid yet")
	}
	return Caller{User: id.user, Admin: id.admin, GlobalAdmin: id.globalAdmin, Until: until}, nil
}

// identity is the content of a valid token.
type identity struct {
	user               principal.ID
	admin, globalAdmin bool
	notBefore, expires time.Time
	// keys is the key set that verified the token; nil for the secret. When
	// the set changes, the token must be verified again.
	keys *keys
}

// verify checks the signature and the claims, except for the times.
func (a *Authenticator) verify(ctx context.Context, token string) (identity, error) {
	// A token in JSON serialization begins with a brace, and an encrypted one has five parts.
	if strings.Count(token, ".") != 2 || token[0] == '{' {
		return identity{}, refused("the token is not a signed JWT in compact form")
	}
	if !canonical(token) {
		return identity{}, refused("the token is not in canonical base64url")
	}
	compact := []byte(token)
	alg, kid, err := readHeader(compact)
	if err != nil {
		return identity{}, err
	}
	key, set, err := a.key(ctx, alg, kid)
	if err != nil {
		return identity{}, err
	}
	payload, err := jws.Verify(compact, jws.WithCompact(), jws.WithKey(alg, key))
	if err != nil {
		return identity{}, refused("the token's signature is not valid")
	}
	id, err := a.claims(payload)
	id.keys = set
	return id, err
}

// canonical reports whether each part of a token has the only encoding that RFC 7515 allows:
// base64url without padding or line breaks, and with its unused bits zero. The parser accepts more,
// so one token could have several encodings.
func canonical(token string) bool {
	for part := range strings.SplitSeq(token, ".") {
		b, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil || base64.RawURLEncoding.EncodedLen(len(b)) != len(part) {
			return false
		}
	}
	return true
}

// readHeader reads the algorithm and the key id. An unknown algorithm is the zero value. Other references to keys in the header (jku, x5u,
// jwk, x5c) are ignored: only configured keys are used.
func readHeader(compact []byte) (jwa.SignatureAlgorithm, string, error) {
	none := jwa.SignatureAlgorithm{}
	msg, err := jws.Parse(compact, jws.WithCompact())
	if err != nil && unknownAlgorithm(compact) {
		return none, "", nil
	}
	if err != nil || len(msg.Signatures()) != 1 {
		return none, "", refused("the token is not a signed JWT in compact form")
	}
	header := msg.Signatures()[0].ProtectedHeaders()
	if header.Has(jws.CriticalKey) {
		return none, "", refused("the token requires an extension (crit) that is not supported")
	}
	alg, ok := header.Algorithm()
	if !ok {
		return none, "", refused("the token has no algorithm (alg)")
	}
	kid, _ := header.KeyID()
	return alg, kid, nil
}

// unknownAlgorithm reports whether the header of a token names an algorithm that the library does not
// know.
func unknownAlgorithm(compact []byte) bool {
	encoded, _, _ := bytes.Cut(compact, []byte("."))
	decoded, err := base64.RawURLEncoding.DecodeString(string(encoded))
	var header struct {
		Alg string `json:"alg"`
	}
	if err != nil || json.Unmarshal(decoded, &header) != nil || header.Alg == "" {
		return false
	}
	_, known := jwa.LookupSignatureAlgorithm(header.Alg)
	return !known
}

// key returns the key for verifying tokens of an algorithm and key id. The algorithm determines the
// kind of key, so that a public key can never be used as a secret.
func (a *Authenticator) key(ctx context.Context, alg jwa.SignatureAlgorithm, kid string) (any, *keys, error) {
	switch alg {
	case jwa.HS256():
		if a.secret != nil {
			return a.secret, nil, nil
		}
	case jwa.RS256(), jwa.ES256(), jwa.EdDSA():
		if a.keys != nil {
			return a.keys.find(ctx, alg, kid)
		}
	}
	return nil, nil, refused("the token's algorithm (alg) is not accepted here; " + a.accepted())
}

// accepted says which algorithms the configuration accepts.
func (a *Authenticator) accepted() string {
	var algs []string
	if a.secret != nil {
		algs = append(algs, "HS256")
	}
	if a.keys != nil {
		algs = append(algs, "RS256", "ES256", "EdDSA")
	}
	if algs == nil {
		return "this gateway has no keys and accepts no tokens"
	}
	return "accepted: " + strings.Join(algs, ", ")
}

// claims reads the claims of a token. Token checks the times.
func (a *Authenticator) claims(payload []byte) (identity, error) {
	tok := jwt.New()
	if err := json.Unmarshal(payload, tok); err != nil {
		return identity{}, refused("the token's claims cannot be read")
	}
	if name := wrongTime(payload); name != "" {
		return identity{}, refused("the token's time " + name + " is not a number")
	}
	expires, ok := tok.Expiration()
	if !ok {
		return identity{}, refused("the token has no expiry (exp)")
	}
	err := jwt.Validate(tok, jwt.WithResetValidators(true),
		jwt.WithIssuer(a.issuer), jwt.WithAudience(a.audience))
	switch {
	case errors.Is(err, jwt.InvalidIssuerError()):
		return identity{}, refused("the token is from another issuer (iss)")
	case errors.Is(err, jwt.InvalidAudienceError()):
		return identity{}, refused("the token is for another audience (aud)")
	case err != nil:
		return identity{}, refused("the token's claims are not accepted")
	}
	sub, _ := tok.Subject()
	user, err := principal.ParseID(sub)
	if err != nil || !user.IsUser() {
		return identity{}, refused("the token's subject (sub) is not the id of a user, u:<tenant>:<name>")
	}
	id := identity{user: user, expires: expires}
	id.notBefore, _ = tok.NotBefore()
	if !tok.Has("roles") {
		return id, nil
	}
	var roles any
	if err := tok.Get("roles", &roles); err != nil {
		return identity{}, refused("the token's roles are not a list of strings")
	}
	return id, id.takeRoles(roles)
}

// wrongTime returns the name of a time among the claims that is not a JSON number, as RFC 7519
// requires, or "" if there is none. The parser accepts strings too.
func wrongTime(payload []byte) string {
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(payload, &claims); err != nil {
		return jwt.ExpirationKey // not reached: it was parsed as an object before
	}
	for _, name := range []string{jwt.ExpirationKey, jwt.NotBeforeKey, jwt.IssuedAtKey} {
		if value, ok := claims[name]; ok && value[0] != '-' && (value[0] < '0' || value[0] > '9') {
			return name
		}
	}
	return ""
}

// takeRoles reads the roles. Unknown roles are ignored.
func (id *identity) takeRoles(roles any) error {
	list, ok := roles.([]any)
	if !ok {
		return refused("the token's roles are not a list of strings")
	}
	for _, r := range list {
		switch role, ok := r.(string); {
		case !ok:
			return refused("the token's roles are not a list of strings")
		case role == roleAdmin:
			id.admin = true
		case role == roleGlobalAdmin:
			id.globalAdmin = true
		}
	}
	return nil
}

// refused returns the error for a bad token, with a message for the caller.
func refused(why string) error {
	return &fault.Error{Code: fault.Unauthenticated, Msg: why}
}
