package commit

import (
	"context"
	"fmt"
)

// Handler does the background work for the changes of one kind. A function is nil if the
// kind has no such work.
type Handler struct {
	// Resume finishes a change of a dead process, of unknown outcome, or that could not be
	// finished before. It may run concurrently with the change's own process and with other
	// processes that resume it. It reports whether the change was fenced, so that it can no
	// longer be decided.
	Resume func(ctx context.Context, e Entry) (fenced bool, err error)
	// RunDue runs a deferred change that is due. It reports whether it changed anything.
	RunDue func(ctx context.Context, e Entry) (bool, error)
	// Expire acts on a hint that is due. It reports whether the hint can be removed.
	Expire func(ctx context.Context, d Due) (bool, error)
}

// Handle registers the handler of a kind. Each domain calls it before the first change.
func (g *Engine) Handle(kind Kind, h Handler) { g.handlers[kind] = h }

// Repairs registers the function that repairs derived rows of a kind that a reader has found
// to be wrong. It must be called before the first change.
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

// Repair calls the function that Repairs registered for the kind.
func (g *Engine) Repair(ctx context.Context, r Repair) error {
	if repair := g.repairs[r.Kind]; repair != nil {
		return repair(ctx, r)
	}
	return unhandled("repair", r.Kind, r.Key)
}

// unhandled returns the error for a row that a later version of the program has written.
func unhandled(what string, kind Kind, key string) error {
	return fmt.Errorf("a %s of %s is of the kind %q, which this version does not know", what, key, kind)
}
