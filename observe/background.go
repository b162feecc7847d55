package observe

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"carrel/core/commit"
	"carrel/core/journal"
)

// Background creates spans for the background work that a journal starts. Each span begins a trace.
// If a mutation of this process began the change, the span links to that mutation's trace.
func (t *Tracing) Background(next journal.Service) journal.Service {
	if t == nil {
		return next
	}
	return &tracedBackground{next, t}
}

type tracedBackground struct {
	next journal.Service
	t    *Tracing
}

// Resume implements journal.Service.
func (b *tracedBackground) Resume(ctx context.Context, e commit.Entry) (bool, error) {
	var options []trace.SpanStartOption
	if from, known := b.t.changes.Get(e.ID); known {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
	}
	ctx, span := b.t.begin(ctx, "resume", options...)
	fenced, err := b.next.Resume(ctx, e)
	endWork(span, err)
	return fenced, err
}

// RunDue implements journal.Service.
func (b *tracedBackground) RunDue(ctx context.Context, e commit.Entry) (bool, error) {
	ctx, span := b.t.begin(ctx, "move")
	moved, err := b.next.RunDue(ctx, e)
	endWork(span, err)
	return moved, err
}

// Expire implements journal.Service.
func (b *tracedBackground) Expire(ctx context.Context, due commit.Reminder) (bool, error) {
	ctx, span := b.t.begin(ctx, "expire")
	done, err := b.next.Expire(ctx, due)
	endWork(span, err)
	return done, err
}

// Repair implements journal.Service.
func (b *tracedBackground) Repair(ctx context.Context, r commit.Repair) error {
	ctx, span := b.t.begin(ctx, "repair")
	err := b.next.Repair(ctx, r)
	endWork(span, err)
	return err
}

// Scrub implements journal.Service. Each step has a span. The last span that it begins, for a step that
// does not come, never ends, and so is not exported.
func (b *tracedBackground) Scrub(ctx context.Context, rest func(commit.ScrubStep) (context.Context, error)) error {
	traced, span := b.t.begin(ctx, "scrub")
	return b.next.Scrub(traced, func(step commit.ScrubStep) (context.Context, error) {
		endWork(span, step.Err)
		if _, err := rest(step); err != nil {
			return ctx, err
		}
		traced, span = b.t.begin(ctx, "scrub")
		return traced, nil
	})
}

// Journal remembers in which span a change begins, for the span of the background work that may
// finish it.
func (t *Tracing) Journal(next commit.Journal) commit.Journal {
	if t == nil {
		return next
	}
	return &tracedJournal{next, t}
}

type tracedJournal struct {
	commit.Journal
	t *Tracing
}

// Begin implements commit.Journal.
func (j *tracedJournal) Begin(ctx context.Context, e commit.Entry) error {
	if r, ok := recordedIn(ctx); ok {
		j.t.changes.Put(e.ID, r.SpanContext())
	}
	return j.Journal.Begin(ctx, e)
}
