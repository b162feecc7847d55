package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"carrel/auth"
	"carrel/demo"
	"carrel/library"
	"carrel/web"
)

// demoTokenLife is how long a printed token is good: a day of trying.
const demoTokenLife = 24 * time.Hour

// demoViewers mints the tokens of the page's menu; nil outside development and
// where there is no secret to sign with.
func (s *server) demoViewers() func() ([]web.Viewer, error) {
	if !s.cfg.Dev || s.access.secret == nil {
		return nil
	}
	return func() ([]web.Viewer, error) {
		var viewers []web.Viewer
		for _, d := range demo.Viewers() {
			token := ""
			if d.Subject != "" {
				var err error
				if token, err = s.demoToken(d); err != nil {
					return nil, err
				}
			}
			viewers = append(viewers, web.Viewer{Name: d.Name, Description: d.Description, Token: token})
		}
		return viewers, nil
	}
}

func (s *server) demoToken(d demo.Viewer) (string, error) {
	return auth.Mint(s.access.secret, auth.Claims{
		Subject: d.Subject, Roles: d.Roles, Issuer: s.cfg.AuthIssuer, Audience: s.cfg.AuthAudience,
		IssuedAt: time.Now(), TTL: demoTokenLife,
	})
}

// printViewers prints, in development, where the pages are and a token for each
// demo viewer, if the store holds the demo data.
func (s *server) printViewers(ctx context.Context, out io.Writer) error {
	if !s.cfg.Dev {
		return nil
	}
	scheme := "http"
	if s.cfg.TLSCert != "" {
		scheme = "https"
	}
	text := fmt.Appendf(nil, "\nGraphiQL: %s://%s/\n", scheme, s.main.Addr())
	if s.cfg.App {
		text = fmt.Appendf(text, "Reference client: %s://%s/app\n", scheme, s.main.Addr())
	}
	if _, err := out.Write(text); err != nil || s.access.secret == nil {
		return err
	}
	tokens, err := s.viewerTokens(ctx)
	if err != nil {
		return err
	}
	_, err = out.Write(tokens)
	return err
}

// viewerTokens is what is told of the demo viewers: all in one piece, so that no
// line of the log comes in between.
func (s *server) viewerTokens(ctx context.Context) (text []byte, err error) {
	for _, d := range demo.Viewers() {
		if d.Subject == "" {
			continue
		}
		user, err := s.gateway.service.ViewerUser(ctx, &library.Viewer{User: library.PrincipalID(d.Subject)})
		if err != nil {
			if ctx.Err() == nil { // and the process does not end
				s.log.WarnContext(ctx, "the tokens of the demo viewers are not told: the store does not answer", "error", err)
			}
			return text, nil
		}
		if user == nil {
			continue
		}
		token, err := s.demoToken(d)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "\n%s (%s): %s\n%s\n", d.Name, d.Subject, d.Description, token)
	}
	return append(text, '\n'), nil
}
