package interchange

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestLines_AreNumberedAndLimited(t *testing.T) {
	full := strings.Repeat("x", MaxLine)
	type got struct {
		Number int
		Offset int64
		Text   string
		Err    error
	}
	for _, tc := range []struct {
		name, file string
		want       []got
	}{
		{"empty file", "", nil},
		{"last line without a break", "a\nbc", []got{{1, 2, "a", nil}, {2, 4, "bc", nil}}},
		{"blank lines count", "\n  \r\na\n\n\nb\n", []got{{3, 7, "a", nil}, {6, 11, "b", nil}}},
		{"byte order mark", "\ufeffa\n\ufeffb\n", []got{{1, 5, "a", nil}, {2, 10, "\ufeffb", nil}}},
		{"longest line", full + "\nb", []got{{1, MaxLine + 1, full, nil}, {2, MaxLine + 2, "b", nil}}},
		{"too long a line is skipped", "a\n" + full + "x\nb\n",
			[]got{{1, 2, "a", nil}, {2, MaxLine + 4, "", errTooLong}, {3, MaxLine + 6, "b", nil}}},
		{"too long at the end", full + "xyz", []got{{1, MaxLine + 3, "", errTooLong}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := newLines(strings.NewReader(tc.file))
			var all []got
			for {
				text, err := file.next()
				if errors.Is(err, io.EOF) {
					break
				}
				all = append(all, got{file.number, file.offset, string(text), err})
			}
			same := cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })
			if diff := cmp.Diff(tc.want, all, same); diff != "" {
				t.Errorf("%.2000s", diff)
			}
		})
	}
}

func TestLines_ReportWhereReadingFailed(t *testing.T) {
	disk := errors.New("disk on fire")
	file := newLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(disk)))
	if text, err := file.next(); err != nil || string(text) != "a" {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := file.next(); !errors.Is(err, disk) || err.Error() != "read after line 1: disk on fire" {
		t.Errorf("%v", err)
	}
}
