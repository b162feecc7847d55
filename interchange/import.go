package interchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"carrel/core/fault"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// Target is where lines go; *repair.Service is one. Each call takes effect
// whole or not at all, and answers Unchanged for what stands already as told.
type Target interface {
	ImportUser(ctx context.Context, in principal.ImportUser) (principal.ImportResult, error)
	ImportGroup(ctx context.Context, in principal.ImportGroup) (principal.ImportResult, error)
	ImportContent(ctx context.Context, in library.ImportContent) (principal.ImportResult, error)
	ImportMembers(ctx context.Context, in library.ImportMembers) (principal.ImportResult, error)
	ImportBranch(ctx context.Context, in library.ImportBranch) (principal.ImportResult, error)
	ImportRevision(ctx context.Context, in library.ImportRevision) (principal.ImportResult, error)
	ImportSuggestion(ctx context.Context, in library.ImportSuggestion) (principal.ImportResult, error)
	ImportDraft(ctx context.Context, in library.ImportDraft) (principal.ImportResult, error)
	ImportPaste(ctx context.Context, in paste.Import) (principal.ImportResult, error)
}

// DefaultConcurrency is how many lines are under way at once: enough that one
// fsync of the store serves many of them.
const DefaultConcurrency = 64

// maxMalformed is how many malformed lines the check names before it gives up:
// more than that, and the file is another kind of file.
const maxMalformed = 100

// Options say how to import.
type Options struct {
	// Continue goes on after a bad line; otherwise the first one is the last.
	Continue bool
	// Concurrency is how many lines are under way at once; 0: DefaultConcurrency.
	Concurrency int
	// Progress is told how far it has got, one call at a time, after each line.
	Progress func(Progress)
	// Fault is told of each bad line, one call at a time, in the order of lines.
	Fault func(*Fault)
}

// Progress is how far an import has got.
type Progress struct {
	// Checking is the pass over the file that stores nothing.
	Checking bool
	Lines    int   // done in this pass
	Bytes    int64 // done in this pass
	Size     int64 // of the file, 0 where it is not known
}

// Summary is what an import did. Lines is the sum of the others.
type Summary struct {
	Lines     int
	Created   int // stored
	Changed   int // members added to what stood
	Unchanged int // stood already as told, as after an import that was broken off
	Failed    int // bad lines, of which nothing was stored
}

// String tells it in one line.
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

// Unwrap is the reason.
func (f *Fault) Unwrap() error { return f.Err }

// Import stores the lines of r, whose size in bytes is told for Progress alone.
//
// Where r can be rewound (a file, not a pipe) and opts.Continue is not set, all
// lines are checked for their shape first, so that a malformed file changes
// nothing. Then lines take effect in the order of the file, as far as one could
// tell: those of one type run concurrently, but none before what it names.
//
// The first bad line ends the import, with the lines before it stored and
// nothing begun after those under way; with opts.Continue only that line is
// left out. A store that fails or ctx ends it in any case. It may be repeated
// after whatever happened: what is stored already is found Unchanged. The error
// is nil only if no line was refused; the summary is right in every case.
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
	l := newLedger(size, opts)
	err := newRun(into, opts, l).all(ctx, newLines(r))
	sum, first, ended := l.close()
	if ctx.Err() == nil && err == nil && ended == nil {
		// All of the file was read: what has not come will not come.
		if left := leftWithout(l.promises.broken(), opts); first == nil {
			return sum, left
		}
	}
	return sum, verdict(ctx, sum, first, ended, err)
}

// leftWithout is the verdict on groups that are stored without a manager: of a
// file that was checked before, there are none.
func leftWithout(broken []*Fault, opts Options) error {
	for _, f := range broken {
		opts.Fault(f)
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%d groups are stored without a manager; the first: %w", len(broken), broken[0])
}

// rewindable tells whether r can be read twice, and from where. A pipe has the
// method and refuses to use it.
func rewindable(r io.Reader) (start int64, ok bool) {
	s, ok := r.(io.Seeker)
	if !ok {
		return 0, false
	}
	start, err := s.Seek(0, io.SeekCurrent)
	return start, err == nil
}

// check reads all lines and stores none. It reports every malformed one.
func check(ctx context.Context, r io.Reader, size int64, opts Options) error {
	file := newLines(r)
	malformed, count := 0, 0
	var first *Fault
	told := newPromises()
	refuse := func(fault *Fault) {
		if malformed++; first == nil {
			first = fault
		}
		opts.Fault(fault)
	}
	for malformed < maxMalformed {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("broken off before anything was imported: %w", err)
		}
		line, err := file.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var l *Line
		if err == nil {
			l, err = Parse(line)
		} else if !errors.Is(err, errTooLong) {
			return fmt.Errorf("nothing was imported: %w", err)
		}
		if count++; err != nil {
			refuse(&Fault{Line: file.number, Err: err})
		} else {
			told.hear(l, file.number)
		}
		opts.Progress(Progress{Checking: true, Lines: count, Bytes: file.offset, Size: size})
	}
	if malformed == 0 {
		for _, fault := range told.broken() {
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

// verdict says how the import ended, and how to go on from there.
func verdict(ctx context.Context, sum Summary, first, ended *Fault, err error) error {
	const again = "import the same file again to go on: what is stored already is skipped"
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("broken off after %d lines; %s: %w", sum.Lines, again, ctx.Err())
	case err != nil:
		return fmt.Errorf("%w; %s", err, again)
	case ended != nil:
		return fmt.Errorf("%w; the import ended there; %s", ended, again)
	case first != nil:
		return fmt.Errorf("%d of %d lines were refused, the others are stored; the first: %w", sum.Failed, sum.Lines, first)
	}
	return nil
}

// stops tells whether an error says more about the store than about the line,
// so that going on would make a fault of every line that follows.
func stops(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Unavailable, fault.Internal:
		return !isShape(err)
	}
	return false
}
