package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"carrel/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testSecret = "0123456789abcdef0123456789abcdef"

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a command line and returns its exit code and its output. The tests of package main
// check what serve does with its flags.
func command(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e strings.Builder
	code = Execute(context.Background(), args, Streams{&o, &e}, func(context.Context, config.Config, io.Writer) error {
		t.Errorf("%q serves", args)
		return nil
	})
	return code, o.String(), e.String()
}

// parsed returns the config of a command line of serve.
func parsed(t *testing.T, args ...string) (config.Config, error) {
	t.Helper()
	var got config.Config
	err := run(context.Background(), append([]string{"serve"}, args...), Streams{io.Discard, io.Discard},
		func(_ context.Context, c config.Config, _ io.Writer) error {
			got = c
			return nil
		})
	return got, err
}

func TestConfig_FlagsBeatEnvironmentAndFile(t *testing.T) {
	configPath := file(t, "config.json",
		`{"listen":"file:1","auth-issuer":"file","dev":true,"app":false,"cors-origin":["https://a.example","https://b.example"],"ttl":"2h"}`)
	t.Run("defaults", func(t *testing.T) {
		got, err := parsed(t)
		want := config.Config{Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:0",
			StoreFlag:     config.StoreFlag{Store: "pebble:data/store", Cassandra: config.ClusterFlags{Timeout: 6 * time.Second}},
			AuthJWKSEvery: 10 * time.Minute, AuthIssuer: "carrel", AuthAudience: "carrel", App: true,
			AppOIDCScope: "openid offline_access", HeaderCache: 32 << 20, RateLimit: 30000, HTTPProfile: "default",
			TelemetryFlags: config.TelemetryFlags{OTLPMetricsEvery: time.Minute, TraceRatio: 0.01}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("file", func(t *testing.T) {
		got, err := parsed(t, "--config", configPath)
		if err != nil {
			t.Fatal(err)
		}
		if got.Listen != "file:1" || got.AuthIssuer != "file" || !got.Dev || got.App || got.AuthAudience != "carrel" {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(config.Origins{"https://a.example", "https://b.example"}, got.CORSOrigin); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("environment beats file", func(t *testing.T) {
		t.Setenv("CARREL_CONFIG", configPath)
		t.Setenv("CARREL_LISTEN", "env:1")
		t.Setenv("CARREL_CORS_ORIGIN", "https://c.example,https://d.example")
		t.Setenv("CARREL_AUTH_HS256_FILE", "env")
		t.Setenv("CARREL_DEV", "false")
		t.Setenv("CARREL_HELP", "no setting")
		got, err := parsed(t)
		if err != nil {
			t.Fatal(err)
		}
		if got.Listen != "env:1" || got.AuthIssuer != "file" || got.AuthHS256File != "env" || got.Dev {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(config.Origins{"https://c.example", "https://d.example"}, got.CORSOrigin); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("flag beats environment", func(t *testing.T) {
		t.Setenv("CARREL_LISTEN", "env:1")
		t.Setenv("CARREL_APP", "true")
		got, err := parsed(t, "--no-app", "--listen", "flag:1", "--cors-origin", "https://e.example",
			"--cors-origin=https://f.example", "--config", configPath, "--limit", "depth=9,ids=8", "--limit=cost=7")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(config.Origins{"https://e.example", "https://f.example"}, got.CORSOrigin); diff != "" ||
			got.Listen != "flag:1" || got.App {
			t.Error(got.Listen, got.App, diff)
		}
		if diff := cmp.Diff([]string{"depth=9", "ids=8", "cost=7"}, got.Limit); diff != "" {
			t.Error(diff)
		}
	})
}

// TestConfig_FileTakesWhatTheEnvironmentTakes: a value of the file is read as the same text in a variable.
func TestConfig_FileTakesWhatTheEnvironmentTakes(t *testing.T) {
	for text, refused := range map[string]string{
		`{"drain-delay": 30}`:              `drain-delay: got "30"; it takes a time with its unit`,
		`{"drain-delay": "30"}`:            `drain-delay: got "30"; it takes a time with its unit`,
		`{"drain-delay": "30s"}`:           "",
		`{"rate-limit": 1.5}`:              `rate-limit: got "1.5"; it takes a whole number`,
		`{"rate-limit": 9007199254740993}`: "",
		`{"header-cache": 1e6}`:            `"1e6"`,
		`{"trace-ratio": 0.25}`:            "",
		`{"dev": 1}`:                       "",
		`{"dev": 2}`:                       `dev: got "2"; it takes true or false`,
		`{"listen": 8080}`:                 "",
		`{"dev": true} {}`:                 "a mistake in line 1",
		"{\"dev\": true,\n\n}":             "a mistake in line 3",
		``:                                 "a mistake in line 1",
		`{"dev": {}}`:                      `the key "dev"`,
		`[]`:                               "one JSON object",
		`null`:                             "one JSON object",
		`{"help": true}`:                   `the key "help"`,
		`{"auth-audience": ["a", "b"]}`:    `the key "auth-audience"`,
		`{"cors-header": ["X-A", "X-B"]}`:  "",
		`{"limit": ["depth=9"]}`:           "",
	} {
		got, err := parsed(t, "--config", file(t, "config.json", text))
		if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v, want %q", text, err, refused)
		}
		if err == nil && strings.Contains(text, "9007199254740993") && got.RateLimit != 9007199254740993 {
			t.Error(got.RateLimit)
		}
	}
}

func TestExecute_WrongUsageIsExitCode2AndNamesTheKey(t *testing.T) {
	secret := file(t, "secret", testSecret)
	short := file(t, "short", testSecret[1:])
	store := "pebble:" + filepath.Join(t.TempDir(), "store")
	empty := "pebble:" + t.TempDir()
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"unknown command":          {[]string{"sreve"}, []string{`"sreve"`, `did you mean "serve"`}},
		"help on an unknown one":   {[]string{"help", "sreve"}, []string{`"sreve"`}},
		"help on too much":         {[]string{"help", "token", "x"}, []string{`"x"`}},
		"a flag of serve only":     {[]string{"health", "--no-app"}, []string{"--no-app"}},
		"a keyspace in statements": {[]string{"migrate", "--store", "cassandra://a/b;drop"}, []string{"store", `"b;drop"`, "a-z, 0-9 and _"}},
		"copy to a bad keyspace": {[]string{"copy", "--from", "cassandra://a/b", "--to", "cassandra://a/b-c"},
			[]string{"to", `"b-c"`, "a-z, 0-9 and _"}},
		"a timeout of 0": {[]string{"migrate", "--store", "cassandra://a/b", "--cassandra-timeout", "0s"},
			[]string{"cassandra-timeout", `"0s"`, "above the nodes' own timeouts"}},
		"token without a user": {[]string{"token", "--hs256-file", secret}, []string{"sub: got none"}},
		"token of a group":     {[]string{"token", "--hs256-file", secret, "--sub", "g:a:b"}, []string{`"g:a:b"`, "u:<tenant>:<name>"}},
		"unknown role": {[]string{"token", "--hs256-file", secret, "--sub", "u:a:b", "--role", "root"},
			[]string{`"root"`, "global-admin"}},
		"a lifetime in words": {[]string{"token", "--hs256-file", secret, "--sub", "u:a:b", "--ttl", "long"},
			[]string{"ttl", `"long"`, "30s"}},
		"no lifetime":              {[]string{"token", "--hs256-file", secret, "--sub", "u:a:b", "--ttl", "0s"}, []string{"0s"}},
		"token, short secret":      {[]string{"token", "--hs256-file", short, "--sub", "u:a:b"}, []string{"hs256-file", "at least 32"}},
		"import without a file":    {[]string{"import"}, []string{"usage: carrel import FILE"}},
		"import of a missing file": {[]string{"import", secret + "x", "--store", store}, []string{secret + "x"}},
		"import of a folder":       {[]string{"import", filepath.Dir(secret), "--store", store}, []string{"directory"}},
		"export of no store":       {[]string{"export", "--store", store + "x"}, []string{"store", store + "x", "exists"}},
		"export to nowhere": {[]string{"export", "--store", "pebble:" + filepath.Dir(secret), "--output", secret + "/x"},
			[]string{"output", secret + "/"}},
		"copy from nothing": {[]string{"copy", "--to", store}, []string{"from: got none"}},
		"copy of no store":  {[]string{"copy", "--from", store + "x", "--to", store}, []string{"from", store + "x", "exists"}},
		"copy onto itself": {[]string{"copy", "--from", "pebble:" + filepath.Dir(secret), "--to", "pebble:" + filepath.Dir(secret)},
			[]string{"to", "another store"}},
		"copy to a bad name":            {[]string{"copy", "--from", store, "--to", "x"}, []string{"to", `"x"`, "pebble:DIR"}},
		"migrate a bad name":            {[]string{"migrate", "--store", "x"}, []string{"store", `"x"`, "pebble:DIR"}},
		"export of an empty directory":  {[]string{"export", "--store", empty}, []string{"store", empty, "exists"}},
		"copy of an empty directory":    {[]string{"copy", "--from", empty, "--to", store}, []string{"from", empty, "exists"}},
		"audit of an empty directory":   {[]string{"audit", "--store", empty}, []string{"store", empty, "exists"}},
		"rebuild of an empty directory": {[]string{"rebuild", "--store", empty}, []string{"store", empty, "exists"}},
		"forget in an empty directory":  {[]string{"forget", "u:a:b", "--store", empty}, []string{"store", empty, "exists"}},
		"audit of no store":             {[]string{"audit", "--store", store + "x"}, []string{"store", store + "x", "exists"}},
		"rebuild of no store":           {[]string{"rebuild", "--store", store + "x"}, []string{"store", store + "x", "exists"}},
		"rebuild of an item": {[]string{"rebuild", "--store", "pebble:" + filepath.Dir(secret), "c:a:b"},
			[]string{"ID", `"c:a:b"`, "u:TENANT:NAME"}},
		"health of a bare port": {[]string{"health", "--listen", "8080"}, []string{"listen", `"8080"`, "HOST:PORT"}},
		"health of a bad port":  {[]string{"health", "--listen", "127.0.0.1:a b"}, []string{"listen", "HOST:PORT"}},
		"health of port 0":      {[]string{"health", "--listen", "127.0.0.1:0"}, []string{"listen", "has chosen"}},
		"health with no time":   {[]string{"health", "--timeout", "0s"}, []string{"timeout", `"0s"`}},
		"audit of a bad name":   {[]string{"audit", "--store", "x"}, []string{"store", `"x"`, "pebble:DIR"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, c.args...)
			if code != ExitUsage || out != "" {
				t.Errorf("exit %d, out %q, err %q", code, out, errs)
			}
			for _, want := range c.says {
				if !strings.Contains(errs, want) {
					t.Errorf("the error does not contain %q: %s", want, errs)
				}
			}
			if strings.Contains(errs, "canary") || strings.Contains(errs, testSecret[1:]) {
				t.Errorf("the error reveals too much: %s", errs)
			}
			if _, err := os.Stat(strings.TrimPrefix(store, "pebble:")); err == nil {
				t.Error("a store was created")
			}
		})
		_ = os.RemoveAll(strings.TrimPrefix(store, "pebble:"))
	}
}

func TestExecute_FailuresAreExitCode1(t *testing.T) {
	store := "pebble:" + file(t, "plain", "x")
	if code, _, errs := command(t, "audit", "--store", store); code != ExitFailed || !strings.Contains(errs, "opening the store") {
		t.Errorf("exit %d: %s", code, errs)
	}
	good := `{"type":"user","id":"u:demo:ann","displayName":"Ann","email":"ann@demo.example","visibility":"PUBLIC"}` + "\n"
	lines := file(t, "lines.jsonl", good+"canary\n")
	store = "pebble:" + filepath.Join(t.TempDir(), "store")
	if code, _, errs := command(t, "import", lines, "--store", store); code != ExitFailed || !strings.Contains(errs, "line 2") {
		t.Errorf("exit %d: %s", code, errs)
	}
	code, out, errs := command(t, "import", lines, "--continue", "--store", store)
	if code != ExitFailed || !strings.Contains(errs, "line 2") || !strings.Contains(out, "1 created") {
		t.Errorf("exit %d: %s %s", code, out, errs)
	}
	if code, out, errs := command(t, "import", file(t, "good.jsonl", good), "--store", store); code != ExitDone {
		t.Errorf("exit %d: %s %s", code, out, errs)
	}
}

func TestExecute_HelpAndVersionSucceed(t *testing.T) {
	const ttl = "($CARREL_TTL) (default 1h)"
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "Commands:"}, {[]string{"--help"}, "Commands:"}, {[]string{"help"}, "Commands:"}, {[]string{"serve", "--help"}, "--listen"},
		{[]string{"help", "token"}, ttl}, {[]string{"token", "--help"}, ttl},
		{[]string{"help", "token"}, "--config"},
		{[]string{"version"}, "carrel "}, {[]string{"--version"}, "carrel "},
	} {
		code, out, errs := command(t, c.args...)
		if out = strings.Join(strings.Fields(out), " "); code != ExitDone || !strings.Contains(out, strings.TrimSpace(c.says)) || errs != "" {
			t.Errorf("%v: exit %d: %s %s", c.args, code, out, errs)
		}
	}
	if _, _, errs := command(t, "serve", "--rate-limit", "x"); errs != "carrel: rate-limit: got \"x\"; it takes a whole number\n" {
		t.Error(errs)
	}
	if _, _, errs := command(t, "serve", "--nonsense"); errs != "carrel: unknown flag: --nonsense (see carrel help serve)\n" {
		t.Error(errs)
	}
}

func TestFlags_HaveADescriptionAndAVariable(t *testing.T) {
	for _, c := range newRoot(Streams{io.Discard, io.Discard}, nil).Commands() {
		for _, f := range config.Settings(c.Flags()) {
			variable := "($CARREL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + ")"
			if description, _, found := strings.Cut(f.Usage, variable); !found || len(description) < 10 {
				t.Errorf("%s %s: %q", c.Name(), f.Name, f.Usage)
			}
		}
	}
}

// TestExecute_OtherFilesAreKept names a directory of something else as the store of commands.
func TestExecute_OtherFilesAreKept(t *testing.T) {
	line := file(t, "line.jsonl", `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC"}`+"\n")
	whole := storeOf(t, fewLines)
	dir := t.TempDir()
	kept := filepath.Join(dir, "20261129.log")
	if err := os.WriteFile(kept, []byte("not of a store"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", line, "--store"}, {"export", "--store"}, {"audit", "--store"}, {"rebuild", "--store"}, {"forget", "u:demo:ann", "--store"},
		{"copy", "--to", whole, "--from"}, {"copy", "--from", whole, "--to"},
	} {
		code, _, errs := command(t, append(args, "pebble:"+dir)...)
		if code != ExitFailed || !strings.Contains(errs, "it has files, such as 20261129.log, but no whole store") {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(kept) {
			t.Fatalf("%s: the directory has %v, %v", args, entries, err)
		}
	}
}
