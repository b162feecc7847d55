package interchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"carrel/core/fault"
	"carrel/exchange"
	"carrel/principal"
)

// Target stores lines, as Import of *exchange.Service does.
type Target interface {
	Import(ctx context.Context, l *exchange.Line) (principal.ImportResult, error)
}

// DefaultConcurrency is how many lines are stored concurrently, so that they share the fsyncs of
// the store.
const DefaultConcurrency = 64

// maxMalformed is how many malformed lines the check reports before it stops. A file with that many
// is probably of another kind.
const maxMalformed = 100

// Options are the options of Import.
type Options struct {
	// Continue continues after a bad line. Otherwise the first bad line ends the import.
	Continue bool
	// Concurrency is how many lines are stored concurrently. 0 means DefaultConcurrency.
	Concurrency int
	// Progress is called after each line with the progress, one call at a time.
	Progress func(Progress)
	// Fault is called for each bad line, one call at a time, in the order of lines.
	Fault func(*Fault)
}

// Progress is the progress of an import.
type Progress struct {
	// Checking reports the first pass over the file, which stores nothing.
	Checking bool
	Lines    int   // done in this pass
	Bytes    int64 // done in this pass
	Size     int64 // of the file, 0 if unknown
}

// Summary is the result of an import. Lines is the sum of the other numbers.
type Summary struct {
	Lines     int
	Created   int // stored
	Changed   int // objects to which members were added
	Unchanged int // stored before, as after an interrupted import
	Failed    int // bad lines, which stored nothing
}

// String returns the summary in one line.
func (s Summary) String() string {
	return fmt.Sprintf("%d lines: %d created, %d changed, %d there already, %d refused",
		s.Lines, s.Created, s.Changed, s.Unchanged, s.Failed)
}

// Fault is a line that was not stored, and why.
type Fault struct {
	Line int // from 1
	Err  error
}

// Error is "line N: reason".
func (f *Fault) Error() string {
	var one *fault.Error
	if errors.As(f.Err, &one) && len(one.Path) > 0 {
		return fmt.Sprintf("line %d: %s: %v", f.Line, strings.Join(one.Path, "."), f.Err)
	}
	return fmt.Sprintf("line %d: %v", f.Line, f.Err)
}

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Err }

// Import stores the lines of r. size is the size of r in bytes, which is only used for Progress.
//
// If r can be rewound (a file, not a pipe) and opts.Continue is not set, Import first checks the
// form of all lines, so that a malformed file changes nothing. The result is as if the lines were
// stored in the order of the file: lines of one type are stored concurrently, but none before the
// lines that it refers to.
//
// The first bad line ends the import: the lines before it are stored, lines in progress are
// finished, and no others are started. With opts.Continue only the bad line is skipped. An error of
// the store and the end of ctx always end the import. Import may be called again after any error:
// lines that are already stored are Unchanged. The error is nil only if no line was refused; the
// summary is always correct.
func Import(ctx context.Context, r io.Reader, size int64, into Target, opts Options) (Summary, error) {
	if opts.Concurrency <= 0 {
		opts.Concurrency = DefaultConcurrency
	}
	if opts.Progress == nil {
		opts.Progress = func(Progress) {}
	}
	if opts.Fault == nil {
		opts.Fault = func(*Fault) {}
	}
	if start, ok := rewindable(r); ok && !opts.Continue {
		if err := check(ctx, r, size, opts); err != nil {
			return Summary{}, err
		}
		if _, err := r.(io.Seeker).Seek(start, io.SeekStart); err != nil {
			return Summary{}, fmt.Errorf("rewind the file: %w", err)
		}
	}
	lines := newRun(into, size, opts)
	err := lines.all(ctx, newLines(r))
	if ctx.Err() == nil && err == nil && lines.ended == nil {
		// The whole file was read, so no more managers will follow.
		if missing := withoutManager(lines.managers.missing(), opts); lines.first == nil {
			return lines.sum, missing
		}
	}
	return lines.sum, importError(ctx, lines.sum, lines.first, lines.ended, err)
}

// withoutManager reports groups that were stored without a manager, and returns their error. A file
// that was checked before has none.
func withoutManager(broken []*Fault, opts Options) error {
	for _, f := range broken {
		opts.Fault(f)
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%d groups are stored without a manager; the first: %w", len(broken), broken[0])
}

// rewindable reports whether r can be read again, and from which offset. A pipe has a method Seek,
// too, but the method fails.
func rewindable(r io.Reader) (start int64, ok bool) {
	s, ok := r.(io.Seeker)
	if !ok {
		return 0, false
	}
	start, err := s.Seek(0, io.SeekCurrent)
	return start, err == nil
}

// check reads all lines without storing any, and reports every malformed one.
func check(ctx context.Context, r io.Reader, size int64, opts Options) error {
	file := newLines(r)
	malformed, count := 0, 0
	var first *Fault
	managers := newAwaitedManagers()
	refuse := func(fault *Fault) {
		if malformed++; first == nil {
			first = fault
		}
		opts.Fault(fault)
	}
	for malformed < maxMalformed {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted before anything was imported: %w", err)
		}
		line, err := file.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var l *exchange.Line
		if err == nil {
			l, err = Parse(line)
		} else if !errors.Is(err, errTooLong) {
			return fmt.Errorf("nothing was imported: %w", err)
		}
		if count++; err != nil {
			refuse(&Fault{Line: file.number, Err: err})
		} else {
			managers.see(l, file.number)
		}
		opts.Progress(Progress{Checking: true, Lines: count, Bytes: file.offset, Size: size})
	}
	if malformed == 0 {
		for _, fault := range managers.missing() {
			refuse(fault)
		}
	}
	switch {
	case malformed >= maxMalformed:
		return fmt.Errorf("nothing was imported: %d malformed lines, and the rest was not read; the first: %w", malformed, first)
	case malformed > 0:
		return fmt.Errorf("nothing was imported: %d malformed of %d lines; the first: %w", malformed, count, first)
	}
	return nil
}

// importError returns the error of the import, which says how to continue.
func importError(ctx context.Context, sum Summary, first, ended *Fault, err error) error {
	const again = "import the same file again to continue: lines that are stored already are skipped"
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %d lines; %s: %w", sum.Lines, again, ctx.Err())
	case err != nil:
		return fmt.Errorf("%w; %s", err, again)
	case ended != nil:
		return fmt.Errorf("%w; the import ended there; %s", ended, again)
	case first != nil:
		return fmt.Errorf("%d of %d lines were refused, the others are stored; the first: %w", sum.Failed, sum.Lines, first)
	}
	return nil
}

// isStoreError reports whether an error is one of the store and not of the line, so that every
// following line would fail, too.
func isStoreError(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Unavailable, fault.Internal:
		return !isMalformed(err)
	}
	return false
}
