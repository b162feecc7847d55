package cli

import (
	"context"
	"fmt"

	"carrel/config"
	"carrel/gateway"
)

// migrateCommand is `carrel migrate`.
type migrateCommand struct{ config.StoreFlag }

// run brings the schema of a store up to date.
func (c *migrateCommand) run(ctx context.Context, s Streams, _ []string) error {
	target, err := gateway.TargetOf(c.StoreFlag)
	if err != nil {
		return err
	}
	return target.Migrate(ctx, func(step string) { fmt.Fprintln(s.Out, step) })
}
