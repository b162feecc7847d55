package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/cli"
	"carrel/pebblestore"
)

func TestExecute_WrongUsageIsExitCode2AndNamesTheKey(t *testing.T) {
	secret := file(t, "secret", testSecret)
	short := file(t, "short", testSecret[1:])
	store := "pebble:" + filepath.Join(t.TempDir(), "store")
	garbage := file(t, "garbage.json", "canary")
	serve := func(args ...string) []string {
		return append([]string{"serve", "--auth-hs256-file", secret, "--store", store, "--listen", "127.0.0.1:0"}, args...)
	}
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"unknown flag":             {serve("--lisen", "x"), []string{"--lisen"}},
		"a cache below 0":          {serve("--header-cache=-1"), []string{"header-cache", `"-1"`, "a number of bytes, or 0"}},
		"unknown store":            {serve("--store", "redis://a/b"), []string{"store", `"redis://a/b"`, "pebble:DIR or cassandra://"}},
		"store without a keyspace": {serve("--store", "cassandra://a"), []string{"store", "cassandra://HOST[,HOST]/KEYSPACE"}},
		"password in the name":     {serve("--store", "cassandra://me:secret@a/b"), []string{"store", "by flags"}},
		"unreadable password": {serve("--store", "cassandra://a/b", "--cassandra-password-file", "/nowhere"),
			[]string{"cassandra-password-file", "a file that can be read"}},
		"replication of 0": {serve("--store", "cassandra://a/b", "--cassandra-replication", "dc1=0"),
			[]string{"cassandra-replication", `"dc1=0"`, "at least 1"}},
		"a bad data centre": {serve("--store", "cassandra://a/b", "--cassandra-replication", "dc'=1"),
			[]string{"cassandra-replication", `"dc'=1"`, "data centre"}},
		"a host without a name":  {serve("--store", "cassandra://a,,c/b"), []string{"store", "cassandra://HOST[,HOST]/KEYSPACE"}},
		"a keyspace in capitals": {serve("--store", "cassandra://a/Carrel"), []string{"store", `"Carrel"`, "a-z, 0-9 and _"}},
		"client key is missing": {serve("--store", "cassandra://a/b", "--cassandra-cert", secret),
			[]string{"cassandra-cert", "cassandra-key", "both or neither"}},
		"client cert is missing": {serve("--store", "cassandra://a/b", "--cassandra-key", "/nowhere"),
			[]string{"cassandra-cert", "cassandra-key", `"/nowhere"`, "both or neither"}},
		"unreadable client key": {serve("--store", "cassandra://a/b", "--cassandra-cert", secret, "--cassandra-key", "/nowhere"),
			[]string{"cassandra-key", `"/nowhere"`, "a file that can be read"}},
		"unreadable authorities": {serve("--store", "cassandra://a/b", "--cassandra-ca", "/nowhere"),
			[]string{"cassandra-ca", `"/nowhere"`, "a file that can be read"}},
		"a negative timeout": {serve("--store", "cassandra://a/b", "--cassandra-timeout=-5s"),
			[]string{"cassandra-timeout", `"-5s"`, "above the nodes' own timeouts"}},
		"no directory":        {serve("--store", "pebble:"), []string{"store", "pebble:DIR"}},
		"bad address":         {serve("--listen", "nowhere"), []string{"listen", `"nowhere"`, "HOST:PORT"}},
		"bad port":            {serve("--admin-listen", "127.0.0.1:70000"), []string{"admin-listen", "127.0.0.1:70000", "HOST:PORT"}},
		"bad admin address":   {serve("--admin-listen", "nowhere"), []string{"admin-listen", `"nowhere"`}},
		"no authentication":   {[]string{"serve", "--store", store}, []string{"auth-hs256-file", "auth-jwks"}},
		"no secret":           {serve("--auth-hs256-file", secret+"x"), []string{"auth-hs256-file", secret + "x"}},
		"short secret":        {serve("--auth-hs256-file", short), []string{"auth-hs256-file", "31 bytes", "at least 32"}},
		"no key set":          {serve("--auth-jwks", garbage), []string{"auth-jwks"}},
		"keys read too often": {serve("--auth-jwks", garbage, "--auth-jwks-every", "1ms"), []string{"auth-jwks-every", "1s"}},
		"sign-in without keys": {serve("--app-oidc-client-id", "app", "--auth-issuer", "https://id.example"),
			[]string{"auth-jwks", "app-oidc-client-id"}},
		"sign-in without openid": {serve("--auth-jwks", garbage, "--app-oidc-client-id", "app", "--app-oidc-scope",
			"profile", "--auth-issuer", "https://id.example"), []string{"app-oidc-scope", `"profile"`, "openid"}},
		"an issuer that is a name": {serve("--auth-jwks", garbage, "--app-oidc-client-id", "app"),
			[]string{"auth-issuer", `"carrel"`, "https://"}},
		"an issuer in the clear": {serve("--auth-jwks", garbage, "--app-oidc-client-id", "app", "--auth-issuer", "http://id.example"),
			[]string{"auth-issuer", `"http://id.example"`}},
		"an issuer with a query": {serve("--auth-jwks", garbage, "--app-oidc-client-id", "app", "--auth-issuer", "https://id.example/?a=b"),
			[]string{"auth-issuer", "https://"}},
		"a policy in the issuer": {serve("--auth-jwks", garbage, "--app-oidc-client-id", "app", "--auth-issuer", "https://id.example;x"),
			[]string{"auth-issuer", "https://"}},
		"TLS without a key":        {serve("--tls-cert", secret), []string{"tls-cert", "tls-key"}},
		"no key in the file":       {serve("--tls-cert", garbage, "--tls-key", secret), []string{"tls-cert, tls-key", garbage, secret, "as PEM"}},
		"no certificate":           {serve("--tls-cert", secret+"x", "--tls-key", secret), []string{"tls-cert", secret + "x"}},
		"star with cookies":        {serve("--cors-origin", "*", "--cors-credentials"), []string{"cors-origin", `"*"`, "credentials"}},
		"origin without a scheme":  {serve("--cors-origin", "*.example.org"), []string{"cors-origin", `"*.example.org"`, "https://"}},
		"no origin":                {serve("--cors-origin="), []string{"cors-origin", `""`, "https://app.example.org"}},
		"no origin, spaced":        {serve("--cors-origin", " "), []string{"cors-origin"}},
		"empty origin after one":   {serve("--cors-origin", "https://a.example", "--cors-origin="), []string{"cors-origin"}},
		"comma without an origin":  {serve("--cors-origin", "https://a.example,"), []string{"cors-origin"}},
		"no origin in the config":  {serve("--config", file(t, "c", `{"cors-origin":""}`)), []string{"cors-origin", `""`}},
		"no origins in the config": {serve("--config", file(t, "c", `{"cors-origin":[]}`)), []string{"cors-origin", `""`}},
		"empty origin in config":   {serve("--config", file(t, "c", `{"cors-origin":["https://a.example",""]}`)), []string{"cors-origin"}},
		"header with a blank":      {serve("--cors-header", "X-A,a b"), []string{"cors-header", `"X-A,a b"`}},
		"every header":             {serve("--cors-header", "*"), []string{"cors-header", `"*"`}},
		"no header":                {serve("--cors-header="), []string{"cors-header", `""`}},
		"a boolean in words":       {serve("--dev=maybe"), []string{"dev:"}},
		"long host id":             {serve("--host-id", strings.Repeat("a", 109)), []string{"host-id"}},
		"no config":                {serve("--config", garbage+"x"), []string{"config", garbage + "x"}},
		"config that is not JSON":  {serve("--config", garbage), []string{"config", garbage, "mistake in line 1"}},
		"config that is a list":    {serve("--config", file(t, "c", "[]")), []string{"config", "JSON object"}},
		"unknown key":              {serve("--config", file(t, "c", `{"lisen":"x"}`)), []string{"config", `"lisen"`}},
		"key with an object":       {serve("--config", file(t, "c", `{"dev":{"canary":1}}`)), []string{"config", `"dev"`, "boolean"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, c.args...)
			if code != cli.ExitUsage || out != "" {
				t.Errorf("exit %d, out %q, err %q", code, out, errs)
			}
			for _, want := range c.says {
				if !strings.Contains(errs, want) {
					t.Errorf("the output does not contain %q: %s", want, errs)
				}
			}
			if strings.Contains(errs, "canary") || strings.Contains(errs, testSecret[1:]) {
				t.Errorf("the output contains a secret: %s", errs)
			}
			if _, err := os.Stat(strings.TrimPrefix(store, "pebble:")); name != "long host id" && err == nil {
				t.Error("a store was created")
			}
		})
		_ = os.RemoveAll(strings.TrimPrefix(store, "pebble:"))
	}
}

