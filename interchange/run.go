package interchange

import (
	"context"
	"errors"
	"io"
	"sync"

	"carrel/exchange"
	"carrel/principal"
)

// run stores lines concurrently.
type run struct {
	into   Target
	opts   Options
	ledger *ledger
	slots  chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	running map[string]bool // ids of the running lines
	named   map[string]int  // ids that running lines name, with the number of these lines
}

func newRun(into Target, opts Options, l *ledger) *run {
	return &run{into: into, opts: opts, ledger: l, slots: make(chan struct{}, opts.Concurrency),
		running: map[string]bool{}, named: map[string]int{}}
}

// malformedError is the error of a line that Parse has refused.
type malformedError struct{ err error }

func (e *malformedError) Error() string { return e.err.Error() }
func (e *malformedError) Unwrap() error { return e.err }

func isMalformed(err error) bool {
	var e *malformedError
	return errors.As(err, &e)
}

// all starts the lines in order, and returns when all of them have ended. Its error is one of
// reading the file.
func (r *run) all(ctx context.Context, file *lines) error {
	defer r.wg.Wait()
	var last exchange.Type
	for seq := 0; ; seq++ {
		text, err := file.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return err
		}
		var line *exchange.Line
		if err == nil {
			line, err = Parse(text)
		}
		entry := outcome{parsed: line, line: file.number, offset: file.offset}
		if err != nil {
			entry.err = &malformedError{err}
			r.ledger.enter(seq, entry)
		} else {
			if line.Type != last && !(ofPage(line.Type) && ofPage(last)) || r.mustWait(line) {
				r.wg.Wait()
			}
			last = line.Type
		}
		if r.ledger.stopped() || ctx.Err() != nil {
			return nil
		}
		if err == nil {
			if !r.start(ctx, seq, line, entry) {
				return nil
			}
		}
	}
}

// mustWait reports whether a line must wait until no line is running: if it changes or names an
// object that a running line changes, or changes one that a running line names. Without the last
// rule, timing would decide whether the running line is refused.
func (r *run) mustWait(line *exchange.Line) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.running[line.ID()] || r.named[line.ID()] > 0
	names(line, func(id string) { wait = wait || r.running[id] })
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

// start starts the line as soon as there is a slot. It returns false if ctx ends or a line fails
// before that.
func (r *run) start(ctx context.Context, seq int, line *exchange.Line, entry outcome) bool {
	select {
	case <-ctx.Done():
		return false
	case r.slots <- struct{}{}:
	}
	if r.ledger.stopped() {
		<-r.slots
		return false
	}
	r.note(line, true)
	r.wg.Go(func() {
		entry.result, entry.err = r.into.Import(ctx, line)
		entry.interrupted = entry.err != nil && isStoreError(entry.err) && ctx.Err() != nil
		r.note(line, false)
		r.ledger.enter(seq, entry)
		<-r.slots
	})
	return true
}

// note updates the ids of running lines when a line begins or ends.
func (r *run) note(line *exchange.Line, begins bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if begins {
		r.running[line.ID()] = true
		names(line, func(id string) { r.named[id]++ })
		return
	}
	delete(r.running, line.ID())
	names(line, func(id string) {
		if r.named[id]--; r.named[id] == 0 {
			delete(r.named, id)
		}
	})
}

// outcome is the outcome of a line.
type outcome struct {
	parsed      *exchange.Line // nil if malformed
	line        int            // its number in the file
	offset      int64          // of its end
	result      principal.ImportResult
	err         error
	interrupted bool // by the end of ctx; the line was neither stored nor refused
}

// ledger counts outcomes in the order of the lines, although they arrive in any order. early has
// the outcomes that arrived before that of an earlier line. While one line is slow, the lines after
// it go on, so there may be many.
type ledger struct {
	size     int64
	opts     Options
	managers *awaitedManagers // of the stored lines

	mu    sync.Mutex
	next  int
	early map[int]outcome
	sum   Summary
	// first is the first bad line, ended the one that ended the import.
	first, ended *Fault
	stopping     bool
}

func newLedger(size int64, opts Options) *ledger {
	return &ledger{size: size, opts: opts, managers: newAwaitedManagers(), early: map[int]outcome{}}
}

// enter adds the outcome of the line with sequence number seq.
func (l *ledger) enter(seq int, o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Outcomes are counted in order, but no other line is started from now on.
	l.stopping = l.stopping || o.interrupted || o.err != nil && l.ends(o.err)
	l.early[seq] = o
	for {
		o, ok := l.early[l.next]
		if !ok {
			return
		}
		delete(l.early, l.next)
		l.next++
		l.count(o)
	}
}

// ends reports whether the error of a line ends the import.
func (l *ledger) ends(err error) bool { return !l.opts.Continue || isStoreError(err) }

func (l *ledger) count(o outcome) {
	if o.interrupted {
		return
	}
	l.sum.Lines++
	if o.err == nil {
		l.managers.see(o.parsed, o.line)
	}
	switch {
	case o.err != nil:
		l.sum.Failed++
		fault := &Fault{Line: o.line, Err: o.err}
		if l.first == nil {
			l.first = fault
		}
		if l.ended == nil && l.ends(o.err) {
			l.ended = fault
		}
		l.opts.Fault(fault)
	case o.result == principal.Created:
		l.sum.Created++
	case o.result == principal.Changed:
		l.sum.Changed++
	default:
		l.sum.Unchanged++
	}
	l.opts.Progress(Progress{Lines: l.sum.Lines, Bytes: o.offset, Size: l.size})
}

func (l *ledger) stopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopping
}

// close returns the summary, the first bad line, and the one that ended the import.
func (l *ledger) close() (sum Summary, first, ended *Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum, l.first, l.ended
}
