package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	root := newRoot(Streams{io.Discard, io.Discard}, nil)
	for _, name := range []string{"listen", "tls-cert"} {
		var defaults []string
		for _, command := range []string{"health", "serve"} {
			c, _, err := root.Find([]string{command})
			if err != nil || c.Flag(name) == nil {
				t.Fatal(command, name, err)
			}
			defaults = append(defaults, c.Flag(name).DefValue)
		}
		if defaults[0] != defaults[1] {
			t.Errorf("%s has other defaults: %q", name, defaults)
		}
	}
}
