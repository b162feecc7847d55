package files

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/fault"
)

// DefaultReserve is the free space below which the store does not grow. It is enough to finish
// every write that is already decided, to compact files, and for an operator's own work.
const DefaultReserve = 256 << 20

// The free space is measured again after this many bytes or this much time. Both are small compared
// to the reserve.
const (
	spaceEveryBytes = 4 << 20
	spaceEvery      = time.Second
)

// Space watches the free space of the disk.
type Space struct {
	fs      vfs.FS
	dir     string
	reserve uint64

	written atomic.Int64 // since the last measurement
	lastAt  atomic.Int64 // time of the last measurement, as an Instant
	free    atomic.Uint64
}

// Init sets the disk: the one that has dir. With a reserve of 0 the default applies; a negative one
// switches the check off.
func (s *Space) Init(fs vfs.FS, dir string, reserve int64) {
	s.fs, s.dir = fs, dir
	switch {
	case reserve == 0:
		s.reserve = DefaultReserve
	case reserve > 0:
		s.reserve = uint64(reserve)
	}
}

// Wrote counts written bytes.
func (s *Space) Wrote(bytes int) { s.written.Add(int64(bytes)) }

// CheckFree refuses, with code Unavailable, a write that grows the store when less than the reserve
// is free. If the file system cannot report its free space, nothing is refused.
func (s *Space) CheckFree(now clock.Instant) error {
	if s.reserve == 0 {
		return nil
	}
	age := now - clock.Instant(s.lastAt.Load())
	young := s.written.Load() < spaceEveryBytes && age >= 0 && age < clock.Instant(spaceEvery.Microseconds())
	if young && s.free.Load() >= s.reserve {
		return nil
	}
	// Measure before refusing: an earlier measurement may be out of date, and at first there is none.
	if s.measure(now) < s.reserve {
		return &fault.Error{Code: fault.Unavailable, RetryAfter: 60,
			Msg: "the disk of the store is almost full: nothing can be added or changed until space is freed; items can still be deleted"}
	}
	return nil
}

// measure measures the free space. Concurrent callers use the previous measurement if it found
// enough space. If measurements overlap, an older one may be stored last; like any other it is
// valid for a second and a limited number of bytes.
func (s *Space) measure(now clock.Instant) uint64 {
	s.written.Store(0)
	s.lastAt.Store(int64(now))
	free := s.reserve
	if usage, err := s.fs.GetDiskUsage(s.dir); err == nil {
		free = usage.AvailBytes
	}
	s.free.Store(free)
	return free
}
