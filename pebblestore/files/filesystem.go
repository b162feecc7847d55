package files

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// MarkersLast is a file system that syncs the directory before it creates a marker file. Pebble
// uses a marker to point to its manifest, and syncs the directory only after it has created the
// marker: on a file system that does not keep the order of directory entries, a crash before that
// sync can leave the marker without the manifest, and a store that cannot be opened. It costs one
// sync per open. The crash tests fail without it.
type MarkersLast struct{ vfs.FS }

// Create creates a file.
func (f MarkersLast) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := syncDir(f, f.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return f.FS.Create(name, category)
}

// Unwrap returns the wrapped file system.
func (f MarkersLast) Unwrap() vfs.FS { return f.FS }

// While a process has no free descriptor, a file is not created. Pebble cannot continue without a
// new log, so its creation is repeated for a time in which requests end and free descriptors.
const (
	descriptorPause = 100 * time.Millisecond
	descriptorTries = 100
)

// Paced is a file system for the background work of Pebble.
type Paced struct {
	vfs.FS
	// Wait is called before a table is created. Pebble creates tables only in the background.
	Wait func()
	// Stop ends all waiting when it is closed.
	Stop <-chan struct{}
}

// Create creates a file.
func (f Paced) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		f.Wait()
	}
	return f.whenFree(func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// ReuseForWrite renames and opens a file.
func (f Paced) ReuseForWrite(former, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.whenFree(func() (vfs.File, error) { return f.FS.ReuseForWrite(former, name, category) })
}

// Unwrap returns the wrapped file system.
func (f Paced) Unwrap() vfs.FS { return f.FS }

// whenFree repeats create while no descriptor is free.
func (f Paced) whenFree(create func() (vfs.File, error)) (vfs.File, error) {
	for try := 1; ; try++ {
		file, err := create()
		if try == descriptorTries || !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return file, err
		}
		timer := time.NewTimer(descriptorPause)
		select {
		case <-timer.C:
		case <-f.Stop:
			timer.Stop()
			return file, err
		}
	}
}

// syncDir makes the entries of a directory durable.
func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// MakeDir durably creates a directory and its parents, so that a crash cannot remove the directory
// of a store. Pebble does this only for a directory that it creates itself, but this one must exist
// before, for the lock file.
func MakeDir(fs vfs.FS, name string) error {
	var parents []string
	for at := name; ; at = fs.PathDir(at) {
		_, err := fs.Stat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		parents = append(parents, fs.PathDir(at))
		if fs.PathDir(at) == at {
			break
		}
	}
	if len(parents) == 0 {
		return nil
	}
	if err := fs.MkdirAll(name, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncDir(fs, parent); err != nil {
			return err
		}
	}
	return nil
}
