package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"carrel/edge"
	"carrel/graph"
	"carrel/heap"
	"carrel/library"
)

// edgeConfig is what the edge is told by flags.
type edgeConfig struct {
	limits    edge.Limits
	proxies   []netip.Prefix
	documents edge.Manifest // nil: all documents are answered
	profile   edge.Profile
}

// edge reads what the edge is told, before anything is opened.
func (c *Config) edge() (e edgeConfig, err error) {
	if e.limits, err = c.limits(); err != nil {
		return e, err
	}
	if e.proxies, err = c.proxies(); err != nil {
		return e, err
	}
	if e.documents, err = c.manifest(); err != nil {
		return e, err
	}
	if c.HTTPProfile == "draft" {
		e.profile = edge.ProfileDraft
	}
	return e, nil
}

// limits are the edge's, as the operator wants them.
func (c *Config) limits() (edge.Limits, error) {
	l := edge.DefaultLimits()
	if memory := heap.Memory(); memory > 0 {
		l.AnswerMemory = int(memory / 4)
	}
	l.ViewerPoints, l.AddressPoints = c.RateLimit, (c.RateLimit+2)/3
	writeTime, addressPoints := "", ""
	for _, setting := range c.Limit {
		name, value, _ := strings.Cut(setting, "=")
		if err := l.Set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return l, &usageError{fmt.Sprintf("limit: got %q; %v", setting, err)}
		}
		switch strings.TrimSpace(name) {
		case "write-time":
			writeTime = setting
		case "address-points":
			addressPoints = setting
		}
	}
	if addressPoints != "" && c.RateLimit == 0 {
		return l, &usageError{fmt.Sprintf("limit: got %q; rate-limit 0 has switched rate limits off", addressPoints)}
	}
	if least := l.AnswerTime(); writeTime != "" && l.Write < least {
		return l, &usageError{fmt.Sprintf("limit: got %q; an answer has read-time and the longer of query-time and mutation-time, which are %v in all", writeTime, least)}
	}
	return l, nil
}

// proxies are the networks of trusted proxies.
func (c *Config) proxies() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxy {
		network, err := netip.ParsePrefix(text)
		if addr, e := netip.ParseAddr(text); e == nil {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, wrongUsage("trusted-proxy", text, "an address or a network, such as 10.0.0.0/8")
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// manifest are the documents that alone are answered; nil: all are.
func (c *Config) manifest() (edge.Manifest, error) {
	if c.Documents == "" {
		return nil, nil
	}
	b, err := os.ReadFile(c.Documents)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("documents: %v", err)}
	}
	m, err := edge.ParseManifest(b)
	if err != nil {
		return nil, wrongUsage("documents", c.Documents, fmt.Sprintf("a manifest of persisted documents: %v", err))
	}
	return m, nil
}

// toldLimits are those that the API tells of.
func toldLimits(l edge.Limits) graph.Limits {
	return graph.Limits{
		DefaultPageSize: library.DefaultPageSize, MaxPageSize: l.PageSize, MaxDepth: l.Depth, MaxCost: l.Cost,
		MaxShareTargets: l.ShareTargets, MaxBodyBytes: l.BodyBytes, MaxAnswerBytes: l.AnswerBytes, MaxValues: l.Values, MaxHeaderBytes: l.HeaderBytes,
		MaxHeaderSeconds: seconds(l.ReadHeader), MaxReadSeconds: seconds(l.Read), MaxWriteSeconds: seconds(l.AnswerTime()), MaxIdleSeconds: seconds(l.Idle),
		MaxOverlap: l.Overlap, MaxQueryCharacters: l.QueryChars, MaxTokens: l.Tokens,
		MaxAliases: l.Aliases, MaxDirectives: l.Directives, MaxOperations: l.Operations, MaxRootFields: l.RootFields,
		MaxRootMutations: l.RootMutations, MaxRepetitions: l.Repetitions, MaxIntrospectionDepth: l.IntrospectionDepth,
		MaxIds: l.IDs, MaxErrors: l.Errors, MaxQuerySeconds: seconds(l.Query), MaxMutationSeconds: seconds(l.Mutation),
		MaxSubscriptions: l.Subscriptions, MaxSocketOperations: l.SocketOperations, MaxStreams: l.StreamsPerViewer,
		MaxStreamWriteSeconds: seconds(l.StreamWrite), MaxPendingSockets: l.PendingSockets, MaxSocketInitSeconds: seconds(l.SocketInit), PingSeconds: seconds(l.Ping),
		DocumentCacheBytes:    l.CachedBytes,
		ViewerPointsPerMinute: unlessZero(l.ViewerPoints), AddressPointsPerMinute: unlessZero(l.AddressPoints),
	}
}

// seconds are those begun, so that what takes less than one is not told as none.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

func unlessZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
