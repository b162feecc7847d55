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
	defaultMaxInFlight = 1024 // requests under way; a node's own limits lie above its share of them
	waitingPerSlot     = 4    // requests that wait, for each place: a cluster that is not slow gets through them in less than patience
	defaultPatience    = 2 * time.Second
)

// Options say how a cluster is reached. Hosts and Keyspace must be given.
type Options struct {
	// Hosts are addresses, with a port or without (9042).
	Hosts    []string
	Keyspace string
	User     string
	Password string
	// TLS: nil connects without it.
	TLS *TLS
	// DataCentre is the one whose nodes are used; "" is right where there is one.
	DataCentre string
	// Global has every decision made across data centres (QUORUM and SERIAL), for
	// gateways in several of them; otherwise LOCAL_QUORUM and LOCAL_SERIAL. All
	// gateways of a keyspace must have it alike: the two do not see each other.
	Global bool
	// Replication is what Migrate gives a keyspace that it creates, and wants one
	// that stands to have: replicas by data centre; "" stands for every data
	// centre. Nil: {"": 3} for a new one, and whatever a standing one has.
	Replication map[string]int
	// Timeout bounds one request; 0: 6 s. It must be above the nodes' own ones.
	Timeout time.Duration
	// ConnectTimeout bounds the making of a connection; 0: 5 s.
	ConnectTimeout time.Duration
	// Connections to each node; 0: 2.
	Connections int
	// MaxInFlight is how many requests may be under way; more wait. 0: 1024.
	MaxInFlight int
	// MaxWaiting is how many may wait, and Patience how long each waits at most;
	// beyond that they are refused. 0: four times MaxInFlight, and 2 s.
	MaxWaiting int
	Patience   time.Duration
	// HedgeAfter is how long what may be repeated waits for a node until another
	// one is asked beside it. 0: 500 ms.
	HedgeAfter time.Duration
	// Log gets what operators should know; nil: nothing is logged.
	Log *slog.Logger
	// Observe is told of every request that ended, with the context it was made
	// in; nil: nobody is.
	Observe func(ctx context.Context, o Observation)
	// Now is the clock by which request rows get their time to live, and the one
	// that is compared with the nodes'; nil: the machine's.
	Now func() clock.Instant
}

// TLS says how nodes are known, and how they know us. The files are PEM.
type TLS struct {
	CAFile   string // "": the system's authorities
	CertFile string // with KeyFile, our certificate; "" for none
	KeyFile  string
	// ServerName is the name in the nodes' certificates; "": each node's address.
	ServerName string
	// SkipHostVerification accepts a certificate of the authorities for any name.
	SkipHostVerification bool
}

// Observation is what is known of a request after it ended.
type Observation struct {
	Operation string // what it was for, of a closed list
	// Outcome is ok, applied, refused, unknown, unavailable, timeout, failed, ended:
	// its caller was gone or had an answer from elsewhere, or busy: it was not sent.
	Outcome string
	Took    time.Duration
	// Retries is how often it was sent again because a node had failed at it, and
	// Hedged tells that it was sent beside one that a node was slow to answer.
	Retries int
	Hedged  bool
}

// Names that become part of a statement's text, because CQL binds no names.
var (
	keyspaceName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	dataCentreName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// IsKeyspace tells whether a keyspace can have that name here: CQL would fold
// capital letters unless it is quoted, which no statement of ours does.
func IsKeyspace(name string) bool { return keyspaceName.MatchString(name) }

// IsDataCentre tells whether a data centre can have that name.
func IsDataCentre(name string) bool { return dataCentreName.MatchString(name) }

// Check refuses options that cannot be meant.
func (o *Options) Check() error {
	if len(o.Hosts) == 0 || slices.Contains(o.Hosts, "") {
		return OperatorError(nil, "a Cassandra store needs the address of at least one node")
	}
	if !IsKeyspace(o.Keyspace) {
		return OperatorError(nil, "the keyspace %q: its name has 1 to 48 characters of a-z, 0-9 and _, and begins with a letter", o.Keyspace)
	}
	for dc, n := range o.Replication {
		if dc != "" && !IsDataCentre(dc) || n < 1 {
			return OperatorError(nil, "replication %q: %d: the name of a data centre and at least one replica", dc, n)
		}
	}
	if o.Timeout < 0 {
		return OperatorError(nil, "the time of a request is %s: it must be above the nodes' own ones", o.Timeout)
	}
	if t := o.TLS; t != nil && (t.CertFile == "") != (t.KeyFile == "") {
		return OperatorError(nil, "a client certificate and its key go together")
	}
	return nil
}

// replication is the replication of a new keyspace, as CQL has it.
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

// levels are the consistency levels of reads and writes, and of decisions.
// Every table is used with one pair of them only.
func (o *Options) levels() (gocql.Consistency, gocql.SerialConsistency) {
	if o.Global {
		return gocql.Quorum, gocql.Serial
	}
	return gocql.LocalQuorum, gocql.LocalSerial
}

// Configure returns the driver's configuration; keyspace may be empty.
func (o *Options) Configure(keyspace string) (*Config, error) {
	cfg := gocql.NewCluster(o.Hosts...)
	cfg.ProtoVersion = 4
	cfg.Keyspace = keyspace
	cfg.Timeout = orDefault(o.Timeout, defaultTimeout)
	cfg.WriteTimeout = cfg.Timeout
	cfg.ConnectTimeout = orDefault(o.ConnectTimeout, defaultConnect)
	cfg.NumConns = orDefault(o.Connections, defaultConnections)
	cfg.Consistency, cfg.SerialConsistency = o.levels()
	// The retries of a policy would also be made for conditional statements.
	cfg.RetryPolicy = nil
	// Where no timestamp is given the coordinator's is right.
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
	opening := newOpening(cfg.ConnectTimeout, len(o.Hosts) > 1)
	cfg.Dialer, cfg.ConnectObserver = opening, opening
	nodes := newNodes(gocql.TokenAwareHostPolicy(fallback), opening)
	cfg.PoolConfig.HostSelectionPolicy, cfg.StreamObserver = nodes, nodes
	if !o.Global {
		cfg.HostFilter = &oneDataCentre{name: o.DataCentre}
	}
	return &Config{ClusterConfig: cfg, Another: nodes.another, options: o, nodes: nodes}, nil
}

// orDefault is v, or def where v is the zero value.
func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// oneDataCentre accepts the nodes of one data centre, that of the first node
// where none is named: a local decision made in another one would not see ours,
// so there must be no falling back to it.
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

// config reads the files.
func (t *TLS) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, OperatorError(err, "the authorities of the cluster cannot be read")
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, OperatorError(nil, "%s holds no certificate in PEM", t.CAFile)
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
		// The driver's switch would accept any certificate at all.
		cfg.InsecureSkipVerify = true
		cfg.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, cfg.RootCAs) }
	}
	return cfg, nil
}

// verifyChain accepts a certificate of the authorities, whatever its name.
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

// OperatorError is an error whose message is for whoever runs the gateway, and
// has to do something about it: it tells nobody to try again.
func OperatorError(cause error, format string, args ...any) error {
	return &fault.Error{Code: fault.Unavailable, Msg: fmt.Sprintf(format, args...), Err: withoutDriverTypes(cause)}
}

// driverLog passes what the driver says to our log, as details.
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
