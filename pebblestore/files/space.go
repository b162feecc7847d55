package files

import (
	"log/slog"
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
	log     *slog.Logger
	reserve uint64

	written atomic.Int64 // since the last measurement
	lastAt  atomic.Int64 // time of the last measurement, as an Instant
	free    atomic.Uint64
	full    atomic.Bool // less than the reserve was free when a write was last refused
}

// Init sets the disk: the one that has dir. With a reserve of 0 the default applies; a negative one
// switches the check off.
func (s *Space) Init(fs vfs.FS, dir string, reserve int64, log *slog.Logger) {
	s.fs, s.dir, s.log = fs, dir, log
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
	free := s.measure(now)
	if free >= s.reserve {
		if s.full.CompareAndSwap(true, false) {
			s.log.Info("the disk of the store has space again", slog.Uint64("free_bytes", free))
		}
		return nil
	}
	if s.full.CompareAndSwap(false, true) {
		s.log.Error("the disk of the store is almost full: only changes that free space or withdraw access are made",
			slog.String("store", s.dir), slog.Uint64("free_bytes", free), slog.Uint64("reserve_bytes", s.reserve))
	}
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonFull, RetryAfter: 60,
		Msg: "the disk of the store is almost full: until space is freed, only changes are made that free space or " +
			"withdraw access, such as deletions"}
}

// Free returns how many bytes are free now. It returns false if the file system cannot report it.
func (s *Space) Free() (bytes uint64, known bool) {
	usage, err := s.fs.GetDiskUsage(s.dir)
	return usage.AvailBytes, err == nil
}

// measure measures the free space. Concurrent callers use the previous measurement if it found
// enough space. If measurements overlap, an older one may be stored last; like any other it is
// valid for a second and a limited number of bytes.
func (s *Space) measure(now clock.Instant) uint64 {
	s.written.Store(0)
	s.lastAt.Store(int64(now))
	free, known := s.Free()
	if !known {
		free = s.reserve
	}
	s.free.Store(free)
	return free
}
