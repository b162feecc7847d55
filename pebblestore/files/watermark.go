package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WatermarkName is the name of a small file next to Pebble's.
const WatermarkName = "TIDE"

// Watermark records, in a file that is not one of Pebble's, up to which of Pebble's sequence
// numbers writes have been acknowledged. Pebble treats a damaged end of its log like one that a
// crash has cut off, and opens without the rest; nothing in its files shows that the rest had been
// acknowledged. The watermark does: a store that does not reach it has lost data and is not opened,
// so that no more is lost.
//
// The file is written after each synced write, before that is acknowledged, and is not synced
// itself. So it survives a crash of the process, and after a power loss it is at worst too low.
type Watermark struct {
	fs     vfs.FS
	dir    string
	mu     sync.Mutex
	file   vfs.File
	mark   watermark
	failed bool
}

// watermark is the content of the file.
type watermark struct {
	reached uint64
	// manifest is the size of the manifest if the store was closed cleanly, and 0 while it is in
	// use.
	manifest uint64
}

// row returns the content of the file with its checksum.
func (m watermark) row() []byte {
	b := binary.LittleEndian.AppendUint64(nil, m.reached)
	b = binary.LittleEndian.AppendUint64(b, m.manifest)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// readWatermark reads the watermark of a store. It returns zero if there is none or it cannot be
// read.
func readWatermark(fs vfs.FS, dir string) watermark {
	row, err := ReadFile(fs, fs.PathJoin(dir, WatermarkName))
	if err != nil || len(row) != len(watermark{}.row()) {
		return watermark{}
	}
	m := watermark{binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])}
	if !bytes.Equal(row, m.row()) {
		return watermark{}
	}
	return m
}

// Check looks for damage of the manifest that Pebble would take for the effect of a crash. It changes
// no file. It returns the sequence number that the store must reach; 0: any.
func (w *Watermark) Check(fs vfs.FS, dir string) (reached uint64, err error) {
	name, manifest, err := currentManifest(fs, dir)
	if err != nil {
		return 0, OpenFault(dir, err)
	}
	mark := readWatermark(fs, dir)
	if name != "" {
		if err := checkManifest(dir, name, manifest, mark.manifest); err != nil {
			return 0, err
		}
	}
	w.fs, w.dir, w.mark.reached = fs, dir, mark.reached
	return mark.reached, nil
}

// Open opens the file for writing and marks the store as in use. Check must have been called.
func (w *Watermark) Open() error {
	f, err := w.fs.OpenReadWrite(w.fs.PathJoin(w.dir, WatermarkName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return OpenFault(w.dir, err)
	}
	w.file = f
	_, err = f.WriteAt(w.mark.row(), 0)
	if err == nil {
		// The recorded state of a closed store must not outlive its manifest.
		err = f.Sync()
	}
	if err != nil {
		return OpenFault(w.dir, err)
	}
	return nil
}

// Raise raises the watermark after a durable write. After an error, which it returns once, the file
// stays as it is: damage may then go undetected, but nothing else is affected.
func (w *Watermark) Raise(reached uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if reached <= w.mark.reached || w.failed {
		return nil
	}
	w.mark.reached = reached
	_, err := w.file.WriteAt(w.mark.row(), 0)
	w.failed = err != nil
	return err
}

// Close closes the file of a store that could not be opened.
func (w *Watermark) Close() error { return w.file.Close() }

// CloseCleanly writes the final state of a closed store and closes the file.
func (w *Watermark) CloseCleanly() error {
	_, manifest, err := currentManifest(w.fs, w.dir)
	if err == nil {
		w.mark.manifest = uint64(len(manifest))
		_, err = w.file.WriteAt(w.mark.row(), 0)
	}
	return errors.Join(err, w.file.Sync(), w.file.Close())
}
