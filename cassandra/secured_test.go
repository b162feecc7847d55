package cassandra

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/cassandra/cassandratest"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign makes a certificate for a name, and its key, both in PEM.
func (a *authority) sign(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// TestSecuredCluster opens a store on a node that wants a password, shows a
// certificate and wants one to be shown.
func TestSecuredCluster(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content ...[]byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Join(content, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca, stranger := newAuthority(t), newAuthority(t)
	nodeCert, nodeKey := ca.sign(t, "node.test")
	ourCert, ourKey := ca.sign(t, "gateway")
	authorities := file("ca.pem", ca.pem)
	lines := fmt.Sprintf(`
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: true
  require_client_auth: true
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
  keystore: %s
  truststore: %s
`, file("node.pem", nodeKey, nodeCert, ca.pem), authorities)
	c, err := cassandratest.StartWith(t.Context(), 1, lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})

	known := TLS{CAFile: authorities, CertFile: file("our.pem", ourCert), KeyFile: file("our.key", ourKey), ServerName: "node.test"}
	right := Options{Hosts: c.Hosts, Keyspace: "secured", Replication: map[string]int{"": 1}, User: "cassandra", Password: "cassandra", TLS: &known}
	if err := Migrate(t.Context(), right, nil); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, open(t, right), creation("c:t:secured", someTime))
	anyName := right
	anyName.TLS = &TLS{CAFile: known.CAFile, CertFile: known.CertFile, KeyFile: known.KeyFile, SkipHostVerification: true}
	open(t, anyName)

	for _, w := range []struct {
		name   string
		change func(o *Options, tls *TLS)
		want   string
	}{
		{"a wrong password", func(o *Options, _ *TLS) { o.Password = "guessed" }, "refuses the user or the password"},
		{"no user", func(o *Options, _ *TLS) { o.User, o.Password = "", "" }, "refuses the user or the password"},
		{"a stranger's authorities", func(_ *Options, tls *TLS) { tls.CAFile = file("stranger.pem", stranger.pem) }, "no TLS connection"},
		{"a stranger's authorities, any name", func(_ *Options, tls *TLS) {
			tls.CAFile, tls.SkipHostVerification = file("stranger.pem", stranger.pem), true
		}, "no TLS connection"},
		{"another name", func(_ *Options, tls *TLS) { tls.ServerName = "other.test" }, "no TLS connection"},
		{"the address for a name", func(_ *Options, tls *TLS) { tls.ServerName = "" }, "no TLS connection"},
		{"no certificate of ours", func(_ *Options, tls *TLS) { tls.CertFile, tls.KeyFile = "", "" }, "no TLS connection"},
	} {
		t.Run(w.name, func(t *testing.T) {
			o, tls := right, known
			o.TLS = &tls
			w.change(&o, &tls)
			_, err := Open(t.Context(), o)
			oneLine(t, err, w.want)
		})
	}
}
