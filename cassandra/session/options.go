package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"carrel/core/clock"
	"carrel/core/fault"
)

// Defaults of Options.
const (
	defaultTimeout     = 6 * time.Second // above the node's own 1.8 s for contended compare-and-sets and 5 s for reads
	defaultConnect     = 5 * time.Second
	defaultConnections = 2    // to each node
	defaultMaxInFlight = 1024 // requests; a node's own limits are above its share of them
	waitingPerSlot     = 4    // requests that may wait for each one in flight: a healthy cluster answers them within Patience
	defaultPatience    = 2 * time.Second
)

// Options say how to reach a cluster. Hosts and Keyspace are required.
type Options struct {
	// Hosts are addresses, with a port or without (9042).
	Hosts    []string
	Keyspace string
	User     string
	Password string
	// TLS is nil for connections without TLS.
	TLS *TLS
	// DataCentre is the one whose nodes are used. It may be "" if there is only one.
	DataCentre string
	// Global makes decisions across data centres (QUORUM and SERIAL), for gateways in
	// several of them. Otherwise they are made in one (LOCAL_QUORUM and LOCAL_SERIAL). All
	// gateways of a keyspace must agree: decisions of the two kinds do not see each other.
	Global bool
	// Replication is the number of replicas by data centre; "" means every data centre.
	// Migrate creates a keyspace with it and refuses one that has another. Nil means
	// {"": 3} for a new keyspace, and any replication for an existing one.
	Replication map[string]int
	// Timeout limits one request; 0: 6 s. It must be above the timeouts of the nodes.
	Timeout time.Duration
	// ConnectTimeout limits the opening of a connection; 0: 5 s.
	ConnectTimeout time.Duration
	// Connections is how many are opened to each node; 0: 2.
	Connections int
	// MaxInFlight is how many requests may be in flight; further ones wait. 0: 1024.
	MaxInFlight int
	// MaxWaiting is how many requests may wait, and Patience how long each may; further
	// ones fail. 0: four times MaxInFlight, and 2 s.
	MaxWaiting int
	Patience   time.Duration
	// HedgeAfter is how long an idempotent request waits for its node before it is sent to
	// a second node too. 0: 500 ms.
	HedgeAfter time.Duration
	// Log gets messages for operators; nil: they are dropped.
	Log *slog.Logger
	// Observe is called after every request, with the request's context; nil: it is not.
	Observe func(ctx context.Context, o Observation)
	// Now is the clock that determines the time to live of request rows, and that is
	// compared with the nodes' clocks; nil: the clock of the machine.
	Now func() clock.Instant
}

// TLS configures how nodes and clients authenticate each other. The files are PEM.
type TLS struct {
	CAFile   string // "": the system's authorities
	CertFile string // with KeyFile, our certificate; "" for none
	KeyFile  string
	// ServerName is the name in the nodes' certificates; "": each node's address.
	ServerName string
	// SkipHostVerification accepts a certificate of the authorities for any name.
	SkipHostVerification bool
}

// Observation describes a request that has ended.
type Observation struct {
	Operation string // what it was for; one of a fixed set of names
	// Outcome is ok, applied, refused, unknown, unavailable, timeout, failed, ended (the
	// caller had gone, or had an answer from another node) or busy (it was not sent).
	Outcome string
	Took    time.Duration
	// Retries is how often the request was repeated after a node had failed. Hedged says
	// that it was a second attempt, made because a node was slow.
	Retries int
	Hedged  bool
}

