// Package config reads the settings of a gateway from flags, environment variables and the config
// file. It opens no store, and does not know what the commands do.
package config

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Config holds the settings of `carrel serve`. Each field is a flag, a variable in the environment
// (CARREL_ and the flag's name) and a key of the config file. A flag takes precedence over the
// environment, and the environment over the file.
type Config struct {
	Listen      string `name:"listen" help:"Address to serve at; port 0 picks a port." default:"127.0.0.1:8080" placeholder:"ADDR"`
	AdminListen string `name:"admin-listen" help:"Address of /metrics and /debug/pprof, for operators only." default:"127.0.0.1:0" placeholder:"ADDR"`
	StoreFlag
	AuthHS256File   string        `name:"auth-hs256-file" help:"File with the secret for HS256 tokens: its bytes without one final newline, at least 32." placeholder:"FILE"`
	AuthJWKS        string        `name:"auth-jwks" help:"Key set for RS256, ES256 and EdDSA tokens: a URL or a file." placeholder:"URL-OR-FILE"`
	AuthJWKSEvery   time.Duration `name:"auth-jwks-every" help:"How often the key set is read again, which is when withdrawn keys are refused." default:"10m" placeholder:"TIME"`
	AuthIssuer      string        `name:"auth-issuer" help:"Issuer (iss) that tokens must have." default:"carrel" placeholder:"ISS"`
	AuthAudience    string        `name:"auth-audience" help:"Audience (aud) that tokens must have." default:"carrel" placeholder:"AUD"`
	Dev             bool          `name:"dev" help:"Development mode: serves GraphiQL, answers introspection, suggests names in errors, and prints tokens of the demo viewers."`
	GraphiQL        bool          `name:"graphiql" help:"Serve GraphiQL at / without --dev too. It needs --introspection to explain the schema."`
	Introspection   bool          `name:"introspection" help:"Answer introspection without --dev too."`
	App             bool          `name:"app" help:"Serve the reference client at /app; --no-app does not." default:"true"`
	AppOIDCClientID string        `name:"app-oidc-client-id" help:"Id of the reference client at the OpenID Connect provider --auth-issuer; its users then sign in there." placeholder:"ID"`
	AppOIDCScope    string        `name:"app-oidc-scope" help:"Scopes that the reference client asks that provider for." default:"openid offline_access" placeholder:"SCOPES"`
	DrainDelay      time.Duration `name:"drain-delay" help:"How long the gateway continues to answer after SIGTERM while it reports that it is not ready, so that load balancers send no more requests." default:"0s" placeholder:"TIME"`
	HeaderCache     int           `name:"header-cache" help:"How many bytes of headers of items, users and groups are kept in memory, about 1,000 each. 0 reads the headers for every page." default:"33554432" placeholder:"BYTES"`
	TLSCert         string        `name:"tls-cert" help:"Certificate chain; serves HTTPS and HTTP/2." placeholder:"FILE"`
	TLSKey          string        `name:"tls-key" help:"Private key of the certificate." placeholder:"FILE"`
	HostID          string        `name:"host-id" help:"First part of generated ids, and the name of the gateway for operators. By default, the former is random, and the latter the name of the machine." placeholder:"ID"`
	Limit           []string      `name:"limit" help:"A limit and its value, such as depth=10 or query-time=5s; repeatable." placeholder:"NAME=VALUE"`
	RateLimit       int           `name:"rate-limit" help:"Points a minute of a signed-in viewer. An address without a viewer has a third of it, or the value of --limit address-points. 0 switches rate limits off." default:"30000" placeholder:"POINTS"`
	TrustedProxy    []string      `name:"trusted-proxy" help:"Address or network of a proxy whose X-Forwarded-For is trusted; repeatable." placeholder:"CIDR"`
	HTTPProfile     string        `name:"http-profile" help:"Status codes of GraphQL over HTTP: default, as today's clients expect them, or draft, as in the 2026 draft." enum:"default,draft" default:"default" placeholder:"default|draft"`
	Documents       string        `name:"documents" help:"Manifest of persisted documents; no other documents are answered." placeholder:"FILE"`
	CORSOrigin      Origins       `name:"cors-origin" help:"Site whose pages may call the gateway, such as https://app.example.org or https://*.example.org; repeatable." placeholder:"ORIGIN"`
	CORSHeader      HeaderNames   `name:"cors-header" help:"Header that pages of those sites may send, besides those that clients and tracing usually add; repeatable." placeholder:"NAME"`
	CORSCredentials bool          `name:"cors-credentials" help:"Let those sites send cookies."`
	TelemetryFlags
}

