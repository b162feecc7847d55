package config

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"carrel/edge"
	"carrel/heap"
)

// EdgeConfig holds the settings of the edge that come from flags.
type EdgeConfig struct {
	Limits    edge.Limits
	Proxies   []netip.Prefix
	Documents edge.Manifest // nil if all documents are allowed
	Profile   edge.Profile
}

// Edge returns the settings of the edge. It reads the files that they name. Call it before opening
// the store, so that errors are found early.
func (c *Config) Edge() (e EdgeConfig, err error) {
	if e.Limits, err = c.limits(); err != nil {
		return e, err
	}
	if e.Proxies, err = c.proxies(); err != nil {
		return e, err
	}
	if e.Documents, err = c.manifest(); err != nil {
		return e, err
	}
	if c.HTTPProfile == "draft" {
		e.Profile = edge.ProfileDraft
	}
	return e, nil
}

// connectionBytes is the memory of a connection: that of an event stream or a socket.
const connectionBytes = 32 << 10

// limits returns the limits of the edge, changed by --limit.
func (c *Config) limits() (edge.Limits, error) {
	l := edge.DefaultLimits()
	if memory := int(heap.Memory()); memory > 0 {
		l.AnswerMemory, l.BodyMemory = memory/4, memory/8
		l.Connections = min(l.Connections, memory/4/connectionBytes)
	}
	l.ViewerPoints, l.AddressPoints = c.RateLimit, (c.RateLimit+2)/3
	writeTime, addressPoints := "", ""
	for _, setting := range c.Limit {
		name, value, _ := strings.Cut(setting, "=")
		if err := l.Set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return l, NewUsageError(fmt.Sprintf("limit: got %q; %v", setting, err))
		}
		switch strings.TrimSpace(name) {
		case "write-time":
			writeTime = setting
		case "address-points":
			addressPoints = setting
		}
	}
	files, _ := heap.Files()
	l.Connections = min(l.Connections, files) // beyond them the store fails
	if addressPoints != "" && c.RateLimit == 0 {
		return l, NewUsageError(fmt.Sprintf("limit: got %q; but rate-limit 0 switches rate limits off", addressPoints))
	}
	if minimum := l.AnswerTime(); writeTime != "" && l.Write < minimum {
		return l, NewUsageError(fmt.Sprintf("limit: got %q; it must be at least read-time plus the longer of query-time "+
			"and mutation-time, which is %v", writeTime, minimum))
	}
	return l, nil
}

// proxies returns the networks of trusted proxies.
func (c *Config) proxies() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxy {
		network, err := netip.ParsePrefix(text)
		if addr, e := netip.ParseAddr(text); e == nil {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, WrongUsage("trusted-proxy", text, "an address or a network, such as 10.0.0.0/8")
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// manifest returns the only allowed documents, or nil if all are allowed.
func (c *Config) manifest() (edge.Manifest, error) {
	if c.Documents == "" {
		return nil, nil
	}
	b, err := os.ReadFile(c.Documents)
	if err != nil {
		return nil, NewUsageError(fmt.Sprintf("documents: %v", err))
	}
	m, err := edge.ParseManifest(b)
	if err != nil {
		return nil, WrongUsage("documents", c.Documents, fmt.Sprintf("a manifest of persisted documents: %v", err))
	}
	return m, nil
}
