package interchange

import (
	"context"
	"errors"
	"io"
	"sync"

	"carrel/exchange"
	"carrel/principal"
)

// run stores the lines of a file in batches. The lines of a batch are stored concurrently, and their
// outcomes are counted in the order of the lines.
type run struct {
	into     Target
	size     int64
	opts     Options
	managers *awaitedManagers // of the stored lines

	batch []outcome
	// changed and named are the ids that the lines of the batch change, and those that they name.
	changed, named map[string]bool

	sum Summary
	// first is the first bad line, ended the one that ended the import.
	first, ended *Fault
}

func newRun(into Target, size int64, opts Options) *run {
	return &run{into: into, size: size, opts: opts, managers: newAwaitedManagers(), changed: map[string]bool{}, named: map[string]bool{}}
}

// outcome is a line and what became of it.
type outcome struct {
	parsed *exchange.Line // nil if malformed
	line   int            // its number in the file
	offset int64          // of its end
	result principal.ImportResult
	err    error
}

// malformedError is the error of a line that Parse has refused.
type malformedError struct{ err error }

func (e *malformedError) Error() string { return e.err.Error() }
func (e *malformedError) Unwrap() error { return e.err }

func isMalformed(err error) bool {
	var e *malformedError
	return errors.As(err, &e)
}

// all stores the lines of a file in their order. Its error is one of reading the file.
func (r *run) all(ctx context.Context, file *lines) error {
	for !r.stopped(ctx) {
		text, err := file.next()
		if err != nil && !errors.Is(err, errTooLong) {
			r.store(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		o := outcome{line: file.number, offset: file.offset}
		if err == nil {
			o.parsed, err = Parse(text)
		}
		if err != nil || r.mustWait(o.parsed) {
			if r.store(ctx); r.stopped(ctx) {
				return nil
			}
		}
		if err != nil {
			o.err = &malformedError{err}
			r.count(o)
			continue
		}
		r.batch = append(r.batch, o)
		r.changed[o.parsed.ID()] = true
		names(o.parsed, func(id string) { r.named[id] = true })
	}
	return nil
}

// stopped reports whether no more lines are to be stored.
func (r *run) stopped(ctx context.Context) bool { return r.ended != nil || ctx.Err() != nil }

// mustWait reports whether the batch is to be stored before a line joins it: if the batch is full or of
// another type, or if the line changes or names an object that a line of the batch changes, or changes
// one that a line of the batch names. Without the last rule, timing would decide whether that line is
// refused.
func (r *run) mustWait(line *exchange.Line) bool {
	if len(r.batch) == 0 {
		return false
	}
	of := r.batch[0].parsed.Type
	wait := len(r.batch) == r.opts.Concurrency || line.Type != of && !(ofPage(line.Type) && ofPage(of)) ||
		r.changed[line.ID()] || r.named[line.ID()]
	names(line, func(id string) { wait = wait || r.changed[id] })
	return wait
}

// ofPage reports whether lines of a type are about texts of items. Lines of these types do not depend
// on each other if their items differ.
func ofPage(t exchange.Type) bool {
	return t == exchange.TypeBranch || t == exchange.TypeRevision || t == exchange.TypeSuggestion
}

// names calls visit for what must be stored before the line: the principals that it names, the item
// or group of a line of members, and the item of a draft. It leaves out the author of a paste and
// who decided on a suggestion, because lines of users have ended before lines of those types begin.
func names(l *exchange.Line, visit func(id string)) {
	switch l.Type {
	case exchange.TypeGroup:
		for _, m := range l.Group.Members {
			visit(m.Principal)
		}
	case exchange.TypeContent:
		if l.Content.CreatedBy != nil {
			visit(*l.Content.CreatedBy)
		}
		for _, m := range l.Content.Members {
			visit(m.Principal)
		}
	case exchange.TypeMembers:
		visit(l.Members.ID)
		for _, m := range l.Members.Group {
			visit(m.Principal)
		}
		for _, m := range l.Members.Content {
			visit(m.Principal)
		}
	case exchange.TypeBranch:
		visit(l.Branch.CreatedBy)
	case exchange.TypeRevision:
		visit(l.Revision.Author)
	case exchange.TypeSuggestion:
		visit(l.Suggestion.Author)
	case exchange.TypeDraft:
		visit(l.Draft.Content)
	}
}

// store stores the lines of the batch, and empties it. A line that the end of ctx has interrupted was
// neither stored nor refused, and is not counted.
func (r *run) store(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range r.batch {
		o := &r.batch[i]
		wg.Go(func() { o.result, o.err = r.into.Import(ctx, o.parsed) })
	}
	wg.Wait()
	for _, o := range r.batch {
		if o.err == nil || !isStoreError(o.err) || ctx.Err() == nil {
			r.count(o)
		}
	}
	r.batch = r.batch[:0]
	clear(r.changed)
	clear(r.named)
}

// count counts the outcome of a line.
func (r *run) count(o outcome) {
	r.sum.Lines++
	switch {
	case o.err != nil:
		r.sum.Failed++
		fault := &Fault{Line: o.line, Err: o.err}
		if r.first == nil {
			r.first = fault
		}
		if r.ended == nil && (!r.opts.Continue || isStoreError(o.err)) {
			r.ended = fault
		}
		r.opts.Fault(fault)
	case o.result == principal.Created:
		r.sum.Created++
	case o.result == principal.Changed:
		r.sum.Changed++
	default:
		r.sum.Unchanged++
	}
	if o.err == nil {
		r.managers.see(o.parsed, o.line)
	}
	r.opts.Progress(Progress{Lines: r.sum.Lines, Bytes: o.offset, Size: r.size})
}