// HeaderNames holds the values of --cors-header.
type HeaderNames []string

// read reads a value. It refuses malformed names and the wildcard *.
func (h *HeaderNames) read(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "*" || !httpguts.ValidHeaderFieldName(name) {
			return WrongUsage("cors-header", text, "the name of a header, such as X-Tenant")
		}
		*h = append(*h, name)
	}
	return nil
}

// Origins holds the values of --cors-origin.
type Origins []string

// read reads a value. It refuses an empty value, because a variable that was left
// empty by mistake must not go unnoticed.
func (o *Origins) read(text string) error {
	for origin := range strings.SplitSeq(text, ",") {
		if origin = strings.TrimSpace(origin); origin == "" {
			return WrongUsage("cors-origin", text, "a site such as https://app.example.org; omit it to allow no site")
		}
		*o = append(*o, origin)
	}
	return nil
}

// UsageError reports a wrong flag, variable or key. It ends the process with exit
// code 2.
type UsageError struct{ text string }

// NewUsageError returns an error that ends the process with exit code 2.
func NewUsageError(text string) error { return &UsageError{text} }

// Error returns the message for the user.
func (e *UsageError) Error() string { return e.text }

// WrongUsage returns a UsageError that names the key, its value, and what it takes.
func WrongUsage(key, got, takes string) error {
	return NewUsageError(fmt.Sprintf("%s: got %q; it takes %s", key, got, takes))
}

// FileFlag is a flag that names a file. Path is empty if the flag is not given.
type FileFlag struct{ Key, Path string }

// CheckFiles returns a UsageError for the first flag whose file does not exist.
func CheckFiles(files ...FileFlag) error {
	for _, f := range files {
		if f.Path == "" {
			continue
		}
		if _, err := os.Stat(f.Path); err != nil {
			return WrongUsage(f.Key, f.Path, "a file that can be read")
		}
	}
	return nil
}

// Check returns a UsageError for the first wrong setting, before anything is opened. It leaves the
// check of the store's name to gateway.TargetOf.
func (c *Config) Check() error {
	for _, a := range []struct{ key, addr string }{{"listen", c.Listen}, {"admin-listen", c.AdminListen}} {
		_, port, err := net.SplitHostPort(a.addr)
		if _, unknown := net.LookupPort("tcp", port); err != nil || unknown != nil {
			return WrongUsage(a.key, a.addr, "HOST:PORT, such as 127.0.0.1:8080")
		}
	}
	if c.AuthHS256File == "" && c.AuthJWKS == "" {
		return NewUsageError("auth-hs256-file, auth-jwks: got neither; one of them is needed to authenticate callers")
	}
	if c.AuthJWKS != "" && c.AuthJWKSEvery < time.Second {
		return WrongUsage("auth-jwks-every", c.AuthJWKSEvery.String(), "a time of at least 1s")
	}
	if err := c.checkSignIn(); err != nil {
		return err
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return WrongUsage("tls-cert, tls-key", c.TLSCert+c.TLSKey, "both or neither")
	}
	if err := CheckFiles(FileFlag{"tls-cert", c.TLSCert}, FileFlag{"tls-key", c.TLSKey}); err != nil {
		return err
	}
	if c.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
			return WrongUsage("tls-cert, tls-key", c.TLSCert+", "+c.TLSKey, "a certificate and its private key as PEM: "+err.Error())
		}
	}
	if c.DrainDelay < 0 {
		return WrongUsage("drain-delay", c.DrainDelay.String(), "a time such as 5s, or 0s")
	}
	if c.RateLimit < 0 {
		return WrongUsage("rate-limit", strconv.Itoa(c.RateLimit), "a number of points a minute, or 0")
	}
	if c.HeaderCache < 0 {
		return WrongUsage("header-cache", strconv.Itoa(c.HeaderCache), "a number of bytes, or 0")
	}
	_, err := c.Collectors(os.Getenv)
	return err
}

