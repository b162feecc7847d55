package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/fault"
)

// watermarkFileName is the name of a small file next to Pebble's.
const watermarkFileName = "TIDE"

// watermarkFile records up to which of Pebble's sequence numbers writes have been acknowledged,
// outside of Pebble's files. Pebble takes a damaged end of its log for one that a crash has torn,
// and opens without the rest; nothing in its files shows that the rest had been acknowledged. The
// watermark does: a store that does not reach it has lost data and is not opened, so that nothing
// gets worse.
//
// The file is written after each acknowledged write and not synced. So it survives a crash of the
// process, and after a power loss it is at worst too low.
type watermarkFile struct {
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

// readWatermarkFile reads the watermark of a store. It returns zero if there is none or it cannot
// be read.
func readWatermarkFile(fs vfs.FS, dir string) watermark {
	row, err := readFile(fs, fs.PathJoin(dir, watermarkFileName))
	if err != nil || len(row) != len(watermark{}.row()) {
		return watermark{}
	}
	m := watermark{binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])}
	if !bytes.Equal(row, m.row()) {
		return watermark{}
	}
	return m
}

// checkWhole looks for damage that Pebble would take for the effect of a crash. It changes no file.
func (s *Store) checkWhole(fs vfs.FS) error {
	name, manifest, err := currentManifest(fs, s.dir)
	if err != nil {
		return openFault(s.dir, err)
	}
	mark := readWatermarkFile(fs, s.dir)
	if name != "" {
		if err := s.checkManifest(name, manifest, mark.manifest); err != nil {
			return err
		}
	}
	if mark.reached == 0 {
		return nil
	}
	there, err := s.lastSequence(fs)
	if err != nil {
		return openFault(s.dir, err)
	}
	if there < mark.reached {
		return fault.Unavailablef(nil, "pebble:%s cannot be opened: the write-ahead log is damaged, and writes that were acknowledged are missing (%d of %d are there); restore it from a copy, nothing was changed", s.dir, there, mark.reached)
	}
	s.watermarkFile.mark.reached = mark.reached
	return nil
}

// lastSequence opens the database read-only and returns its last sequence number.
func (s *Store) lastSequence(fs vfs.FS) (uint64, error) {
	o := s.engineOptions(fs)
	o.ReadOnly = true
	db, err := pebble.Open(s.dir, o)
	if err != nil {
		return 0, err
	}
	snapshot := db.NewSnapshot()
	there := uint64(db.Metrics().Snapshots.EarliestSeqNum)
	return there, errors.Join(snapshot.Close(), db.Close())
}

// openWatermarkFile opens the file for writing and marks the store as in use.
func (s *Store) openWatermarkFile(fs vfs.FS) error {
	f, err := fs.OpenReadWrite(fs.PathJoin(s.dir, watermarkFileName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return openFault(s.dir, err)
	}
	s.watermarkFile.file = f
	_, err = f.WriteAt(s.watermarkFile.mark.row(), 0)
	if err == nil {
		// The recorded state of a closed store must not outlive its manifest.
		err = f.Sync()
	}
	if err != nil {
		return openFault(s.dir, err)
	}
	return nil
}

// acknowledge raises the watermark after a durable write. It never fails that write: without the
// file, damage may go undetected, but nothing else is affected.
func (s *Store) acknowledge(b *pebble.Batch) {
	reached := uint64(b.SeqNum()) + uint64(b.Count())
	s.watermarkFile.mu.Lock()
	defer s.watermarkFile.mu.Unlock()
	if reached <= s.watermarkFile.mark.reached || s.watermarkFile.failed {
		return
	}
	s.watermarkFile.mark.reached = reached
	if _, err := s.watermarkFile.file.WriteAt(s.watermarkFile.mark.row(), 0); err != nil {
		s.watermarkFile.failed = true
		s.log.Error("store: cannot write the watermark; damage may go undetected", slog.String("cause", err.Error()))
	}
}

// closeWatermarkFile writes the final state of a closed store and closes the file.
func (s *Store) closeWatermarkFile() error {
	_, manifest, err := currentManifest(s.space.fs, s.dir)
	if err == nil {
		s.watermarkFile.mark.manifest = uint64(len(manifest))
		_, err = s.watermarkFile.file.WriteAt(s.watermarkFile.mark.row(), 0)
	}
	return errors.Join(err, s.watermarkFile.file.Sync(), s.watermarkFile.file.Close())
}
