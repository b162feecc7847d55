package main

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
)

// certificate is the server's, read from two files. They are looked at with
// each handshake, which costs some 20 us of the 500 that a handshake takes, so
// that a renewed certificate is used without a restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu sync.Mutex
	// current was made of the files served, and is kept while newer ones cannot be
	// used; seen are the files that were tried last.
	current *tls.Certificate
	seen    [2][]byte
	failed  string // why the files could not be read; empty: they could
}

// openCertificate reads the files for the first time.
func openCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	files, err := c.read()
	if err != nil {
		return nil, err
	}
	return c, c.take(files)
}

// forHandshake is the certificate for one handshake, for tls.Config.
func (c *certificate) forHandshake(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, err := c.read()
	if err != nil {
		if c.failed != err.Error() {
			c.log.Warn("the certificate cannot be read again, and the last one is kept", "err", err.Error())
		}
		c.failed = err.Error()
		return c.current, nil
	}
	c.failed = ""
	if bytes.Equal(files[0], c.seen[0]) && bytes.Equal(files[1], c.seen[1]) {
		return c.current, nil
	}
	if err := c.take(files); err != nil {
		c.log.Warn("the new certificate cannot be used, and the last one is kept", "err", err.Error())
		return c.current, nil
	}
	c.log.Info("a new certificate is used", "not_after", c.current.Leaf.NotAfter)
	return c.current, nil
}

// read reads certificate and key.
func (c *certificate) read() (files [2][]byte, err error) {
	for i, name := range [2]string{c.certFile, c.keyFile} {
		if files[i], err = os.ReadFile(name); err != nil {
			return files, err
		}
	}
	return files, nil
}

// take makes the certificate of the files the current one, if the key is its own:
// between the writing of one file and of the other it is not.
func (c *certificate) take(files [2][]byte) error {
	c.seen = files
	pair, err := tls.X509KeyPair(files[0], files[1])
	if err == nil {
		c.current = &pair
	}
	return err
}