// checkSignIn checks what signing in to the reference client at an OpenID Connect provider needs.
// Plain http is for a provider on this machine: a token must not cross a network unencrypted.
func (c *Config) checkSignIn() error {
	if c.AppOIDCClientID == "" {
		return nil
	}
	if c.AuthJWKS == "" {
		return NewUsageError("auth-jwks: got none; the tokens of the provider are verified with its key set, because app-oidc-client-id is set")
	}
	if !slices.Contains(strings.Fields(c.AppOIDCScope), "openid") {
		return WrongUsage("app-oidc-scope", c.AppOIDCScope, "scopes with a space between them, openid among them")
	}
	u, err := url.Parse(c.AuthIssuer)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !issuerHost.MatchString(u.Host) ||
		u.Scheme != "https" && (u.Scheme != "http" || !isLoopbackName(u.Hostname())) {
		return WrongUsage("auth-issuer", c.AuthIssuer, "the https:// address of the OpenID Connect provider, because app-oidc-client-id is set")
	}
	return nil
}

// issuerHost matches the host and port of a provider: they become part of the page's content security policy,
// whose grammar has no others.
var issuerHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

func isLoopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// LogValue returns the settings for the log: the names of files, but never their content.
func (c *Config) LogValue() slog.Value {
	return slog.Group("", "store", c.Store, "auth_hs256_file", c.AuthHS256File, "auth_jwks", withoutSecrets(c.AuthJWKS),
		"auth_jwks_every", c.AuthJWKSEvery, "auth_issuer", c.AuthIssuer, "auth_audience", c.AuthAudience, "dev", c.Dev,
		"graphiql", c.GraphiQL, "introspection", c.Introspection, "app", c.App, "app_oidc_client_id", c.AppOIDCClientID,
		"app_oidc_scope", c.AppOIDCScope, "tls", c.TLSCert != "", "host_id", c.HostID, "drain_delay", c.DrainDelay,
		"limit", c.Limit, "rate_limit", c.RateLimit, "trusted_proxy", c.TrustedProxy, "http_profile", c.HTTPProfile,
		"documents", c.Documents, "cors_origin", c.CORSOrigin, "cors_header", c.CORSHeader, "cors_credentials", c.CORSCredentials,
		"otlp_endpoint", withoutSecrets(c.OTLPEndpoint), "otlp_headers_file", c.OTLPHeadersFile, "trace_ratio", c.TraceRatio,
		"otlp_metrics_every", c.OTLPMetricsEvery, "header_cache", c.HeaderCache).Value
}

// withoutSecrets removes the user, the password and the query from a URL.
func withoutSecrets(source string) string {
	if !strings.Contains(source, "://") {
		return source // a file
	}
	u, err := url.Parse(source)
	if err != nil {
		return "..."
	}
	u.User = nil
	if u.RawQuery != "" {
		u.RawQuery = "..."
	}
	return u.String()
}

// TokenConfig holds the settings of `carrel token`.
type TokenConfig struct {
	HS256File string        `name:"hs256-file" required:"" help:"File with the secret, as for serve --auth-hs256-file." placeholder:"FILE"`
	Sub       string        `name:"sub" required:"" help:"Id of the user that the token is for." placeholder:"u:TENANT:NAME"`
	Role      []string      `name:"role" help:"Role that the token grants: admin (of the user's own tenant) or global-admin; repeatable." placeholder:"ROLE"`
	TTL       time.Duration `name:"ttl" help:"How long the token is valid." default:"1h" placeholder:"TIME"`
	Issuer    string        `name:"issuer" help:"Issuer (iss)." default:"carrel" placeholder:"ISS"`
	Audience  string        `name:"audience" help:"Audience (aud)." default:"carrel" placeholder:"AUD"`
}
