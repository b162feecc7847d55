package config

import "time"

// StoreFlag names a store.
type StoreFlag struct {
	Store     string       `help:"Store: pebble:DIR is an embedded one in a directory, cassandra://HOST[,HOST]/KEYSPACE a cluster." default:"pebble:data/store" placeholder:"STORE"`
	Cassandra ClusterFlags `embed:"" prefix:"cassandra-"`
}

// ClusterFlags say how a Cassandra cluster is reached, whatever command wants it.
type ClusterFlags struct {
	User         string        `help:"User of the cluster." placeholder:"NAME"`
	PasswordFile string        `help:"File with that user's password: its bytes without one final newline." placeholder:"FILE"`
	TLS          bool          `name:"tls" help:"Connect with TLS; the nodes' certificates are verified. Every flag about certificates implies it."`
	CA           string        `name:"ca" help:"Authorities of the nodes' certificates, PEM; those of the system when left out. Implies TLS." placeholder:"FILE"`
	Cert         string        `help:"Client certificate, PEM, with its key. Implies TLS." placeholder:"FILE"`
	Key          string        `help:"Private key of the client certificate, PEM. Implies TLS." placeholder:"FILE"`
	ServerName   string        `help:"Name in the nodes' certificates; each node's address when left out. Implies TLS." placeholder:"NAME"`
	AnyName      bool          `name:"skip-host-verification" help:"Accept a certificate of the authorities whatever name is in it. Whoever holds any such certificate can then pass for a node, read the password and change what is stored: only for authorities that sign nodes alone. Implies TLS."`
	DataCentre   string        `name:"dc" help:"Data centre whose nodes are used." placeholder:"NAME"`
	Global       bool          `help:"Decide across data centres (QUORUM, SERIAL) instead of within one (LOCAL_QUORUM, LOCAL_SERIAL). All gateways of a keyspace alike."`
	Replication  []string      `help:"Replicas of a keyspace that migrate makes, 3 in every data centre when left out: a number for every data centre, or DC=NUMBER, repeatable. Where the keyspace stands with others, migrate changes nothing and fails." sep:"," placeholder:"[DC=]NUMBER"`
	Timeout      time.Duration `help:"Time of one request; above the nodes' own ones, which are up to 5s unless their operator has changed them." default:"6s" placeholder:"TIME"`
}
