package cli

import (
	"context"
	"errors"
	"fmt"

	"carrel/config"
	"carrel/gateway"
)

// auditCommand is `carrel audit`.
type auditCommand struct{ config.StoreFlag }

// run prints the report as JSON; a mismatch is a failure.
func (c *auditCommand) run(ctx context.Context, s Streams, _ []string) error {
	if err := gateway.CheckExists(c.StoreFlag); err != nil {
		return err
	}
	return withGateway(ctx, "carrel audit", c.StoreFlag, s, func(ctx context.Context, g *gateway.Gateway) error {
		report, err := g.Repair.Audit(ctx)
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if err := printJSON(s.Out, report); err != nil {
			return err
		}
		if !report.Clean() {
			return errors.New("audit: the store is inconsistent; see the report")
		}
		return nil
	})
}
