package pebblestore

import (
	"errors"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markersLast is a file system on which a marker file, by which Pebble points
// at its manifest, is created only when the directory is durable as it is.
// Pebble syncs the directory once, behind the marker: where a file system does
// not keep the order of directory entries, a crash before that sync can leave
// the marker without the manifest, and a store that cannot be opened. It costs
// one sync when a store is opened. The crash suite shows the loss without it.
type markersLast struct{ vfs.FS }

// Create creates a file.
func (f markersLast) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := syncDir(f, f.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return f.FS.Create(name, category)
}

// Unwrap gives the file system beneath.
func (f markersLast) Unwrap() vfs.FS { return f.FS }

// syncDir makes the entries of a directory durable.
func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// makeDir makes a directory and those above it, durably: a store whose
// directory a crash takes is a lost store. Pebble does so only for a directory
// that it makes itself, and it is made here before Pebble, for its lock.
func makeDir(fs vfs.FS, name string) error {
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
	if err := fs.MkdirAll(name, 0o750); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncDir(fs, parent); err != nil {
			return err
		}
	}
	return nil
}
