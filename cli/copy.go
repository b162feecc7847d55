package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"carrel/config"
	"carrel/core/sched"
	"carrel/gateway"
	"carrel/interchange/archive"
	"carrel/observe"
	"carrel/progress"
	"carrel/repair"
)

// copyCommand is `carrel copy`.
type copyCommand struct {
	From string `name:"from" required:"" help:"Store to copy; no gateway may be serving it." placeholder:"STORE"`
	To   string `name:"to" required:"" help:"Store to copy to: a new one, or the target of the same copy after an interruption." placeholder:"STORE"`
	// Cassandra applies to both stores.
	Cassandra config.ClusterFlags
}

// copySummary is the result of a copy.
type copySummary struct {
	// Rows are the numbers of rows that were copied and compared, by chapter. They are absent if an
	// earlier run has done that.
	Rows  map[string]int64    `json:"rows,omitempty"`
	Audit *repair.AuditReport `json:"audit"`
}

// run copies the rows, derives the rest from them, and audits the target.
func (c *copyCommand) run(ctx context.Context, s Streams, _ []string) error {
	from, err := gateway.ParseTarget("from", c.From, c.Cassandra)
	if err != nil {
		return err
	}
	to, err := gateway.ParseTarget("to", c.To, c.Cassandra)
	if err != nil {
		return err
	}
	if err := from.CheckExists(); err != nil {
		return err
	}
	if c.From == c.To {
		return config.WrongUsage("to", c.To, "another store than --from")
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	job := &copying{options: gateway.Options{Log: observe.NewLogger(progress.LineWriter(s.Err)), Fatal: fail}}
	var finish func()
	job.report, finish = progress.To(s.Err, time.Now)
	err = job.run(ctx, from, to)
	finish()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return printCopy(s.Out, &job.summary)
}

// printCopy prints the summary. It fails if the audit found a mismatch.
func printCopy(w io.Writer, summary *copySummary) error {
	if err := printJSON(w, summary); err != nil {
		return err
	}
	if !summary.Audit.Clean() {
		return errors.New("copy: the target is inconsistent and cannot be served; see the report")
	}
	return nil
}

// copying is a running copy.
type copying struct {
	options gateway.Options
	report  func(progress.Report)
	summary copySummary
}

// run opens both stores, copies, and closes them.
func (j *copying) run(ctx context.Context, from, to gateway.Target) (err error) {
	source, err := gateway.OpenExclusive(ctx, from, "the source", j.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := gateway.OpenExclusive(ctx, to, "the target", j.options)
	if err != nil {
		return err
	}
	if err := j.copyRows(ctx, archive.Source{Store: source, Journal: source.Journal, Registers: source.Registers}, target); err != nil {
		return errors.Join(err, target.Close())
	}
	g, err := gateway.StartExclusive(ctx, to, target, j.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close(ctx)) }()
	return j.complete(ctx, g, target)
}

// copyRows copies the rows and compares them.
func (j *copying) copyRows(ctx context.Context, source archive.Source, target archive.Store) error {
	if err := archive.RefuseHalfCopied(ctx, source); err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	runtime := sched.NewReal()
	defer runtime.Close()
	var err error
	j.summary.Rows, err = archive.Copy(ctx, runtime, source, target, func(p archive.Progress) {
		j.report(progress.Report{Doing: p.Doing, Done: int(p.Rows), Units: "rows", At: p.Rows, Of: p.Of})
	})
	return err
}

// complete writes the derived rows of the target, audits it, and removes the mark of an incomplete
// copy.
func (j *copying) complete(ctx context.Context, g *gateway.Gateway, target archive.Store) error {
	err := g.Repair.DeriveAll(ctx, func(done, of int) {
		j.report(progress.Report{Doing: "writing libraries", Done: done, Units: "items", At: int64(done), Of: int64(of)})
	})
	if err != nil {
		return err
	}
	if j.summary.Audit, err = g.Repair.Audit(ctx); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if !j.summary.Audit.Clean() {
		return nil // printCopy reports it
	}
	return archive.Finish(ctx, target)
}
