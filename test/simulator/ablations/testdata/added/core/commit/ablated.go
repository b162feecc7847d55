package commit

import (
	"context"
	"os"

	"carrel/core/sched"
)

// ablation is the name of the rule that is off in this process.
var ablation = os.Getenv("CARREL_ABLATION")

// Ablated reports whether a rule is off.
func Ablated(name string) bool { return ablation == name }

type tryKey struct{}

// withTry passes the try of a change on to ablatedBegin.
func withTry(ctx context.Context, try func(context.Context) (*Attempt, error)) context.Context {
	return context.WithValue(ctx, tryKey{}, try)
}

// ablatedBegin puts the entry on the list, too late or too early where a rule is off.
func (g *Engine) ablatedBegin(ctx, early context.Context, a *Attempt) error {
	switch {
	case Ablated("entry-after-commit"):
		return nil
	case Ablated("commit-before-ack"):
		e := a.Entry
		g.rt.Go(func() { _ = g.journal.Begin(g.rt.Detach(early), e) })
		return nil
	case Ablated("entry-before-read"):
		if err := g.journal.Begin(early, a.Entry); err != nil {
			return err
		}
		again, err := ctx.Value(tryKey{}).(func(context.Context) (*Attempt, error))(early)
		if err != nil || again.Commit == nil {
			g.journal.End(a.Entry.ID)
			if err == nil {
				err = sched.ErrQueueFull
			}
			return err
		}
		a.Commit = again.Commit
		return nil
	}
	return g.journal.Begin(early, a.Entry)
}

// ablatedAfter puts the entry on the list after the compare-and-set.
func (g *Engine) ablatedAfter(detached context.Context, a *Attempt, kept bool) error {
	if kept && Ablated("entry-after-commit") {
		return g.journal.Begin(detached, a.Entry)
	}
	return nil
}
