package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"carrel/config"
	"carrel/core/commit"
	"carrel/gateway"
	"carrel/interchange"
	"carrel/principal"
	"carrel/progress"
)

// exportCommand is `carrel export`.
type exportCommand struct {
	config.StoreFlag
	Of     string `name:"of" nonempty:"u:TENANT:NAME" help:"User to export. Only the data of this user is written: its profile with the e-mail address, memberships, library, drafts, and what it is the author of." placeholder:"USER"`
	Output string `name:"output" help:"File to write; it appears when it is complete. Standard output by default." placeholder:"FILE"`
}

// run writes everything that readers can see, or the data of one user. It prints the number of
// lines to standard error, because the lines may go to standard output.
func (c *exportCommand) run(ctx context.Context, s Streams, _ []string) error {
	user := principal.ID("")
	if c.Of != "" {
		var err error
		if user, err = principal.ParseID(c.Of); err != nil || !user.IsUser() {
			return config.WrongUsage("of", c.Of, "u:TENANT:NAME")
		}
	}
	if err := gateway.CheckExists(c.StoreFlag); err != nil {
		return err
	}
	out, err := c.create(s.Out)
	if err != nil {
		return err
	}
	err = withGateway(ctx, "carrel export", c.StoreFlag, s, func(ctx context.Context, g *gateway.Gateway) error {
		report, finish := progress.To(s.Err, time.Now)
		progressed := func(lines int, bytes int64) {
			report(progress.Report{Doing: "exporting", Done: lines, Units: "lines", At: bytes, Bytes: true})
		}
		lines, err := 0, error(nil)
		if user == "" {
			lines, err = interchange.Export(ctx, g.Exchange, out, progressed)
		} else {
			lines, err = exportOf(ctx, g, user, out, progressed)
		}
		finish()
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		_, err = fmt.Fprintf(s.Err, "%d lines\n", lines)
		return err
	})
	return errors.Join(err, out.end(err == nil))
}

// exportOf writes the data of one user.
func exportOf(ctx context.Context, g *gateway.Gateway, user principal.ID, out io.Writer,
	progressed func(lines int, bytes int64)) (int, error) {
	headers, err := g.Store.Principals.ReadPrincipals(ctx, []principal.ID{user})
	if err != nil {
		return 0, err
	}
	if headers[0].State != commit.Live {
		return 0, fmt.Errorf("there is no user %s", user)
	}
	memberships, err := g.Store.Principals.Memberships(ctx, user, "", math.MaxInt32)
	if err != nil {
		return 0, err
	}
	groups := make([]principal.ID, len(memberships))
	for i, m := range memberships {
		groups[i] = m.Group
	}
	return interchange.ExportOf(ctx, g.Exchange, user, groups, out, progressed)
}

// create opens the output.
func (c *exportCommand) create(standard io.Writer) (exportOutput, error) {
	if c.Output == "" || c.Output == "-" {
		return plainOutput{standard}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(c.Output), "."+filepath.Base(c.Output)+".*")
	if err != nil {
		return nil, config.NewUsageError(fmt.Sprintf("output: %v", err))
	}
	return &fileOutput{File: f, path: c.Output}, nil
}

// exportOutput is the output of an export. end completes it, or removes it after an error.
type exportOutput interface {
	io.Writer
	end(complete bool) error
}

// plainOutput writes each line at once.
type plainOutput struct{ io.Writer }

func (plainOutput) end(bool) error { return nil }

// fileOutput is a temporary file, which gets its name when it is complete and on the disk. So an
// incomplete export cannot be mistaken for a complete one.
type fileOutput struct {
	*os.File
	path string
}

func (o *fileOutput) end(complete bool) error {
	if !complete {
		return errors.Join(o.Close(), os.Remove(o.Name()))
	}
	err := errors.Join(o.Sync(), o.Close())
	if err == nil {
		err = os.Rename(o.Name(), o.path)
	}
	if err != nil {
		return fmt.Errorf("export: %w", errors.Join(err, os.Remove(o.Name())))
	}
	return nil
}
