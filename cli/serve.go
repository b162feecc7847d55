package cli

import (
	"context"

	"carrel/config"
)

// serveCommand is `carrel serve`.
type serveCommand struct {
	config.Config
	serve ServeFunc
}

// run serves until ctx ends.
func (c *serveCommand) run(ctx context.Context, s Streams, _ []string) error {
	return c.serve(ctx, c.Config, s.Out)
}
