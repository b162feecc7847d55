package files

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"regexp"
	"strings"
	"syscall"

	"carrel/core/fault"
)

// Opaque returns an error with the text of err, an error of Pebble, but not its type. Types of
// Pebble must not leave the store, and callers could only log them.
func Opaque(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// LockFault explains why a directory could not be locked.
func LockFault(dir string, err error) error {
	if errors.Is(err, iofs.ErrPermission) && !strings.Contains(err.Error(), "temporarily") {
		return OpenFault(dir, err)
	}
	var path *iofs.PathError
	if errors.As(err, &path) {
		return OpenFault(dir, err)
	}
	return fault.Unavailablef(Opaque(err), "pebble:%s is in use by another process, which must end first", dir)
}

// OpenFault explains why a store could not be opened. The message is for the operator who
// configured dir.
func OpenFault(dir string, err error) error {
	var e *fault.Error
	if errors.As(err, &e) {
		return err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Unavailablef(Opaque(err), "pebble:%s cannot be opened: its disk is full; free some space and start again", dir)
	case damaged(err):
		return fault.Unavailablef(Opaque(err), "pebble:%s cannot be opened: %s is damaged; restore it from a copy, nothing was changed",
			dir, Kind(err))
	}
	return fault.Unavailablef(Opaque(err), "pebble:%s cannot be opened", dir)
}

// damaged reports whether opening failed because of a file's contents rather than the file system.
func damaged(err error) bool {
	var path *iofs.PathError
	if errors.As(err, &path) {
		return errors.Is(err, iofs.ErrNotExist) && path.Op != "mkdir"
	}
	return true
}

// fileName matches the name of a Pebble file in the text of an error.
var fileName = regexp.MustCompile(`\b(\d{6,}\.(sst|log|blob)|MANIFEST-\d+|OPTIONS-\d+|marker\.[a-z-]+\.[0-9A-Za-z.-]+)`)

// Kind returns the kind of file that a Pebble error is about, and the file's name if the error
// contains it.
func Kind(err error) string {
	text := err.Error()
	name := fileName.FindString(text)
	kind := "a file"
	switch {
	case strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".blob"), strings.Contains(text, "table"),
		strings.Contains(text, ": block "):
		kind = "a table file"
	case strings.HasSuffix(name, ".log"), strings.Contains(text, "WAL"), strings.Contains(text, "log file"):
		kind = "the write-ahead log"
	case strings.HasPrefix(name, "MANIFEST"), strings.Contains(strings.ToLower(text), "manifest"):
		kind = "the manifest"
	case strings.HasPrefix(name, "OPTIONS"), strings.Contains(text, "key=value"), strings.Contains(text, "name from file"):
		kind = "the options file"
	case strings.HasPrefix(name, "marker"), strings.Contains(text, "marker"):
		kind = "a marker file"
	}
	if name == "" {
		return kind
	}
	return fmt.Sprintf("%s (%s)", kind, name)
}
