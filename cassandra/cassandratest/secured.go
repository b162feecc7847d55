package cassandratest

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
)

// Secured is a node that requires a password. Over TLS it presents a certificate and requires one
// from clients; it also accepts connections without TLS. Its user is cassandra, with the password
// cassandra. All fields but Hosts are paths of PEM files.
type Secured struct {
	Hosts []string
	// CA has signed the certificates of the node and of Cert. Stranger has signed neither.
	CA, Stranger string
	Cert, Key    string // of a permitted client
}

// SecuredName is the name in the certificate of a Secured node.
const SecuredName = "node.test"

// StartSecured starts a secured node, which is stopped at the end of the test.
func StartSecured(t testing.TB) *Secured {
	t.Helper()
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
	nodeCert, nodeKey := ca.sign(t, SecuredName)
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
	c, err := StartWith(t.Context(), 1, lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &Secured{
		Hosts: c.Hosts, CA: authorities, Stranger: file("stranger.pem", stranger.pem),
		Cert: file("our.pem", ourCert), Key: file("our.key", ourKey),
	}
}

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
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

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns a certificate for a name and its key, both in PEM.
func (a *authority) sign(t testing.TB, name string) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour),
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
