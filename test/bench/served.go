package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"carrel/auth"
	"carrel/principal"
)

// A served gateway is the built binary on a store of its own, in its production
// configuration except for rate limits.
type served struct {
	*process
	binary, secret string // files
	address        string // of the API
}

// storeIn returns the path of the store in a directory.
func storeIn(dir string) string { return filepath.Join(dir, "store") }

// serve starts the built gateway on the store in the directory.
func (o *options) serve(ctx context.Context, dir string, flags ...string) (*served, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &served{binary: o.binary, secret: filepath.Join(dir, "secret")}
	if err := os.WriteFile(s.secret, bytes.Repeat([]byte("bench"), 10), 0o600); err != nil {
		return nil, err
	}
	var err error
	s.process, err = start(ctx, o.binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--rate-limit", "0",
		"--store", "pebble:" + storeIn(dir), "--auth-hs256-file", s.secret}, flags...)...)
	if err != nil {
		return nil, fmt.Errorf("%w (make build makes %s)", err, o.binary)
	}
	var started struct{ Addr string }
	if err := json.Unmarshal([]byte(s.first), &started); err != nil || started.Addr == "" {
		s.stop()
		return nil, fmt.Errorf("the first line of the gateway is %q: %v", s.first, err)
	}
	s.address = started.Addr
	return s, nil
}

// token returns a token of the user.
func (s *served) token(ctx context.Context, user principal.ID) (string, error) {
	token, err := exec.CommandContext(ctx, s.binary, "token", "--hs256-file", s.secret, "--sub", string(user)).Output()
	return strings.TrimSpace(string(token)), err
}

// tokens returns tokens of many users, which would take long one by one.
func (s *served) tokens(users []principal.ID) ([]string, error) {
	secret, err := auth.ReadSecret(s.secret)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, len(users))
	for i, u := range users {
		tokens[i], err = auth.Mint(secret, auth.Claims{Subject: string(u), IssuedAt: time.Now(), TTL: time.Hour})
		if err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