// CQL cannot bind these names, so they become part of a statement's text.
var (
	keyspaceName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	dataCentreName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// IsKeyspace reports whether a keyspace may have that name. Capital letters are refused:
// CQL folds them unless the name is quoted, and no statement here quotes it.
func IsKeyspace(name string) bool { return keyspaceName.MatchString(name) }

// IsDataCentre reports whether a data centre may have that name.
func IsDataCentre(name string) bool { return dataCentreName.MatchString(name) }

// Check returns an error if the options are incomplete or contradict each other.
func (o *Options) Check() error {
	if len(o.Hosts) == 0 || slices.Contains(o.Hosts, "") {
		return OperatorError(nil, "a Cassandra store needs the address of at least one node")
	}
	if !IsKeyspace(o.Keyspace) {
		return OperatorError(nil, "the keyspace %q: its name has 1 to 48 characters of a-z, 0-9 and _, and begins with a letter", o.Keyspace)
	}
	for dc, n := range o.Replication {
		if dc != "" && !IsDataCentre(dc) || n < 1 {
			return OperatorError(nil, "replication %q: %d: it takes the name of a data centre and at least one replica", dc, n)
		}
	}
	if o.Timeout < 0 {
		return OperatorError(nil, "the timeout of a request is %s: it must be above the nodes' own timeouts", o.Timeout)
	}
	if t := o.TLS; t != nil && (t.CertFile == "") != (t.KeyFile == "") {
		return OperatorError(nil, "a client certificate needs its key, and the key its certificate")
	}
	return nil
}

// replication returns the replication of a new keyspace in CQL.
func (o *Options) replication() string {
	factors := o.Replication
	if len(factors) == 0 {
		factors = map[string]int{"": 3}
	}
	var b strings.Builder
	b.WriteString("{'class': 'NetworkTopologyStrategy'")
	for _, dc := range slices.Sorted(maps.Keys(factors)) {
		name := dc
		if name == "" {
			name = "replication_factor"
		}
		fmt.Fprintf(&b, ", '%s': %d", name, factors[dc])
	}
	b.WriteString("}")
	return b.String()
}

// levels returns the consistency levels of reads and writes, and of decisions. A table
// must be used with one pair only.
func (o *Options) levels() (gocql.Consistency, gocql.SerialConsistency) {
	if o.Global {
		return gocql.Quorum, gocql.Serial
	}
	return gocql.LocalQuorum, gocql.LocalSerial
}

// Configure returns the driver's configuration. keyspace may be "".
func (o *Options) Configure(keyspace string) (*Config, error) {
	cfg := gocql.NewCluster(o.Hosts...)
	cfg.ProtoVersion = 4
	cfg.Keyspace = keyspace
	cfg.Timeout = orDefault(o.Timeout, defaultTimeout)
	cfg.WriteTimeout = cfg.Timeout
	cfg.ConnectTimeout = orDefault(o.ConnectTimeout, defaultConnect)
	cfg.NumConns = orDefault(o.Connections, defaultConnections)
	// Send each statement at once. By default, the driver waits up to 200 us for others to send with it.
	cfg.WriteCoalesceWaitTime = 0
	cfg.Consistency, cfg.SerialConsistency = o.levels()
	// The driver applies a policy to conditional statements too, which must not be repeated.
	cfg.RetryPolicy = nil
	// A statement without a timestamp gets that of its coordinator.
	cfg.DefaultTimestamp = false
	cfg.ReconnectInterval = 5 * time.Second
	cfg.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 3, Interval: time.Second}
	cfg.Logger = driverLog{o.Log}
	if o.User != "" || o.Password != "" {
		cfg.Authenticator = gocql.PasswordAuthenticator{Username: o.User, Password: o.Password}
	}
	if o.TLS != nil {
		config, err := o.TLS.config()
		if err != nil {
			return nil, err
		}
		cfg.SslOpts = &gocql.SslOptions{Config: config, EnableHostVerification: !o.TLS.SkipHostVerification}
	}
	fallback := gocql.RoundRobinHostPolicy()
	if o.DataCentre != "" {
		fallback = gocql.DCAwareRoundRobinPolicy(o.DataCentre)
	}
	policy := gocql.TokenAwareHostPolicy(fallback)
	if keyspace != "" {
		policy = holdTopology(policy)
	}
	opening := newOpening(cfg.ConnectTimeout, len(o.Hosts) > 1)
	cfg.Dialer, cfg.ConnectObserver = opening, opening
	nodes := newNodes(policy, opening)
	cfg.PoolConfig.HostSelectionPolicy, cfg.StreamObserver = nodes, nodes
	if !o.Global {
		cfg.HostFilter = &oneDataCentre{name: o.DataCentre}
	}
	return &Config{ClusterConfig: cfg, Another: nodes.another, options: o, nodes: nodes}, nil
}

// orDefault returns v, or def if v is the zero value.
func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// oneDataCentre accepts the nodes of one data centre, by default that of the first node. Nodes of
// other data centres must not be used even if this one fails, because local decisions of two data
// centres do not see each other.
type oneDataCentre struct {
	mu   sync.Mutex
	name string
}

func (o *oneDataCentre) Accept(host *gocql.HostInfo) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.name == "" {
		o.name = host.DataCenter()
	}
	return host.DataCenter() == o.name
}

// config reads the files and returns the configuration of connections.
func (t *TLS) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, OperatorError(err, "the authorities of the cluster cannot be read")
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, OperatorError(nil, "%s contains no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, OperatorError(err, "the client certificate for the cluster cannot be used")
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if t.SkipHostVerification {
		// The driver's own switch would accept any certificate.
		cfg.InsecureSkipVerify = true
		cfg.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, cfg.RootCAs) }
	}
	return cfg, nil
}

// verifyChain accepts any certificate that the authorities have signed, whatever its name.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the node shows no certificate")
	}
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(opts)
	return err
}

// OperatorError returns an error for the operator, who has to change something. It does not tell
// clients to try again.
func OperatorError(cause error, format string, args ...any) error {
	return &fault.Error{Code: fault.Unavailable, Msg: fmt.Sprintf(format, args...), Err: withoutDriverTypes(cause)}
}

// driverLog writes the driver's messages to our log, at debug level.
type driverLog struct{ log *slog.Logger }

func (d driverLog) say(text string) {
	if d.log != nil {
		d.log.Debug("cassandra driver", "text", strings.TrimSpace(text))
	}
}

// Print, Printf and Println implement the driver's logger.
func (d driverLog) Print(v ...any)                 { d.say(fmt.Sprint(v...)) }
func (d driverLog) Printf(format string, v ...any) { d.say(fmt.Sprintf(format, v...)) }
func (d driverLog) Println(v ...any)               { d.say(fmt.Sprintln(v...)) }
