package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"carrel/config"
	"carrel/edge/certificate/certificatetest"
)

// renewal is a gateway with TLS whose certificate files the test replaces.
type renewal struct {
	t           *testing.T
	served      *served
	certs, keys [3]string // the texts of three certificates and of their keys
	parsed      [3]*x509.Certificate
	cfg         config.Config
}

func newRenewal(t *testing.T) *renewal {
	r := &renewal{t: t, cfg: testConfig(t)}
	for i := range r.certs {
		cert, certFile, keyFile := certificatetest.New(t)
		r.parsed[i], r.certs[i], r.keys[i] = cert, read(t, certFile), read(t, keyFile)
		if i == 0 {
			r.cfg.TLSCert, r.cfg.TLSKey = certFile, keyFile
		}
	}
	r.served = serve(t, r.cfg)
	return r
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// write replaces the files. An empty text leaves a file unchanged.
func (r *renewal) write(cert, key string) {
	r.t.Helper()
	for path, text := range map[string]string{r.cfg.TLSCert: cert, r.cfg.TLSKey: key} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// wants checks that new connections get certificate n.
func (r *renewal) wants(n int, when string) {
	r.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.parsed[n])
	for range 3 {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
		resp, err := client.Get("https://" + r.served.addr + "/livez")
		if err != nil {
			r.t.Fatalf("%s: %v", when, err)
		}
		_ = resp.Body.Close()
	}
}

// logged returns how often the log contains a text.
func (r *renewal) logged(text string) int { return strings.Count(r.served.out.String(), text) }

// TestCertificate_RenewedFilesAreUsed: new connections get the new certificate as soon as both
// files are replaced, and the last valid one until then.
func TestCertificate_RenewedFilesAreUsed(t *testing.T) {
	r := newRenewal(t)
	r.wants(0, "at the start")
	r.write(r.certs[1], "")
	r.wants(0, "with a new certificate and the old key")
	r.write("", r.keys[1])
	r.wants(1, "with both")
	r.write("", r.keys[2])
	r.wants(1, "with a new key and the old certificate")
	r.write(r.certs[2], "")
	r.wants(2, "with both again")
	r.write(r.certs[0], r.keys[0])
	r.wants(0, "with the first ones again")
	if used, refused := r.logged("using a new certificate"), r.logged("the new certificate cannot be used"); used != 3 || refused != 2 {
		t.Errorf("logged %d and %d times:\n%s", used, refused, r.served.out)
	}
}

// TestCertificate_BadFilesKeepTheLastOne: each invalid file is logged once, however many
// connections are made, and no log line contains the key.
func TestCertificate_BadFilesKeepTheLastOne(t *testing.T) {
	r := newRenewal(t)
	r.write("no certificate", "")
	r.wants(0, "with a file of something else")
	r.write(r.certs[1][:len(r.certs[1])/2], r.keys[1])
	r.wants(0, "with half a certificate")
	if n := r.logged("the new certificate cannot be used"); n != 2 {
		t.Errorf("logged %d times:\n%s", n, r.served.out)
	}
	for range 2 {
		if err := os.Remove(r.cfg.TLSKey); err != nil {
			t.Fatal(err)
		}
		r.wants(0, "without a key")
		r.write("", r.keys[1])
		r.wants(0, "with half a certificate again")
	}
	if n := r.logged("the certificate cannot be read;"); n != 2 {
		t.Errorf("logged %d times:\n%s", n, r.served.out)
	}
	r.write(r.certs[1], "")
	r.wants(1, "with both")
	if r.logged("PRIVATE KEY") > 0 || r.logged(strings.Split(r.keys[1], "\n")[1]) > 0 {
		t.Error("the log contains a key")
	}
}

// TestCertificate_ExpiredIsLogged: a certificate that has expired is used, because another one may come, and
// is named in the log.
func TestCertificate_ExpiredIsLogged(t *testing.T) {
	r := newRenewal(t)
	if r.logged("has expired") > 0 {
		t.Errorf("a valid certificate is called expired:\n%s", r.served.out)
	}
	cert, certFile, keyFile := certificatetest.Until(t, time.Now().Add(-time.Minute))
	r.write(read(t, certFile), read(t, keyFile))
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	if _, err := tls.Dial("tcp", r.served.addr, &tls.Config{RootCAs: roots}); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a client gets %v", err)
	}
	if n := r.logged("the certificate has expired; clients refuse it"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, r.served.out)
	}
}
