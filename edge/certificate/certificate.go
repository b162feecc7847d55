// Package certificate reads the server's TLS certificate from two files, and reads
// them again when they are renewed.
package certificate

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a certificate with its key, from two files. Each handshake reads the files, so
// that a renewed certificate is used without a restart. That takes about 20 of the 500 us of a
// handshake.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu sync.Mutex
	// current is the last valid certificate. seen is the content of the files when they were last
	// read.
	current *tls.Certificate
	seen    [2][]byte
	failed  string // why the files could not be read the last time, or empty
}

// Open reads the files and returns their certificate. It returns an error if they cannot be used.
func Open(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	files, err := c.read()
	if err != nil {
		return nil, err
	}
	return c, c.take(files)
}

// ForHandshake returns the certificate for one handshake; it is a
// tls.Config.GetCertificate.
func (c *Certificate) ForHandshake(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, err := c.read()
	if err != nil {
		if c.failed != err.Error() {
			c.log.Warn("the certificate cannot be read; the previous one is kept", "err", err.Error())
		}
		c.failed = err.Error()
		return c.current, nil
	}
	c.failed = ""
	if bytes.Equal(files[0], c.seen[0]) && bytes.Equal(files[1], c.seen[1]) {
		return c.current, nil
	}
	if err := c.take(files); err != nil {
		c.log.Warn("the new certificate cannot be used; the previous one is kept", "err", err.Error())
		return c.current, nil
	}
	c.log.Info("using a new certificate", "not_after", c.current.Leaf.NotAfter)
	return c.current, nil
}

// read reads the files of the certificate and the key.
func (c *Certificate) read() (files [2][]byte, err error) {
	for i, name := range [2]string{c.certFile, c.keyFile} {
		if files[i], err = os.ReadFile(name); err != nil {
			return files, err
		}
	}
	return files, nil
}

// take makes the files' certificate the current one if the key matches it. It does not match while
// only one of the two files has been renewed.
func (c *Certificate) take(files [2][]byte) error {
	c.seen = files
	pair, err := tls.X509KeyPair(files[0], files[1])
	if err != nil {
		return err
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		c.log.Warn("the certificate has expired; clients refuse it", "not_after", pair.Leaf.NotAfter)
	}
	c.current = &pair
	return nil
}
