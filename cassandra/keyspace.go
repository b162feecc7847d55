package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gocql/gocql"
)

const (
	createKeyspace = `CREATE KEYSPACE IF NOT EXISTS %s WITH replication = %s`
	selectKeyspace = `SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?`
	selectReplicas = `SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?`
)

// makeKeyspace makes the keyspace of the options unless it stands. One that
// stands has the replication that they name, if they name any.
func makeKeyspace(ctx context.Context, o Options, progress func(string)) error {
	s, err := connect(ctx, &o, "")
	if err != nil {
		return err
	}
	defer s.session.Close()
	centres, err := s.checkCentres(ctx, &o)
	if err != nil {
		return err
	}
	standing, err := s.replicas(ctx, o.Keyspace)
	if err != nil {
		return err
	}
	if standing == nil {
		progress("making the keyspace " + o.Keyspace + " with " + o.replication())
		if err := s.define(ctx, fmt.Sprintf(createKeyspace, o.Keyspace, o.replication())); err != nil {
			return err
		}
		// Somebody else may have made it meanwhile, with other replicas.
		if standing, err = s.replicas(ctx, o.Keyspace); err != nil {
			return err
		}
	}
	return o.compareReplicas(standing, centres)
}

// replicas is the replication of a keyspace as the cluster has it, nil where
// there is none of that name.
func (s *Store) replicas(ctx context.Context, keyspace string) (map[string]string, error) {
	var standing map[string]string
	err := s.read(ctx, reading{doing: "look for the keyspace", stmt: selectReplicas, args: []any{keyspace}}, func(iter *gocql.Iter) bool { return iter.Scan(&standing) })
	return standing, err
}

// compareReplicas refuses a replication that is not the one of the options.
// centres are the data centres of the cluster.
func (o *Options) compareReplicas(standing map[string]string, centres []string) error {
	if len(o.Replication) == 0 || standing == nil {
		return nil
	}
	// ALTER KEYSPACE takes a number for every data centre as one for new ones
	// alone, so each is named.
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
	same := strings.HasSuffix(standing["class"], "NetworkTopologyStrategy")
	for dc, n := range asked.Replication {
		same = same && standing[dc] == strconv.Itoa(n)
	}
	for dc, n := range standing {
		_, wanted := asked.Replication[dc]
		same = same && (wanted || dc == "class" || n == "0")
	}
	if same {
		return nil
	}
	return operatorError(nil, "the keyspace %s stands with the replication %s, which a migration does not change, and %s was asked for: ALTER KEYSPACE %s WITH replication = %s, then nodetool repair --full %s on every node; or migrate without naming a replication",
		o.Keyspace, replicasText(standing), asked.replication(), o.Keyspace, asked.replication(), o.Keyspace)
}

// replicasText is a standing replication as CQL has it.
func replicasText(standing map[string]string) string {
	parts := []string{"'class': '" + strings.TrimPrefix(standing["class"], "org.apache.cassandra.locator.") + "'"}
	for _, dc := range slices.Sorted(maps.Keys(standing)) {
		if dc != "class" {
			parts = append(parts, fmt.Sprintf("'%s': %s", dc, standing[dc]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
