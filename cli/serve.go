package cli

import (
	"context"

	"carrel/config"
)

// serveCommand is `carrel serve`.
type serveCommand struct{ config.Config }

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, s Streams, serve ServeFunc) error {
	return serve(ctx, c.Config, s.Out)
}
