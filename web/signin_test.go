package web

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// TestClient_PageSaysHowUsersSignIn: at the provider if there is one, and by a pasted token in development
// and where there is no provider. The page may call that provider's origin and no other.
func TestClient_PageSaysHowUsersSignIn(t *testing.T) {
	const issuer = "https://id.example:8443/realms/a"
	for name, tc := range map[string]struct {
		opts           Options
		signIn, policy string
	}{
		"no provider": {Options{App: true, Issuer: "carrel", Scope: "openid"}, `{"paste":true}`, "connect-src 'self';"},
		"provider": {Options{App: true, Issuer: issuer, ClientID: `a"b`, Scope: "openid"},
			`{"paste":false,"issuer":"` + issuer + `","clientId":"a\"b","scope":"openid"}`, "connect-src 'self' https://id.example:8443;"},
		"provider, in development": {Options{App: true, Dev: true, Issuer: issuer, ClientID: "app"},
			`{"paste":true,"issuer":"` + issuer + `","clientId":"app"}`, "connect-src 'self' https://id.example:8443;"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, body := ask(t, handler(tc.opts, built()), "GET", "/app/signed-in", nil)
			got := regexp.MustCompile(`data-sign-in="([^"]*)"`).FindStringSubmatch(body)
			if len(got) != 2 || html.UnescapeString(got[1]) != tc.signIn {
				t.Errorf("got %s, want %s", body, tc.signIn)
			}
			if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, tc.policy) {
				t.Errorf("%s is missing in %s", tc.policy, policy)
			}
			if answer, _ := ask(t, handler(tc.opts, built()), "GET", "/", nil); strings.Contains(answer.Header.Get("Content-Security-Policy"),
				"id.example") {
				t.Error("GraphiQL may call the provider")
			}
		})
	}
}
