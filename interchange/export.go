package interchange

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// Source is the source of an export. *exchange.Service implements it.
type Source interface {
	Export(ctx context.Context, to exchange.Sink) error
}

// Export writes everything that the source exports to w, as lines that Import accepts in this
// order. If progress is not nil, it is called after each line with the number of lines and of bytes.
// Export returns the number of lines written.
func Export(ctx context.Context, from Source, w io.Writer, progress func(lines int, bytes int64)) (int, error) {
	if progress == nil {
		progress = func(int, int64) {}
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	s := &sink{bytes: counter{to: buffered}, progress: progress}
	s.out = NewWriter(&s.bytes)
	if err := from.Export(ctx, s); err != nil {
		return s.lines, err
	}
	if err := buffered.Flush(); err != nil {
		return s.lines, fmt.Errorf("write the lines: %w", err)
	}
	return s.lines, nil
}

// sink writes a line for each call.
type sink struct {
	out      *Writer
	lines    int
	bytes    counter
	progress func(lines int, bytes int64)
}

func (s *sink) write(l *Line) error {
	if err := s.out.Write(l); err != nil {
		return err
	}
	s.lines++
	s.progress(s.lines, s.bytes.n)
	return nil
}

// User implements exchange.Sink.
func (s *sink) User(u principal.ImportUser) error { return s.write(&Line{Type: TypeUser, User: &u}) }

// Group implements exchange.Sink.
func (s *sink) Group(g principal.ImportGroup) error {
	return s.write(&Line{Type: TypeGroup, Group: &g})
}

// Content implements exchange.Sink.
func (s *sink) Content(c library.ImportContent) error {
	return s.write(&Line{Type: TypeContent, Content: &c})
}

// Members implements exchange.Sink.
func (s *sink) Members(m library.ImportMembers) error {
	return s.write(&Line{Type: TypeMembers, Members: &m})
}

// Branch implements exchange.Sink.
func (s *sink) Branch(b exchange.ImportBranch) error {
	return s.write(&Line{Type: TypeBranch, Branch: &b})
}

// Revision implements exchange.Sink.
func (s *sink) Revision(v exchange.ImportRevision) error {
	return s.write(&Line{Type: TypeRevision, Revision: &v})
}

// Suggestion implements exchange.Sink.
func (s *sink) Suggestion(g exchange.ImportSuggestion) error {
	return s.write(&Line{Type: TypeSuggestion, Suggestion: &g})
}

// Draft implements exchange.Sink.
func (s *sink) Draft(d exchange.ImportDraft) error { return s.write(&Line{Type: TypeDraft, Draft: &d}) }

// counter counts the bytes that are written through it.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}