// TestServe_EmptyOriginVariableIsRefused: an empty variable is refused, and not treated like a
// missing one.
func TestServe_EmptyOriginVariableIsRefused(t *testing.T) {
	t.Setenv("CARREL_CORS_ORIGIN", "")
	code, out, errs := command(t, "serve", "--auth-hs256-file", file(t, "secret", testSecret), "--store",
		"pebble:"+filepath.Join(t.TempDir(), "store"), "--listen", "127.0.0.1:0")
	if code != cli.ExitUsage || out != "" || !strings.Contains(errs, "cors-origin") {
		t.Errorf("exit %d, out %q, err %q", code, out, errs)
	}
}

func TestServe_InvalidEndpointIsAOneLineError(t *testing.T) {
	secret := file(t, "secret", testSecret+"\n")
	code, out, errs := command(t, "serve", "--store", "pebble:"+t.TempDir(), "--auth-hs256-file", secret, "--otlp-endpoint", "nowhere")
	want := `carrel: otlp-endpoint: got "nowhere"; it takes http://HOST:PORT or https://HOST:PORT, where a collector receives OTLP over HTTP` +
		"\n"
	if code != cli.ExitUsage || out != "" || errs != want {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

func TestCopy_ServedStoreIsRefused(t *testing.T) {
	cfg := testConfig(t)
	s := serve(t, cfg)
	defer s.end()
	to := filepath.Join(t.TempDir(), "copy")
	if code, _, errs := command(t, "copy", "--from", cfg.Store, "--to", "pebble:"+to); code != cli.ExitFailed ||
		!strings.Contains(errs, "in use") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a target was created")
	}
}

// TestServe_InterruptedCopyIsRefused: a store with an interrupted copy is not served, because rows
// are missing.
func TestServe_InterruptedCopyIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half")
	store, err := pebblestore.Open(path, pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.PutCopyNote(t.Context(), []byte(`{"source":"ab","chapter":4}`)), store.Close()); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, "serve", "--auth-hs256-file", file(t, "secret", testSecret), "--listen", "127.0.0.1:0",
		"--store", "pebble:"+path)
	if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "run the same carrel copy again") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}
