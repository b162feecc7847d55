// Package tokens issues tokens for the demo viewers, so that a developer can try the
// gateway as each of them. Only `carrel serve --dev` uses it.
package tokens

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"carrel/auth"
	"carrel/demo"
	"carrel/principal"
	"carrel/web"
)

// lifetime is how long a demo token is valid.
const lifetime = 24 * time.Hour

// Minter issues tokens that a gateway with this secret accepts.
type Minter struct {
	Secret           []byte
	Issuer, Audience string
}

func (m *Minter) mint(v demo.Viewer) (string, error) {
	return auth.Mint(m.Secret, auth.Claims{
		Subject: v.Subject, Roles: v.Roles, Issuer: m.Issuer, Audience: m.Audience,
		IssuedAt: time.Now(), TTL: lifetime,
	})
}

// Menu returns the demo viewers, each with a token, for the menu of GraphiQL.
func (m *Minter) Menu() ([]web.Viewer, error) {
	var viewers []web.Viewer
	for _, v := range demo.Viewers() {
		token := ""
		if v.Subject != "" {
			var err error
			if token, err = m.mint(v); err != nil {
				return nil, err
			}
		}
		viewers = append(viewers, web.Viewer{Name: v.Name, Description: v.Description, Token: token})
	}
	return viewers, nil
}

// Text returns the tokens of the demo viewers that exist in the store, for a terminal.
// It is a single text, so that no log line gets between them.
func (m *Minter) Text(ctx context.Context, people *principal.Service, log *slog.Logger) (text []byte, err error) {
	for _, v := range demo.Viewers() {
		if v.Subject == "" {
			continue
		}
		user, err := people.ViewerUser(ctx, &principal.Viewer{User: principal.ID(v.Subject)})
		if err != nil {
			if ctx.Err() == nil { // otherwise the process is ending
				log.WarnContext(ctx, "the tokens of the demo viewers are not printed: the store does not answer", "error", err)
			}
			return text, nil
		}
		if user == nil {
			continue
		}
		token, err := m.mint(v)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "\n%s (%s): %s\n%s\n", v.Name, v.Subject, v.Description, token)
	}
	return append(text, '\n'), nil
}
