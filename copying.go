package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"carrel/config"
	"carrel/core/sched"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/observe"
	"carrel/progress"
)

// copyCommand is `carrel copy`.
type copyCommand struct {
	From string `required:"" help:"Store to copy; nobody may serve it." placeholder:"STORE"`
	To   string `required:"" help:"Store to copy to: a new one, or the target of the same copy, broken off." placeholder:"STORE"`
	// Cassandra is for either of them.
	Cassandra config.ClusterFlags `embed:"" prefix:"cassandra-"`
}

// copySummary is what a copy tells at its end.
type copySummary struct {
	// Rows that were carried and found equal; left out where an earlier run had.
	Rows  map[string]int64     `json:"rows,omitempty"`
	Audit *library.AuditReport `json:"audit"`
}

// Run copies, writes what is derived, and audits the target.
func (c *copyCommand) Run(ctx context.Context, s streams) error {
	from, err := placeOf("from", c.From, c.Cassandra)
	if err != nil {
		return err
	}
	to, err := placeOf("to", c.To, c.Cassandra)
	if err != nil {
		return err
	}
	if err := from.exists(); err != nil {
		return err
	}
	if c.From == c.To {
		return config.WrongUsage("to", c.To, "another store than --from")
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	job := &copying{log: observe.NewLogger(progress.Beside(s.err)), fatal: fail}
	var finish func()
	job.report, finish = progress.To(s.err, time.Now)
	err = job.run(ctx, from, to)
	finish()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return printCopy(s.out, &job.summary)
}

// printCopy prints the summary; a target that is not in order is a failure.
func printCopy(w io.Writer, summary *copySummary) error {
	if err := printJSON(w, summary); err != nil {
		return err
	}
	if !summary.Audit.Clean() {
		return errors.New("copy: the target does not agree with itself, and is not completed")
	}
	return nil
}

// copying is a copy under way.
type copying struct {
	log     *slog.Logger
	fatal   func(error)
	report  func(progress.Report)
	summary copySummary
}

// run opens both stores, and closes them.
func (j *copying) run(ctx context.Context, from, to place) (err error) {
	with := surroundings{log: j.log, fatal: j.fatal, alone: true, passes: to.passes}
	source, err := from.open(ctx, with)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := occupy(ctx, "the source", source, with); err != nil {
		return err
	}
	target, err := to.open(ctx, with)
	if err != nil {
		return err
	}
	archive, ok := target.(archive.Store)
	if !ok {
		return errors.Join(errors.New("the target is of a kind that cannot be copied to"), target.Close())
	}
	err = occupy(ctx, "the target", target, with)
	if err == nil {
		err = j.rows(ctx, source, archive)
	}
	if err != nil {
		return errors.Join(err, target.Close())
	}
	g, err := startGateway(ctx, target, with)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close(ctx)) }()
	return j.derived(ctx, g, archive)
}

// rows carries the rows and compares them.
func (j *copying) rows(ctx context.Context, source backend, target archive.Store) error {
	from, ok := source.(archive.Source)
	if !ok {
		return errors.New("the source is of a kind that cannot be copied")
	}
	if err := archive.RefuseHalfCopied(ctx, from); err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	runtime := sched.NewReal()
	defer runtime.Close()
	var err error
	j.summary.Rows, err = archive.Copy(ctx, runtime, from, target, func(p archive.Progress) {
		j.report(progress.Report{Doing: p.Doing, Done: int(p.Rows), Units: "rows", At: p.Rows, Of: p.Of})
	})
	return err
}

// derived makes the target a store that can be served.
func (j *copying) derived(ctx context.Context, g *gateway, target archive.Store) error {
	err := g.service.DeriveAll(ctx, func(done, of int) {
		j.report(progress.Report{Doing: "writing libraries", Done: done, Units: "items", At: int64(done), Of: int64(of)})
	})
	if err != nil {
		return err
	}
	if j.summary.Audit, err = g.service.Audit(ctx); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if !j.summary.Audit.Clean() {
		return nil // told with the summary
	}
	return archive.Finish(ctx, target)
}

// migrateCommand is `carrel migrate`.
type migrateCommand struct{ config.StoreFlag }

// Run brings the schema of a store up to date.
func (c *migrateCommand) Run(ctx context.Context, s streams) error {
	place, err := storePlace(c.StoreFlag)
	if err != nil {
		return err
	}
	return place.migrate(ctx, func(step string) { fmt.Fprintln(s.out, step) })
}
