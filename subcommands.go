package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"carrel/auth"
	"carrel/config"
	"carrel/interchange"
	"carrel/observe"
	"carrel/progress"
)

// serveCommand is `carrel serve`.
type serveCommand struct{ config.Config }

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, s streams) error { return Run(ctx, c.Config, s.out) }

// tokenCommand is `carrel token`.
type tokenCommand struct{ config.TokenConfig }

// Run prints one token.
func (c *tokenCommand) Run(s streams) error {
	secret, err := auth.ReadSecret(c.HS256File)
	if err != nil {
		return config.NewUsageError("hs256-file: " + err.Error())
	}
	token, err := auth.Mint(secret, auth.Claims{
		Subject: c.Sub, Roles: c.Role, Issuer: c.Issuer, Audience: c.Audience, IssuedAt: time.Now(), TTL: c.TTL,
	})
	if err != nil {
		return config.NewUsageError(err.Error())
	}
	_, err = fmt.Fprintln(s.out, token)
	return err
}

// importCommand is `carrel import`.
type importCommand struct {
	config.StoreFlag
	File     string `arg:"" help:"File of JSON lines; - reads standard input."`
	Continue bool   `help:"Go on after a bad line; without it the first one ends the import."`
}

// Run imports the file and prints a summary.
func (c *importCommand) Run(ctx context.Context, s streams) (err error) {
	in, size, err := c.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return withGateway(ctx, "carrel import", c.StoreFlag, s, func(ctx context.Context, g *gateway) error {
		report, finish := progress.To(s.err, time.Now)
		faults := progress.Beside(s.err)
		summary, err := interchange.Import(ctx, in, size, g.service, interchange.Options{
			Continue: c.Continue, Progress: func(p interchange.Progress) { report(importReport(p)) },
			Fault: func(f *interchange.Fault) { fmt.Fprintln(faults, f) },
		})
		if err == nil {
			err = g.service.FillDirectory(ctx) // of a store that was made before there was one
		}
		finish()
		if _, printed := fmt.Fprintln(s.out, summary); printed != nil {
			return printed
		}
		if err == nil && summary.Failed > 0 {
			return fmt.Errorf("%d of %d lines were not stored", summary.Failed, summary.Lines)
		}
		return err
	})
}

// open opens the file, with its size for the progress bar.
func (c *importCommand) open() (io.ReadCloser, int64, error) {
	if c.File == "-" {
		return io.NopCloser(os.Stdin), 0, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, 0, config.NewUsageError(fmt.Sprintf("FILE: %v", err))
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = config.NewUsageError(fmt.Sprintf("FILE: %s is a directory", c.File))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// importReport is how far an import has got, to be drawn.
func importReport(p interchange.Progress) progress.Report {
	doing := "importing"
	if p.Checking {
		doing = "checking"
	}
	return progress.Report{Doing: doing, Done: p.Lines, Units: "lines", At: p.Bytes, Of: p.Size, Bytes: true}
}

// auditCommand is `carrel audit`.
type auditCommand struct{ config.StoreFlag }

// Run prints the report as JSON; a mismatch is a failure.
func (c *auditCommand) Run(ctx context.Context, s streams) error {
	if err := refuseMissing(c.StoreFlag); err != nil {
		return err
	}
	return withGateway(ctx, "carrel audit", c.StoreFlag, s, func(ctx context.Context, g *gateway) error {
		report, err := g.service.Audit(ctx)
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if err := printJSON(s.out, report); err != nil {
			return err
		}
		if !report.Clean() {
			return errors.New("audit: the store does not agree with itself")
		}
		return nil
	})
}

// versionCommand is `carrel version`.
type versionCommand struct{}

// Run prints the module's version and what it was built from.
func (*versionCommand) Run(s streams) error {
	version, revision := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = " " + setting.Value
			}
		}
		version += revision + " " + info.GoVersion
	}
	_, err := fmt.Fprintln(s.out, "carrel", version)
	return err
}

// withGateway runs a command on an open store, with its log on standard error.
// doing is the command as other users of the store are told of it.
func withGateway(ctx context.Context, doing string, store config.StoreFlag, s streams, do func(context.Context, *gateway) error) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g, err := openGateway(ctx, store, surroundings{log: observe.NewLogger(progress.Beside(s.err)), fatal: fail, doing: doing})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close(ctx)) }()
	err = do(ctx, g)
	if cause := context.Cause(ctx); cause != nil && err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
