package config

import "time"

// StoreFlag names a store.
type StoreFlag struct {
	Store     string `name:"store" help:"Store: pebble:DIR for an embedded store in a directory, or cassandra://HOST[,HOST]/KEYSPACE for a cluster." default:"pebble:data/store" placeholder:"STORE"`
	Cassandra ClusterFlags
}

// ClusterFlags configure how any command connects to a Cassandra cluster.
type ClusterFlags struct {
	User         string        `name:"cassandra-user" help:"User of the cluster." placeholder:"NAME"`
	PasswordFile string        `name:"cassandra-password-file" help:"File with the password of the user: its bytes without one final newline." placeholder:"FILE"`
	TLS          bool          `name:"cassandra-tls" help:"Connect with TLS; the nodes' certificates are verified. Every flag about certificates implies it."`
	CA           string        `name:"cassandra-ca" help:"Authorities of the nodes' certificates, PEM; by default the system's. Implies TLS." placeholder:"FILE"`
	Cert         string        `name:"cassandra-cert" help:"Client certificate, PEM, with its key. Implies TLS." placeholder:"FILE"`
	Key          string        `name:"cassandra-key" help:"Private key of the client certificate, PEM. Implies TLS." placeholder:"FILE"`
	ServerName   string        `name:"cassandra-server-name" help:"Name in the nodes' certificates; by default the address of each node. Implies TLS." placeholder:"NAME"`
	AnyName      bool          `name:"cassandra-skip-host-verification" help:"Accept every certificate that the authorities have signed, for any name. Whoever has such a certificate can pose as a node, read the password and change the data, so use it only for authorities that sign nothing but nodes. Implies TLS."`
	DataCentre   string        `name:"cassandra-dc" help:"Data centre whose nodes are used." placeholder:"NAME"`
	Global       bool          `name:"cassandra-global" help:"Decide across data centres (QUORUM, SERIAL) instead of within one (LOCAL_QUORUM, LOCAL_SERIAL). Set it alike for all gateways of a keyspace."`
	Replication  []string      `name:"cassandra-replication" help:"Replicas of a keyspace that migrate creates, 3 in every data centre by default: a number for every data centre, or DC=NUMBER, repeatable. If the keyspace exists with other numbers, migrate changes nothing and fails." placeholder:"[DC=]NUMBER"`
	Timeout      time.Duration `name:"cassandra-timeout" help:"Timeout of one request. It must be longer than the nodes' own timeouts for reads and writes by key, which are up to 5s by default." default:"6s" placeholder:"TIME"`
}
