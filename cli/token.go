package cli

import (
	"context"
	"fmt"
	"time"

	"carrel/auth"
	"carrel/config"
)

// tokenCommand is `carrel token`.
type tokenCommand struct{ config.TokenConfig }

// run prints one token.
func (c *tokenCommand) run(_ context.Context, s Streams, _ []string) error {
	secret, err := auth.ReadSecret(c.HS256File)
	if err != nil {
		return config.NewUsageError("hs256-file: " + err.Error())
	}
	token, err := auth.Mint(secret, auth.Claims{
		Subject: c.Sub, Roles: c.Role, Issuer: c.Issuer, Audience: c.Audience, IssuedAt: time.Now(), TTL: c.TTL,
	})
	if err != nil {
		return config.NewUsageError(err.Error())
	}
	_, err = fmt.Fprintln(s.Out, token)
	return err
}
