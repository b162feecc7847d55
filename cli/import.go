package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"carrel/config"
	"carrel/gateway"
	"carrel/interchange"
	"carrel/progress"
)

// importCommand is `carrel import`.
type importCommand struct {
	config.StoreFlag
	Continue bool `name:"continue" help:"Continue after a bad line. By default the first bad line ends the import."`
}

// run imports the file and prints a summary.
func (c *importCommand) run(ctx context.Context, s Streams, args []string) (err error) {
	in, size, err := open(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return withGateway(ctx, "carrel import", c.StoreFlag, s, func(ctx context.Context, g *gateway.Gateway) error {
		report, finish := progress.To(s.Err, time.Now)
		faults := progress.LineWriter(s.Err)
		summary, err := interchange.Import(ctx, in, size, g.Exchange, interchange.Options{
			Continue: c.Continue, Progress: func(p interchange.Progress) { report(importReport(p)) },
			Fault: func(f *interchange.Fault) { fmt.Fprintln(faults, f) },
		})
		finish()
		if _, printed := fmt.Fprintln(s.Out, summary); printed != nil {
			return printed
		}
		if err == nil && summary.Failed > 0 {
			return fmt.Errorf("%d of %d lines were not stored", summary.Failed, summary.Lines)
		}
		return err
	})
}

// open opens the file, with its size for the progress bar.
func open(path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), 0, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, config.NewUsageError(fmt.Sprintf("FILE: %v", err))
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = config.NewUsageError(fmt.Sprintf("FILE: %s is a directory", path))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// importReport converts the progress of an import for display.
func importReport(p interchange.Progress) progress.Report {
	doing := "importing"
	if p.Checking {
		doing = "checking"
	}
	return progress.Report{Doing: doing, Done: p.Lines, Units: "lines", At: p.Bytes, Of: p.Size, Bytes: true}
}
