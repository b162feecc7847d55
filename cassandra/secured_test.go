package cassandra

import (
	"testing"

	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
)

// TestOpen_SecuredClusterNeedsTheRightCredentials opens a store on a node that requires a password,
// presents a certificate and requires one from clients.
func TestOpen_SecuredClusterNeedsTheRightCredentials(t *testing.T) {
	t.Parallel()
	c := cassandratest.StartSecured(t)
	known := session.TLS{CAFile: c.CA, CertFile: c.Cert, KeyFile: c.Key, ServerName: cassandratest.SecuredName}
	right := session.Options{Hosts: c.Hosts, Keyspace: "secured", Replication: map[string]int{"": 1}, User: "cassandra",
		Password: "cassandra", TLS: &known}
	if err := Migrate(t.Context(), right, nil); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, open(t, right), creation("c:t:secured", someTime))
	anyName := right
	anyName.TLS = &session.TLS{CAFile: known.CAFile, CertFile: known.CertFile, KeyFile: known.KeyFile, SkipHostVerification: true}
	open(t, anyName)

	for _, w := range []struct {
		name   string
		change func(o *session.Options, tls *session.TLS)
		want   string
	}{
		{"a wrong password", func(o *session.Options, _ *session.TLS) { o.Password = "guessed" }, "refuses the user or the password"},
		{"no user", func(o *session.Options, _ *session.TLS) { o.User, o.Password = "", "" }, "refuses the user or the password"},
		{"a stranger's authorities", func(_ *session.Options, tls *session.TLS) { tls.CAFile = c.Stranger }, "no TLS connection"},
		{"a stranger's authorities, any name", func(_ *session.Options, tls *session.TLS) {
			tls.CAFile, tls.SkipHostVerification = c.Stranger, true
		}, "no TLS connection"},
		{"another name", func(_ *session.Options, tls *session.TLS) { tls.ServerName = "other.test" }, "no TLS connection"},
		{"the address for a name", func(_ *session.Options, tls *session.TLS) { tls.ServerName = "" }, "no TLS connection"},
		{"no certificate of ours", func(_ *session.Options, tls *session.TLS) { tls.CertFile, tls.KeyFile = "", "" }, "no TLS connection"},
	} {
		t.Run(w.name, func(t *testing.T) {
			o, tls := right, known
			o.TLS = &tls
			w.change(&o, &tls)
			_, err := Open(t.Context(), o)
			oneLine(t, err, w.want)
		})
	}
}
