package auth

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"carrel/principal"
)

// MinSecretBytes is the shortest length of an HS256 secret: that of the hash
// (RFC 7518, section 3.2).
const MinSecretBytes = 32

// ReadSecret reads the HS256 secret from a file. It removes one final newline.
func ReadSecret(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if len(b) < MinSecretBytes {
		return nil, fmt.Errorf("read secret: %s has %d bytes; it must have at least %d", path, len(b), MinSecretBytes)
	}
	return b, nil
}

// Claims are the claims of a minted token.
type Claims struct {
	Subject string // the id of a user
	Roles   []string
	// Issuer and Audience: empty means DefaultName.
	Issuer, Audience string
	IssuedAt         time.Time
	TTL              time.Duration
}

// Mint returns a token signed with HS256. It returns an error for claims that an Authenticator
// would refuse.
func Mint(secret []byte, c Claims) (string, error) {
	if len(secret) < MinSecretBytes {
		return "", fmt.Errorf("mint token: the secret has %d bytes; it must have at least %d", len(secret), MinSecretBytes)
	}
	user, err := principal.ParseID(c.Subject)
	if err != nil || !user.IsUser() {
		return "", fmt.Errorf("mint token: the subject %q is not the id of a user, u:<tenant>:<name>", c.Subject)
	}
	for _, r := range c.Roles {
		if r != roleAdmin && r != roleGlobalAdmin {
			return "", fmt.Errorf("mint token: the role %q is neither %s nor %s", r, roleAdmin, roleGlobalAdmin)
		}
	}
	if c.TTL <= 0 {
		return "", fmt.Errorf("mint token: the lifetime %s is not greater than 0", c.TTL)
	}
	if c.Issuer == "" {
		c.Issuer = DefaultName
	}
	if c.Audience == "" {
		c.Audience = DefaultName
	}
	b := jwt.NewBuilder().Subject(string(user)).Issuer(c.Issuer).Audience([]string{c.Audience}).
		IssuedAt(c.IssuedAt).Expiration(c.IssuedAt.Add(c.TTL))
	if len(c.Roles) > 0 {
		b = b.Claim("roles", c.Roles)
	}
	tok, err := b.Build()
	if err != nil {
		return "", fmt.Errorf("mint token: %w", err)
	}
	signed, err := jwt.Sign(tok, jwt.WithKey(jwa.HS256(), secret))
	if err != nil {
		return "", fmt.Errorf("mint token: %w", err)
	}
	return string(signed), nil
}
