package commit

import (
	"context"
	"fmt"
)

// Handler does in the background what changes of one kind need. A function that is nil
// is never called for: the kind has no such thing.
type Handler struct {
	// Resume finishes a change in place of its process: of a dead one, of unknown
	// outcome, or one that could not be finished. It may run beside its owner and
	// beside other processes that resume it. It reports whether the change was fenced,
	// which is that it can be decided no more.
	Resume func(ctx context.Context, e Entry) (fenced bool, err error)
	// RunDue carries out a deferred change whose time has come. It reports whether
	// anything was changed.
	RunDue func(ctx context.Context, e Entry) (bool, error)
	// Expire does what a hint says, whose time has come. It reports whether the hint
	// can be removed.
	Expire func(ctx context.Context, d Due) (bool, error)
}

// Handle says what is done for a kind. Each domain calls it before the first change.
func (g *Engine) Handle(kind Kind, h Handler) { g.handlers[kind] = h }

// Repairs says how derived rows of a kind are brought in line that a reader has found to
// be wrong. It is called before the first change.
func (g *Engine) Repairs(kind Kind, repair func(ctx context.Context, r Repair) error) {
	g.repairs[kind] = repair
}

// CanRepair reports whether Repairs was called for a kind.
func (g *Engine) CanRepair(kind Kind) bool { return g.repairs[kind] != nil }

// Resume calls the handler of the entry's kind.
func (g *Engine) Resume(ctx context.Context, e Entry) (fenced bool, err error) {
	if h := g.handlers[e.Kind]; h.Resume != nil {
		return h.Resume(ctx, e)
	}
	return false, unhandled("change", e.Kind, e.Key)
}

// RunDue calls the handler of the entry's kind.
func (g *Engine) RunDue(ctx context.Context, e Entry) (bool, error) {
	if h := g.handlers[e.Kind]; h.RunDue != nil {
		return h.RunDue(ctx, e)
	}
	return false, unhandled("deferred change", e.Kind, e.Key)
}

// Expire calls the handler of the hint's kind.
func (g *Engine) Expire(ctx context.Context, d Due) (bool, error) {
	if h := g.handlers[d.Kind]; h.Expire != nil {
		return h.Expire(ctx, d)
	}
	return false, unhandled("hint", d.Kind, d.Key)
}

// Repair does what Repairs said for the kind.
func (g *Engine) Repair(ctx context.Context, r Repair) error {
	if repair := g.repairs[r.Kind]; repair != nil {
		return repair(ctx, r)
	}
	return unhandled("repair", r.Kind, r.Key)
}

// unhandled is the error of what a later version of the program has written.
func unhandled(what string, kind Kind, key string) error {
	return fmt.Errorf("a %s of %s is of the kind %q, which this program does not know", what, key, kind)
}
