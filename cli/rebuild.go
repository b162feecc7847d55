package cli

import (
	"context"
	"fmt"
	"time"

	"carrel/config"
	"carrel/core/commit"
	"carrel/gateway"
	"carrel/principal"
	"carrel/progress"
)

// rebuildCommand is `carrel rebuild`.
type rebuildCommand struct {
	config.StoreFlag
	Directory bool `name:"directory" help:"Rebuild only the directory, the index for finding users and groups."`
}

// rebuilt is the result for one library.
type rebuilt struct {
	Principal principal.ID `json:"principal"`
	Restored  int          `json:"restored"`
	Removed   int          `json:"removed"`
}

// run rebuilds, and prints what was repaired as JSON.
func (c *rebuildCommand) run(ctx context.Context, s Streams, args []string) error {
	var ids []principal.ID
	for _, text := range args {
		id, err := principal.ParseID(text)
		if err != nil {
			return config.WrongUsage("ID", text, "u:TENANT:NAME or g:TENANT:NAME")
		}
		ids = append(ids, id)
	}
	if c.Directory && len(ids) > 0 {
		return config.WrongUsage("directory", args[0], "no ID: the directory is always rebuilt for all principals")
	}
	if err := gateway.CheckExists(c.StoreFlag); err != nil {
		return err
	}
	return withGateway(ctx, "carrel rebuild", c.StoreFlag, s, func(ctx context.Context, g *gateway.Gateway) error {
		switch {
		case c.Directory:
			return rebuildDirectory(ctx, s, g)
		case len(ids) == 0:
			return rebuildEverything(ctx, s, g)
		}
		return rebuildLibraries(ctx, s, g, ids)
	})
}

func rebuildDirectory(ctx context.Context, s Streams, g *gateway.Gateway) error {
	repaired, err := g.Repair.RebuildDirectory(ctx)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	return printJSON(s.Out, struct {
		Repaired int `json:"repaired"`
	}{repaired})
}

func rebuildEverything(ctx context.Context, s Streams, g *gateway.Gateway) error {
	report, finish := progress.To(s.Err, time.Now)
	found, err := g.Repair.RebuildAll(ctx, func(done, of int) {
		report(progress.Report{Doing: "rebuilding", Done: done, Units: "items and principals", At: int64(done), Of: int64(of)})
	})
	finish()
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	return printJSON(s.Out, found)
}

func rebuildLibraries(ctx context.Context, s Streams, g *gateway.Gateway, ids []principal.ID) error {
	headers, err := g.Store.Principals.ReadPrincipals(ctx, ids)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	for i := range headers {
		if headers[i].State != commit.Live {
			return fmt.Errorf("rebuild: no user or group %s exists", ids[i])
		}
	}
	all := make([]rebuilt, len(ids))
	for i, id := range ids {
		restored, removed, err := g.Repair.Rebuild(ctx, id)
		if err != nil {
			return fmt.Errorf("rebuild %s: %w", id, err)
		}
		all[i] = rebuilt{id, restored, removed}
	}
	return printJSON(s.Out, all)
}
