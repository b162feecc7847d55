package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// readyz serves /readyz with a status and a text, and returns its address.
func readyz(t *testing.T, start func(*httptest.Server), status int, text string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Method != http.MethodGet || r.Header.Get("Authorization") != "" {
			t.Errorf("got the request %s %s", r.Method, r.URL)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	start(server)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestHealth_OnlyAReadyGatewaySucceeds(t *testing.T) {
	plain, secure := (*httptest.Server).Start, (*httptest.Server).StartTLS
	for _, c := range []struct {
		name      string
		start     func(*httptest.Server)
		status    int
		text      string
		args      []string
		code      int
		out, errs string
	}{
		{"ready", plain, 200, "ready\n", nil, ExitDone, "ready\n", ""},
		{"ready over TLS", secure, 200, "ready\n", []string{"--tls-cert", "cert.pem"}, ExitDone, "ready\n", ""},
		{"not ready", plain, 503, "not ready: the process is shutting down\n", nil, ExitFailed, "", "not ready: the process is shutting down"},
		{"another program", plain, 404, "nothing here", nil, ExitFailed, "", "status 404"},
		{"a redirect", plain, 302, "", nil, ExitFailed, "", "status 302"},
		{"TLS asked without it", secure, 200, "ready\n", nil, ExitFailed, "", "status 400"},
		{"an endless answer", plain, 503, strings.Repeat("x", 1<<20), nil, ExitFailed, "", strings.Repeat("x", maxHealthAnswer) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := readyz(t, c.start, c.status, c.text)
			code, out, errs := command(t, append([]string{"health", "--listen", address}, c.args...)...)
			if code != c.code || out != c.out || !strings.Contains(errs, c.errs) || len(errs) > 2*maxHealthAnswer {
				t.Errorf("exit %d, out %q, err %q", code, out, errs)
			}
			if c.text != "nothing here" && strings.Contains(errs, "nothing here") {
				t.Error(errs)
			}
		})
	}
}

// TestHealth_TakesTheSettingsOfServe: a container sets the variables of serve, and its health check
// uses the same ones.
func TestHealth_TakesTheSettingsOfServe(t *testing.T) {
	_, port, err := net.SplitHostPort(readyz(t, (*httptest.Server).Start, 200, "ready\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"0.0.0.0:" + port, ":" + port, "localhost:" + port} {
		t.Setenv("CARREL_LISTEN", listen)
		if code, out, errs := command(t, "health"); code != ExitDone || out != "ready\n" {
			t.Errorf("%s: exit %d, %q, %q", listen, code, out, errs)
		}
	}
	var line commandLine
	parser, err := newParser(&line, t.Context(), Streams{io.Discard, io.Discard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]map[string]*kong.Flag{}
	for _, command := range parser.Model.Leaves(false) {
		flags[command.Name] = map[string]*kong.Flag{}
		for _, f := range command.Flags {
			flags[command.Name][f.Name] = f
		}
	}
	for _, name := range []string{"listen", "tls-cert"} {
		health, serve := flags["health"][name], flags["serve"][name]
		if health == nil || serve == nil || health.Default != serve.Default || health.Envs[0] != serve.Envs[0] {
			t.Errorf("%s of health and of serve differ: %v, %v", name, health, serve)
		}
	}
}

func TestHealth_UnspecifiedAddressBecomesLoopback(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:80": "http://127.0.0.1:80/readyz", "[::]:80": "http://[::1]:80/readyz", ":80": "http://127.0.0.1:80/readyz",
		"[::1]:80": "http://[::1]:80/readyz", "192.0.2.7:80": "http://192.0.2.7:80/readyz",
	} {
		if got, err := (&healthCommand{Listen: listen}).url(); got != want || err != nil {
			t.Errorf("%s: %s, %v", listen, got, err)
		}
	}
	if got, err := (&healthCommand{Listen: ":80", TLSCert: "cert.pem"}).url(); got != "https://127.0.0.1:80/readyz" || err != nil {
		t.Errorf("with TLS: %s, %v", got, err)
	}
}

// TestHealth_HangingGatewayTimesOut: the command ends at its timeout if the gateway does not
// answer.
func TestHealth_HangingGatewayTimesOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// A command without a timeout would end when this closes the connection, and fail the test.
	bound := time.AfterFunc(20*time.Second, func() { _ = l.Close() })
	defer bound.Stop()
	if code, out, errs := command(t, "health", "--listen", l.Addr().String(), "--timeout", "50ms"); code != ExitFailed ||
		out != "" || !strings.Contains(errs, "deadline exceeded") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, "health", "--listen", l.Addr().String()); code != ExitFailed || !strings.Contains(errs, "refused") {
		t.Errorf("nobody listens: exit %d, %q", code, errs)
	}
}
