package pebblestore

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/fault"
)

// defaultReserve is the free space below which the store does not grow: enough
// for every write that is already decided, the merging of files, and an
// operator's own work.
const defaultReserve = 256 << 20

// The free space is asked for again after so many bytes or so much time. Both
// are small against the reserve.
const (
	spaceEveryBytes = 4 << 20
	spaceEvery      = time.Second
)

// space watches the free space of the disk.
type space struct {
	fs      vfs.FS
	dir     string
	reserve uint64

	written atomic.Int64 // since the last look
	looked  atomic.Int64 // when, as an Instant
	free    atomic.Uint64
}

func (s *space) init(fs vfs.FS, dir string, reserve int64) {
	s.fs, s.dir = fs, dir
	switch {
	case reserve == 0:
		s.reserve = defaultReserve
	case reserve > 0:
		s.reserve = uint64(reserve)
	}
}

// wrote counts what is written.
func (s *space) wrote(bytes int) { s.written.Add(int64(bytes)) }

// room refuses, with code Unavailable, a write that grows the store when less
// than the reserve is free. A file system that cannot tell refuses none.
func (s *space) room(now clock.Instant) error {
	if s.reserve == 0 {
		return nil
	}
	age := now - clock.Instant(s.looked.Load())
	young := s.written.Load() < spaceEveryBytes && age >= 0 && age < clock.Instant(spaceEvery.Microseconds())
	if young && s.free.Load() >= s.reserve {
		return nil
	}
	// Nobody is refused by what was seen before, or by others: there may be room
	// since, and at first nothing was seen.
	if s.look(now) < s.reserve {
		return &fault.Error{Code: fault.Unavailable, RetryAfter: 60,
			Msg: "the disk of the store is almost full: nothing can be added or changed until there is room, deleting still works"}
	}
	return nil
}

// look asks the file system. Whoever comes meanwhile goes by the look before,
// where that found room. Of looks that overlap the older may be told last: what
// it has found goes for a second, and for no more bytes, like any other.
func (s *space) look(now clock.Instant) uint64 {
	s.written.Store(0)
	s.looked.Store(int64(now))
	free := s.reserve
	if usage, err := s.fs.GetDiskUsage(s.dir); err == nil {
		free = usage.AvailBytes
	}
	s.free.Store(free)
	return free
}
