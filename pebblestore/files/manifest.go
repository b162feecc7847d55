package files

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/fault"
)

// The manifest lists the tables and logs that make up the database. It is a sequence of records,
// each synced before the next is written. Pebble stops at the first record that it cannot read, as
// if a crash had interrupted its write, and then removes the tables that only later records name.
// So the manifest is read here first: an unreadable record that is followed by a readable one is
// damage, not the result of a crash. And if the store was closed cleanly, nothing may be missing.
// If the process died, damage to the last record and a truncated file cannot be detected.

// ManifestMax is the size at which Pebble starts a new manifest. It bounds what is read here.
const ManifestMax = 4 << 20

// manifestBlock is the size of the blocks of the file. A record of type 1 never crosses a block
// boundary.
const manifestBlock = 32 << 10

// manifestHeader is the size of the header of a record: a checksum, a length of two bytes, and a
// type, of which 1 is a whole record.
const manifestHeader = 7

// Holds reports whether a directory holds a database, which may be damaged. If not, other is one of the
// files beside which none may be created, or empty: Pebble would take files whose names look like its own
// for those of a former database, and delete them.
func Holds(fs vfs.FS, dir string) (database bool, other string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, "", err
	}
	for _, name := range names {
		if strings.HasPrefix(name, "marker.manifest.") {
			return true, "", nil
		}
		if !beforeManifest(name) {
			other = name
		}
	}
	return false, other, nil
}

// beforeManifest reports whether a file may be in a new directory: Pebble creates it before the marker of its
// first manifest, or it has nothing to do with a database.
func beforeManifest(name string) bool {
	return name == "LOCK" || name == WatermarkName || name == "lost+found" || strings.HasPrefix(name, ".") ||
		strings.HasPrefix(name, "MANIFEST-") || strings.HasPrefix(name, "marker.format-version.")
}

// currentManifest returns the name and the bytes of the current manifest. The name is empty if
// there is none.
func currentManifest(fs vfs.FS, dir string) (name string, b []byte, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return "", nil, err
	}
	last := ""
	for _, n := range names {
		// marker.manifest.<iteration, six digits or more>.<name>
		if strings.HasPrefix(n, "marker.manifest.") && (len(n) > len(last) || len(n) == len(last) && n > last) {
			last = n
		}
	}
	parts := strings.SplitN(last, ".", 4)
	if len(parts) != 4 {
		return "", nil, nil
	}
	b, err = ReadFile(fs, fs.PathJoin(dir, parts[3]))
	return parts[3], b, err
}

// ReadFile returns the content of a file.
func ReadFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// checkManifest reads the manifest to its end. closed is its size when the store was last closed
// cleanly, or 0 if it was not.
func checkManifest(dir, name string, b []byte, closed uint64) error {
	whole := WholeRecords(b)
	if uint64(whole) >= closed && !recordIn(b[whole:], whole) {
		return nil
	}
	return fault.Unavailablef(nil,
		"pebble:%s cannot be opened: the manifest (%s) is damaged at byte %d of %d; restore it from a copy, nothing was changed",
		dir, name, whole, len(b))
}

// WholeRecords returns the size of the leading records that can be read.
func WholeRecords(b []byte) int {
	r := record.NewReader(bytes.NewReader(b), 0)
	whole := 0
	for {
		next, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, next)
		}
		if err != nil {
			return whole
		}
		whole = int(r.Offset())
	}
}

// recordIn reports whether a whole record starts anywhere in b after its first byte. offset is where
// b starts in the file.
func recordIn(b []byte, offset int) bool {
	for at := 1; at+manifestHeader <= len(b); at++ {
		head := b[at : at+manifestHeader]
		length := int(head[4]) | int(head[5])<<8
		end := at + manifestHeader + length
		space := manifestBlock - (offset+at)%manifestBlock
		if head[6] != 1 || length == 0 || end > len(b) || end-at > space {
			continue
		}
		r := record.NewReader(bytes.NewReader(b[at:end]), 0)
		next, err := r.Next()
		if err != nil {
			continue
		}
		if n, err := io.Copy(io.Discard, next); err == nil && n == int64(length) {
			return true
		}
	}
	return false
}
