package interchange

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"carrel/exchange"
)

// Source is the source of an export. *exchange.Service implements it.
type Source interface {
	Export(ctx context.Context, to exchange.Sink) error
}

// Export writes everything that the source exports to w, as lines that Import accepts in this
// order. If progress is not nil, it is called after each line with the number of lines and of bytes.
// Export returns the number of lines written.
func Export(ctx context.Context, from Source, w io.Writer, progress func(lines int, bytes int64)) (int, error) {
	return write(w, progress, func(to exchange.Sink) error { return from.Export(ctx, to) })
}

// write writes the lines that export passes to its sink.
func write(w io.Writer, progress func(lines int, bytes int64), export func(to exchange.Sink) error) (lines int, err error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	bytes := &counter{to: buffered}
	out := NewWriter(bytes)
	err = export(func(l *exchange.Line) error {
		if err := out.Write(l); err != nil {
			return err
		}
		if lines++; progress != nil {
			progress(lines, bytes.n)
		}
		return nil
	})
	if err != nil {
		return lines, err
	}
	if err := buffered.Flush(); err != nil {
		return lines, fmt.Errorf("write the lines: %w", err)
	}
	return lines, nil
}

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
