package interchange

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line in bytes. The longest line of an export has a text of 512
// KiB in which each byte is escaped to six. Because of the limit, a file without line breaks does
// not fill the memory.
const MaxLine = 4 << 20

// errTooLong is the fault of a line that was skipped because of its length.
var errTooLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// byteOrderMark is written by some editors at the start of a UTF-8 file.
var byteOrderMark = []byte("\ufeff")

// lines splits a file into lines.
type lines struct {
	from   *bufio.Reader
	number int   // of the last line, from 1
	offset int64 // bytes read, including line breaks
	buf    []byte
}

func newLines(r io.Reader) *lines { return &lines{from: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line that is not blank. The line is valid until the next call. At the end
// the error is io.EOF. After errTooLong it continues with the following line.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if l.number == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// read returns the next line, without its line break. The last line needs none.
func (l *lines) read() ([]byte, error) {
	l.buf = l.buf[:0]
	tooLong, begun := false, false
	for {
		part, err := l.from.ReadSlice('\n')
		l.offset += int64(len(part))
		if len(part) > 0 && !begun {
			begun = true
			l.number++
		}
		if !tooLong && len(l.buf)+len(bytes.TrimSuffix(part, []byte("\n"))) > MaxLine {
			tooLong, l.buf = true, l.buf[:0]
		}
		if !tooLong {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && !begun:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read after line %d: %w", l.number-1, err)
		case tooLong:
			return nil, errTooLong
		}
		return bytes.TrimSuffix(l.buf, []byte("\n")), nil
	}
}
