package cassandra

import (
	"context"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/fault"
)

// Version 0 is the row by which one migration at a time is let through.
const (
	claimMigration = `INSERT INTO schema_version (part, version, name) VALUES (0, 0, ?) IF NOT EXISTS USING TTL 120`
	renewClaim     = `UPDATE schema_version USING TTL 120 SET name = ? WHERE part = 0 AND version = 0 IF name = ?`
	unclaim        = `DELETE FROM schema_version WHERE part = 0 AND version = 0 IF name = ?`
)

// claimPause is how long a migration waits before it asks again whether the
// one under way is done.
const claimPause = 500 * time.Millisecond

// schemaClaim is the right to change the schema, which one migration at a time has.
// It ends by itself two minutes after it was last renewed: a statement with its
// wait for the agreement of nodes takes one and a half at most.
type schemaClaim struct {
	s     *Store
	owner string
}

// claim waits until no other migration is under way.
func (s *Store) claim(ctx context.Context) (*schemaClaim, error) {
	owner := gocql.TimeUUID().String()
	for {
		applied, standing, err := s.session.DecideOne(ctx, "claim the schema", claimMigration, owner)
		switch {
		case err != nil && !fault.MayHaveCommitted(err):
			return nil, err
		case applied, err == nil && standing["name"] == owner:
			return &schemaClaim{s, owner}, nil
		}
		if err := session.Pause(ctx, claimPause); err != nil {
			return nil, session.OperatorError(err, "another migration of this keyspace is under way")
		}
	}
}

// renew has the claim end later. It is refused where the claim has ended: then
// somebody else may have it.
func (c *schemaClaim) renew(ctx context.Context) error {
	for {
		applied, _, err := c.s.session.DecideOne(ctx, "renew the claim of the schema", renewClaim, c.owner, c.owner)
		switch {
		case applied:
			return nil
		case err == nil:
			return session.OperatorError(nil, "this migration was so slow that its claim of the schema has ended, and another one may be under way: run carrel migrate again")
		case !fault.MayHaveCommitted(err):
			return err
		}
		if err := session.Pause(ctx, claimPause); err != nil {
			return session.OperatorError(err, "it is not known whether this migration may still change the schema")
		}
	}
}

// release ends the claim, which would end by itself, but not before somebody
// has waited for it.
func (c *schemaClaim) release(ctx context.Context) {
	_, _, _ = c.s.session.DecideOne(ctx, "release the schema", unclaim, c.owner)
}
