package cassandra

import (
	"context"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/fault"
)

// Version 0 is the row that serializes migrations.
const (
	claimMigration = `INSERT INTO schema_version (part, version, name) VALUES (0, 0, ?) IF NOT EXISTS USING TTL 120`
	renewClaim     = `UPDATE schema_version USING TTL 120 SET name = ? WHERE part = 0 AND version = 0 IF name = ?`
	unclaim        = `DELETE FROM schema_version WHERE part = 0 AND version = 0 IF name = ?`
)

// claimPause is how long a migration waits before it checks again whether the current one has
// finished.
const claimPause = 500 * time.Millisecond

// schemaClaim is the right to change the schema, which only one migration at a time has. It expires
// two minutes after its last renewal. A statement takes longer only if the nodes do not agree on
// the schema: the driver and Define wait a minute each for that. Then the next renewal fails.
type schemaClaim struct {
	s     *Store
	owner string
}

// claim waits until no other migration is running.
func (s *Store) claim(ctx context.Context) (*schemaClaim, error) {
	owner := gocql.TimeUUID().String()
	for {
		applied, current, err := s.session.DecideOne(ctx, "claim the schema", claimMigration, owner)
		switch {
		case err != nil && !fault.MayHaveCommitted(err):
			return nil, err
		case applied, err == nil && current["name"] == owner:
			return &schemaClaim{s, owner}, nil
		}
		if err := session.Pause(ctx, claimPause); err != nil {
			return nil, session.OperatorError(err, "another migration of this keyspace is running")
		}
	}
}

// renew extends the claim. It fails if the claim has expired, because another migration may have it
// then.
func (c *schemaClaim) renew(ctx context.Context) error {
	for {
		applied, _, err := c.s.session.DecideOne(ctx, "renew the claim of the schema", renewClaim, c.owner, c.owner)
		switch {
		case applied:
			return nil
		case err == nil:
			return session.OperatorError(nil,
				"this migration was so slow that its claim of the schema has expired, and another one may be running: run carrel migrate again")
		case !fault.MayHaveCommitted(err):
			return err
		}
		if err := session.Pause(ctx, claimPause); err != nil {
			return session.OperatorError(err, "cannot check whether this migration may still change the schema")
		}
	}
}

// release ends the claim. Otherwise it would expire, but other migrations would wait for that.
func (c *schemaClaim) release(ctx context.Context) {
	_, _, _ = c.s.session.DecideOne(ctx, "release the schema", unclaim, c.owner)
}
