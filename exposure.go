package main

import (
	"log/slog"
	"net"
	"slices"
)

// warnOfExposure logs one line for each setting that gives away more than a
// gateway in production should.
func (s *server) warnOfExposure(log *slog.Logger) {
	if s.cfg.Dev {
		log.Warn("--dev is on, which is not for production: introspection is answered, and whoever reaches this address by a loopback name gets tokens of the demo viewers")
	}
	if admin := s.admin.Addr(); !onLoopback(admin) {
		log.Warn("--admin-listen is not a loopback address: whoever reaches it reads metrics and profiles of this process", "admin_addr", admin.String())
	}
	for _, network := range s.edge.Proxies {
		if network.Bits() == 0 {
			log.Warn("--trusted-proxy trusts every address: a client evades rate limits by X-Forwarded-For", "trusted_proxy", network.String())
		}
	}
	if slices.Contains(s.cfg.CORSOrigin, "*") {
		log.Warn("--cors-origin is *: pages of any site may call this gateway, and read what it answers")
	}
}

// onLoopback reports whether only programs on this machine reach an address.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
