package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	createKeyspace = `CREATE KEYSPACE IF NOT EXISTS %s WITH replication = %s`
	selectKeyspace = `SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?`
	selectReplicas = `SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?`

	selectLocalCentre = `SELECT data_center FROM system.local`
	selectPeerCentres = `SELECT data_center FROM system.peers`
)

// MakeKeyspace creates the keyspace of the options if it does not exist. It returns an
// error if the keyspace exists with another replication than the options ask for.
func MakeKeyspace(ctx context.Context, o Options, progress func(string)) error {
	s, err := Connect(ctx, &o, "")
	if err != nil {
		return err
	}
	defer s.Close()
	centres, err := s.DataCentres(ctx, &o)
	if err != nil {
		return err
	}
	current, err := s.replicas(ctx, o.Keyspace)
	if err != nil {
		return err
	}
	if current == nil {
		progress("creating the keyspace " + o.Keyspace + " with " + o.replication())
		if err := s.Define(ctx, fmt.Sprintf(createKeyspace, o.Keyspace, o.replication())); err != nil {
			return err
		}
		// Another migration may have created it meanwhile, with other replicas.
		if current, err = s.replicas(ctx, o.Keyspace); err != nil {
			return err
		}
	}
	return o.compareReplicas(current, centres)
}

// replicas returns the replication of a keyspace; nil if there is none of that name.
func (s *Session) replicas(ctx context.Context, keyspace string) (map[string]string, error) {
	var current map[string]string
	_, err := s.ReadRow(ctx, Query{Operation: "look for the keyspace", Stmt: selectReplicas, Args: []any{keyspace}}, &current)
	return current, err
}

// compareReplicas returns an error if the replication is not that of the options. centres
// are the data centres of the cluster.
func (o *Options) compareReplicas(current map[string]string, centres []string) error {
	if len(o.Replication) == 0 || current == nil {
		return nil
	}
	// ALTER KEYSPACE applies a number for every data centre only to new ones, so the message names
	// each data centre.
	asked := Options{Replication: make(map[string]int)}
	if n, every := o.Replication[""]; every {
		for _, dc := range centres {
			asked.Replication[dc] = n
		}
	}
	for dc, n := range o.Replication {
		if dc != "" {
			asked.Replication[dc] = n
		}
	}
	same := strings.HasSuffix(current["class"], "NetworkTopologyStrategy")
	for dc, n := range asked.Replication {
		same = same && current[dc] == strconv.Itoa(n)
	}
	for dc, n := range current {
		_, wanted := asked.Replication[dc]
		same = same && (wanted || dc == "class" || n == "0")
	}
	if same {
		return nil
	}
	return OperatorError(nil,
		"the keyspace %s has the replication %s, which a migration does not change, and not %s: ALTER KEYSPACE %s WITH "+
			"replication = %s, then nodetool repair --full %s on every node; or migrate without naming a replication",
		o.Keyspace, replicasText(current), asked.replication(), o.Keyspace, asked.replication(), o.Keyspace)
}

// replicasText returns the replication of an existing keyspace in CQL.
func replicasText(current map[string]string) string {
	parts := []string{"'class': '" + strings.TrimPrefix(current["class"], "org.apache.cassandra.locator.") + "'"}
	for _, dc := range slices.Sorted(maps.Keys(current)) {
		if dc != "class" {
			parts = append(parts, fmt.Sprintf("'%s': %s", dc, current[dc]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// DataCentres returns the data centres of the cluster. It returns an error if there are
// several, decisions are local to one of them, and the options do not say which.
func (s *Session) DataCentres(ctx context.Context, o *Options) ([]string, error) {
	centres, err := s.ReadTexts(ctx, selectLocalCentre)
	if err != nil {
		return nil, err
	}
	peers, err := s.ReadTexts(ctx, selectPeerCentres)
	if err != nil {
		return nil, err
	}
	all := slices.Compact(slices.Sorted(slices.Values(append(centres, peers...))))
	if !o.Global && o.DataCentre == "" && len(all) > 1 {
		return nil, OperatorError(nil, "the cluster has the data centres %s: configure the one that this process uses", strings.Join(all, ", "))
	}
	return all, nil
}

// Define runs a statement of the schema and waits until all nodes agree on the schema.
func (s *Session) Define(ctx context.Context, stmt string) error {
	err := s.driver.Query(stmt).WithContext(ctx).Exec()
	if err == nil {
		err = s.driver.AwaitSchemaAgreement(ctx)
	}
	return WrapError("change the schema", err)
}

// ReadTexts runs a SELECT that returns one text a row.
func (s *Session) ReadTexts(ctx context.Context, stmt string, args ...any) ([]string, error) {
	var text string
	q := Query{Operation: "look at the cluster", Stmt: stmt, Args: args}
	return List(ctx, s, q, []any{&text}, func() (string, error) { return text, nil })
}
