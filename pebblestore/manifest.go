package pebblestore

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/fault"
)

// The manifest tells which tables and logs are the database. It is a list of
// records, each synced before the next is written. Pebble stops at the first
// that it cannot read, as if a crash had torn it, and then removes the tables
// that only later records name. So the list is read here first: a record that
// cannot be read, with one behind it that can, was not torn but is damaged.
// And behind a store that was closed in order, nothing at all may be missing.
// Only where the process died, damage to the very last record and a file that
// ends early cannot be told from what a crash leaves.

// manifestMax is the size at which Pebble begins a new manifest. It bounds what
// is read here.
const manifestMax = 4 << 20

// manifestBlock is the size of the blocks of the file; no record begins in one
// block and is whole in the next.
const manifestBlock = 32 << 10

// manifestHeader is the size of what stands before the bytes of a record: a
// checksum, a length of two bytes, and a type, of which 1 is a whole record.
const manifestHeader = 7

// currentManifest gives the name and the bytes of the manifest; no name where
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
	b, err = readFile(fs, fs.PathJoin(dir, parts[3]))
	return parts[3], b, err
}

func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// checkManifest reads the manifest to its end. closed is its size when the
// store was last closed in order, 0 if it was not.
func (s *Store) checkManifest(name string, b []byte, closed uint64) error {
	whole := wholeRecords(b)
	if uint64(whole) >= closed && !recordIn(b[whole:], whole) {
		return nil
	}
	return fault.Unavailablef(nil, "pebble:%s cannot be opened: the manifest (%s) is damaged at byte %d of %d; restore it from a copy, nothing was changed", s.dir, name, whole, len(b))
}

// wholeRecords is the size of the records at the front that can be read.
func wholeRecords(b []byte) int {
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

// recordIn tells whether a whole record begins anywhere behind the front of b,
// which stands at an offset of the file.
func recordIn(b []byte, offset int) bool {
	for at := 1; at+manifestHeader <= len(b); at++ {
		head := b[at : at+manifestHeader]
		length := int(head[4]) | int(head[5])<<8
		end := at + manifestHeader + length
		left := manifestBlock - (offset+at)%manifestBlock
		if head[6] != 1 || length == 0 || end > len(b) || end-at > left {
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
