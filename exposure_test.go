package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"carrel/config"
)

// widen sets the permissions of a file, or of a directory, which it makes if there is none.
func widen(t *testing.T, path string, mode os.FileMode) {
	if _, err := os.Stat(path); err != nil {
		if err := os.MkdirAll(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestExposure_OneWarningForEachSetting: each setting that exposes too much is logged at the start,
// one line each, and other settings are not.
func TestExposure_OneWarningForEachSetting(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Config)
		warned []string // the beginning of each line
	}{
		"nothing": {func(c *config.Config) {
			c.TrustedProxy, c.CORSOrigin, c.GraphiQL = []string{"10.0.0.0/8", "127.0.0.1", "::1"}, config.Origins{"https://app.example.org"}, true
		}, nil},
		"development":          {func(c *config.Config) { c.Dev = true }, []string{"--dev"}},
		"admin on 0.0.0.0":     {func(c *config.Config) { c.AdminListen = "0.0.0.0:0" }, []string{"--admin-listen"}},
		"admin without a host": {func(c *config.Config) { c.AdminListen = ":0" }, []string{"--admin-listen"}},
		"admin on localhost":   {func(c *config.Config) { c.AdminListen = "localhost:0" }, nil},
		"every proxy": {func(c *config.Config) { c.TrustedProxy = []string{"10.0.0.0/8", "0.0.0.0/0"} },
			[]string{"--trusted-proxy"}},
		"every proxy, IPv4 and IPv6": {func(c *config.Config) { c.TrustedProxy = []string{"::/0", "0.0.0.0/0"} },
			[]string{"--trusted-proxy", "--trusted-proxy"}},
		"every site": {func(c *config.Config) { c.CORSOrigin = config.Origins{"https://app.example.org", "*"} },
			[]string{"--cors-origin"}},
		"a wide store":        {func(c *config.Config) { widen(t, strings.TrimPrefix(c.Store, "pebble:"), 0o750) }, []string{"--store"}},
		"a readable secret":   {func(c *config.Config) { widen(t, c.AuthHS256File, 0o644) }, []string{"--auth-hs256-file"}},
		"a secret of a group": {func(c *config.Config) { widen(t, c.AuthHS256File, 0o440) }, nil},
		"two kinds of keys": {func(c *config.Config) {
			c.AuthJWKSEvery = time.Minute
			c.AuthJWKS = file(t, "keys.json", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
		}, []string{"--auth-hs256-file"}},
		"everything": {func(c *config.Config) {
			c.Dev, c.AdminListen, c.TrustedProxy, c.CORSOrigin = true, "0.0.0.0:0", []string{"0.0.0.0/0"}, config.Origins{"*"}
		}, []string{"--dev", "--admin-listen", "--trusted-proxy", "--cors-origin"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			c.change(&cfg)
			s := serve(t, cfg)
			s.end()
			var warned []string
			for line := range strings.Lines(s.out.String()) {
				var entry struct{ Level, Msg string }
				if json.Unmarshal([]byte(line), &entry) == nil && entry.Level == "WARN" {
					flag, _, _ := strings.Cut(entry.Msg, " ")
					warned = append(warned, flag)
				}
			}
			if strings.Join(warned, " ") != strings.Join(c.warned, " ") {
				t.Errorf("warnings for %q, want %q\n%s", warned, c.warned, s.out)
			}
		})
	}
}
