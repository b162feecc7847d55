package config

import (
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
)

// WarnOfExposure logs a line for each setting that exposes more than a gateway in
// production should. admin is the address that the operators' listener got.
func (c *Config) WarnOfExposure(log *slog.Logger, e *EdgeConfig, admin net.Addr) {
	if c.Dev {
		log.Warn("--dev is not for production: introspection is answered, and everyone who reaches this address by a " +
			"loopback name gets tokens of the demo viewers")
	}
	if c.AuthHS256File != "" && c.AuthJWKS != "" {
		log.Warn("--auth-hs256-file is given beside --auth-jwks: who has the secret can make tokens of every user")
	}
	if !onLoopback(admin) {
		log.Warn("--admin-listen is not a loopback address: everyone who reaches it can read metrics and profiles of this process",
			"admin_addr", admin.String())
	}
	for _, network := range e.Proxies {
		if network.Bits() == 0 {
			log.Warn("--trusted-proxy trusts every address: a client can evade rate limits by X-Forwarded-For", "trusted_proxy", network.String())
		}
	}
	if slices.Contains(c.CORSOrigin, "*") {
		log.Warn("--cors-origin is *: pages of every site may call this gateway and read its answers")
	}
	if dir, embedded := strings.CutPrefix(c.Store, "pebble:"); embedded && permits(dir, 0o077) {
		log.Warn("--store is a directory that other users of this machine may enter: remove their access with chmod go=", "store", dir)
	}
	for _, f := range []FileFlag{
		{"auth-hs256-file", c.AuthHS256File}, {"tls-key", c.TLSKey}, {"otlp-headers-file", c.OTLPHeadersFile},
		{"cassandra-password-file", c.Cassandra.PasswordFile}, {"cassandra-key", c.Cassandra.Key},
	} {
		if permits(f.Path, 0o004) {
			log.Warn("--"+f.Key+" is a secret that every user of this machine may read: remove that with chmod o=", "path", f.Path)
		}
	}
}

// permits reports whether the file or directory of a path exists and has any of the permissions.
func permits(path string, any fs.FileMode) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&any != 0
}

// onLoopback reports whether only programs on this machine reach an address.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
