package pebblestore

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/fault"
)

// Sizes of the engine. With 10^6 entries the process is to stay below 400 MB:
// 64 MiB of cache and at most three tables of 16 MiB in memory leave room.
const (
	cacheSize    = 64 << 20
	memTableSize = 16 << 20
	memTables    = 3
	// bloomBits a key make one in a hundred look-ups of a missing row read a
	// block in vain. Most member rows that a page asks for are missing.
	bloomBits = 10
	// indexSize is beyond the index of any table: an index of two levels would
	// cost a quarter of each look-up.
	indexSize = 1 << 20
	// compactFrom is the number of overlapping files in the youngest level from
	// which on they are merged: low, because every one costs each read, and
	// because dead rows go only when they are merged down.
	compactFrom = 2
)

// tableSizes are those of tables, by level below the youngest that is in use.
// Where the newest rows are they are small, so that it is cheap to merge the
// dead rows of one library away.
var tableSizes = [...]int64{1 << 20, 1 << 20, 4 << 20, 16 << 20, 32 << 20, 32 << 20, 32 << 20}

// engineOptions are Pebble's options.
func (s *Store) engineOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                          fs,
		Lock:                        s.lock,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		CacheSize:                   cacheSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       compactFrom,
		MaxManifestFileSize:         manifestMax,
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

// librariesApart keeps the rows of libraries in files of their own. Otherwise
// the few rows that a busy item leaves, its header and its entries, would make
// one file that spans everything between them, and merging it would rewrite
// all of that.
func librariesApart(begin []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	switch {
	case len(begin) == 0 || begin[0] < tableLibrary:
		return policy, []byte{tableLibrary}, nil
	case begin[0] == tableLibrary:
		return policy, []byte{tableLibrary + 1}, nil
	}
	return policy, nil, nil
}

// engineLog passes on what Pebble reports. What is fatal to it ends the store.
type engineLog struct{ s *Store }

// Infof drops what only a developer of Pebble wants to know.
func (l engineLog) Infof(string, ...any) {}

// Errorf logs.
func (l engineLog) Errorf(format string, args ...any) {
	l.s.log.Error("store", slog.String("cause", fmt.Sprintf(format, args...)))
}

// Fatalf breaks the store: Pebble calls it where it cannot go on without losing
// what it promised, which is a log or manifest that cannot be written.
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

// listener logs the events that an operator should know of.
func (s *Store) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			s.log.Error("store: work in the background failed", slog.String("cause", err.Error()))
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			s.log.Error("store: a file is damaged", slog.String("path", i.Path), slog.Any("cause", i.Details))
		},
		DiskSlow: func(i pebble.DiskSlowInfo) {
			s.log.Warn("store: the disk is slow", slog.String("path", i.Path), slog.Duration("took", i.Duration))
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			s.log.Warn("store: writes wait for compaction", slog.String("cause", i.Reason))
		},
	}
}
