package config

import (
	"log/slog"
	"net"
	"slices"
)

// WarnOfExposure logs a line for each setting that exposes more than a gateway in
// production should. admin is the address that the operators' listener got.
func (c *Config) WarnOfExposure(log *slog.Logger, e *EdgeConfig, admin net.Addr) {
	if c.Dev {
		log.Warn("--dev is not for production: introspection is answered, and everyone who reaches this address by a loopback name gets tokens of the demo viewers")
	}
	if !onLoopback(admin) {
		log.Warn("--admin-listen is not a loopback address: everyone who reaches it can read metrics and profiles of this process", "admin_addr", admin.String())
	}
	for _, network := range e.Proxies {
		if network.Bits() == 0 {
			log.Warn("--trusted-proxy trusts every address: a client can evade rate limits by X-Forwarded-For", "trusted_proxy", network.String())
		}
	}
	if slices.Contains(c.CORSOrigin, "*") {
		log.Warn("--cors-origin is *: pages of every site may call this gateway and read its answers")
	}
}

// onLoopback reports whether only programs on this machine reach an address.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
