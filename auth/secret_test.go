package auth

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadSecret_RemovesOneNewlineOnly(t *testing.T) {
	secret := string(testSecret)
	for name, c := range map[string]struct{ file, want string }{
		"unchanged":               {secret, secret},
		"without a final newline": {secret + "\n", secret},
		"only one is removed":     {secret + "\n\n", secret + "\n"},
		"other space is kept":     {secret + " \r\n", secret + " \r"},
		"too short":               {secret[1:], ""},
		"too short without it":    {secret[1:] + "\n", ""},
		"empty":                   {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadSecret(path)
			if (err != nil) != (c.want == "") || string(got) != c.want {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && c.file != "" && strings.Contains(err.Error(), c.file) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
	if _, err := ReadSecret(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error without a file")
	}
}

func TestMint_TokenIsAccepted(t *testing.T) {
	c := newClock()
	for name, claims := range map[string]Claims{
		"defaults":  {Subject: "u:acme:ann"},
		"with role": {Subject: "U:acme:Ann", Roles: []string{"admin", "global-admin"}},
	} {
		t.Run(name, func(t *testing.T) {
			claims.IssuedAt, claims.TTL = c.now(), time.Hour
			token, err := Mint(testSecret, claims)
			if err != nil {
				t.Fatal(err)
			}
			a := newAuthenticator(t, Config{Secret: testSecret, Now: c.now})
			v, err := a.Token(context.Background(), token)
			if err != nil {
				t.Fatal(err)
			}
			if v.User != "u:acme:ann" || v.Admin != (len(claims.Roles) == 2) || v.GlobalAdmin != v.Admin {
				t.Errorf("got %q admin %t global %t", v.User, v.Admin, v.GlobalAdmin)
			}
		})
	}
}

func TestMint_RefusesInvalidInput(t *testing.T) {
	good := Claims{Subject: "u:acme:ann", TTL: time.Hour, IssuedAt: newClock().now()}
	for name, change := range map[string]func(*Claims) []byte{
		"a short secret": func(*Claims) []byte { return testSecret[:31] },
		"a group":        func(c *Claims) []byte { c.Subject = "g:acme:team"; return testSecret },
		"no subject":     func(c *Claims) []byte { c.Subject = ""; return testSecret },
		"unknown role":   func(c *Claims) []byte { c.Roles = []string{"root"}; return testSecret },
		"no lifetime":    func(c *Claims) []byte { c.TTL = 0; return testSecret },
	} {
		c := good
		if _, err := Mint(change(&c), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNew_RefusesInvalidOptions(t *testing.T) {
	if _, err := New(Config{Secret: testSecret}); err == nil {
		t.Error("no clock: no error")
	}
	if _, err := New(Config{Secret: testSecret[:31], Now: newClock().now}); err == nil {
		t.Error("short secret: no error")
	}
}
