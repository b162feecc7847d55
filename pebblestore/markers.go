package pebblestore

import (
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
		if err := f.syncDir(f.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return f.FS.Create(name, category)
}

func (f markersLast) syncDir(name string) error {
	dir, err := f.OpenDir(name)
	if err != nil {
		return err
	}
	if err := dir.Sync(); err != nil {
		_ = dir.Close()
		return err
	}
	return dir.Close()
}

// Unwrap gives the file system beneath.
func (f markersLast) Unwrap() vfs.FS { return f.FS }
