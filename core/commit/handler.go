package commit

import (
	"context"
	"fmt"
)

// Handlers are the handlers of all kinds. They do what a journal starts.
type Handlers map[Kind]Handler

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
	// Expire acts on a reminder that is due. It reports whether the reminder can be removed.
	Expire func(ctx context.Context, d Reminder) (bool, error)
	// Repair repairs derived rows that a reader has found to be wrong.
	Repair func(ctx context.Context, r Repair) error
}

// Resume calls the handler of the entry's kind.
func (hs Handlers) Resume(ctx context.Context, e Entry) (fenced bool, err error) {
	if h := hs[e.Kind]; h.Resume != nil {
		return h.Resume(ctx, e)
	}
	return false, unhandled("change", e.Kind, e.Key)
}

// RunDue calls the handler of the entry's kind.
func (hs Handlers) RunDue(ctx context.Context, e Entry) (bool, error) {
	if h := hs[e.Kind]; h.RunDue != nil {
		return h.RunDue(ctx, e)
	}
	return false, unhandled("deferred change", e.Kind, e.Key)
}

// Expire calls the handler of the reminder's kind.
func (hs Handlers) Expire(ctx context.Context, d Reminder) (bool, error) {
	if h := hs[d.Kind]; h.Expire != nil {
		return h.Expire(ctx, d)
	}
	return false, unhandled("reminder", d.Kind, d.Key)
}

// Repair calls the handler of the kind.
func (hs Handlers) Repair(ctx context.Context, r Repair) error {
	if h := hs[r.Kind]; h.Repair != nil {
		return h.Repair(ctx, r)
	}
	return unhandled("repair", r.Kind, r.Key)
}

// unhandled returns the error for a row that a later version of the program has written.
func unhandled(what string, kind Kind, key string) error {
	return fmt.Errorf("a %s of %s is of the kind %q, which this version does not know", what, key, kind)
}
