package pebblestore

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/fault"
	"carrel/heap"
	"carrel/pebblestore/files"
)

// Sizes of the engine. With 10^6 entries the process must stay below 400 MB: 64 MiB of cache and at
// most three memtables of 16 MiB fit into that.
const (
	cacheSize    = 64 << 20
	memTableSize = 16 << 20
	memTables    = 3
	// With bloomBits per key, one in a hundred look-ups of a missing row reads a block for nothing.
	// Most member rows that a page reads do not exist.
	bloomBits = 10
	// indexSize exceeds the index of any table, because a two-level index would make each look-up a
	// quarter slower.
	indexSize = 1 << 20
	// compactFrom is the number of overlapping files in the youngest level at which compaction
	// starts. It is low because every file slows each read, and because dead rows disappear only
	// when files are compacted.
	compactFrom = 2
)

// tableSizes are the sizes of tables per level. They are small for the youngest levels, so that
// compacting the dead rows of one library away is cheap.
var tableSizes = [...]int64{1 << 20, 1 << 20, 4 << 20, 16 << 20, 32 << 20, 32 << 20, 32 << 20}

// Pebble keeps as many tables open as the file descriptors of the process allow, without those for
// other files, but at least a few.
const (
	otherFiles   = 100
	fewestTables = 50
)

// engineOptions returns Pebble's options.
func (s *Store) engineOptions(fs vfs.FS) *pebble.Options {
	_, own := heap.Files()
	o := &pebble.Options{
		FS:                          fs,
		Lock:                        s.lock,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		CacheSize:                   cacheSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       compactFrom,
		MaxManifestFileSize:         files.ManifestMax,
		MaxOpenFiles:                max(fewestTables, own-otherFiles),
		Logger:                      engineLog{s},
		EventListener:               s.listener(),
	}
	for i := range o.Levels {
		o.TargetFileSizes[i] = tableSizes[i]
		o.Levels[i].IndexBlockSize = indexSize
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	o.Experimental.SpanPolicyFunc = librariesApart
	return o
}

// librariesApart keeps library rows in separate files. Otherwise the few rows that a busy item
// writes, its header and its entries, would make one file that spans everything between them, and
// compacting it would rewrite all of that.
func librariesApart(begin []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	switch {
	case len(begin) == 0 || begin[0] < tableLibrary:
		return policy, []byte{tableLibrary}, nil
	case begin[0] == tableLibrary:
		return policy, []byte{tableLibrary + 1}, nil
	}
	return policy, nil, nil
}

// engineLog logs what Pebble reports. A fatal error makes the store unusable.
type engineLog struct{ s *Store }

// Infof drops messages that only matter to developers of Pebble.
func (l engineLog) Infof(string, ...any) {}

// Errorf logs an error.
func (l engineLog) Errorf(format string, args ...any) {
	l.s.report(l.s.log.Error, "store", slog.String("cause", fmt.Sprintf(format, args...)))
}

// Fatalf marks the store as failed. Pebble calls it when it cannot write a log or manifest, and so
// cannot keep its durability promise.
func (l engineLog) Fatalf(format string, args ...any) {
	cause := fmt.Sprintf(format, args...)
	e := fault.Unavailablef(fmt.Errorf("%s", cause), "the store can no longer write")
	if !l.s.broken.CompareAndSwap(nil, e) {
		return
	}
	msg := fmt.Sprintf("pebble:%s can no longer be written, nothing acknowledged is lost: %s", l.s.dir, cause)
	l.s.log.Error(msg)
	l.s.fatal(msg)
}
