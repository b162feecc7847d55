package pebblestore

import (
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/pebblestore/files"
)

// Pauses of Pebble's background work after failures. Pebble itself repeats failed work at once.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 10 * time.Second
)

// openAfterFailure is how long opening a database may take after its background work has failed.
const openAfterFailure = 2 * time.Second

// logAgain is how long the same message about background work is not logged again.
const logAgain = time.Minute

// background paces the flushes and compactions of Pebble after failures, and limits what is logged
// about them.
type background struct {
	mu       sync.Mutex
	failures int // in a row
	next     time.Time
	logged   map[string]message
	// failed has the latest failure until somebody receives it.
	failed chan error
}

// message is what was logged of one kind.
type message struct {
	at      clock.Instant
	omitted int
}

func (b *background) init() {
	b.logged = make(map[string]message)
	b.failed = make(chan error, 1)
}

// fails records a failure. The next table is not written before a pause, which grows from failure
// to failure.
func (b *background) fails(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pause := min(shortestPause<<min(b.failures, 10), longestPause)
	b.failures++
	b.next = time.Now().Add(pause)
	select {
	case b.failed <- err:
	default:
	}
}

// succeeds ends the pauses.
func (b *background) succeeds() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.next = 0, time.Time{}
}

// failing reports whether the latest background work has failed.
func (b *background) failing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures > 0
}

// wait waits until the pause after a failure is over, or stop is closed.
func (b *background) wait(stop <-chan struct{}) {
	b.mu.Lock()
	pause := time.Until(b.next)
	b.mu.Unlock()
	if pause <= 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	}
}

// report logs a message about background work, unless it was logged within the last minute. The
// next line says how many were omitted.
func (s *Store) report(log func(msg string, args ...any), msg string, attrs ...any) {
	b, now := &s.background, s.now()
	b.mu.Lock()
	last, again := b.logged[msg]
	if again && now >= last.at && now < last.at.Add(logAgain) {
		b.logged[msg] = message{last.at, last.omitted + 1}
		b.mu.Unlock()
		return
	}
	b.logged[msg] = message{at: now}
	b.mu.Unlock()
	if last.omitted > 0 {
		attrs = append(attrs, slog.Int("omitted", last.omitted))
	}
	log(msg, attrs...)
}

// listener returns an event listener that paces background work and logs what an operator should
// know. Pebble calls it with its locks held.
func (s *Store) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			s.background.fails(err)
			s.report(s.log.Error, "store: background work failed", slog.String("cause", err.Error()))
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err == nil {
				s.background.succeeds()
			}
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			if i.Err == nil {
				s.background.succeeds()
			}
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			s.report(s.log.Error, "store: a file is damaged", slog.String("path", i.Path), slog.Any("cause", i.Details))
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			s.report(s.log.Warn, "store: writes wait for compaction", slog.String("cause", i.Reason))
		},
	}
}

// openPebble opens the database. Opening flushes what the log contains, and Pebble would try that
// for ever if it fails, such as on a full disk. So if opening does not end soon after a failure, the
// failure is returned. Pebble then still has the directory open: kept reports that nothing of it may
// be closed.
func (s *Store) openPebble(fs vfs.FS) (db *pebble.DB, kept bool, err error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	done := make(chan opened, 1)
	logs := &files.Logs{FS: fs, Failed: func(err error) { engineLog{s}.Fatalf("%v", err) }}
	go func() {
		db, err := pebble.Open(s.dir, s.engineOptions(logs))
		logs.Begin()
		done <- opened{db, err}
	}()
	var failure error
	select {
	case o := <-done:
		return o.db, false, o.err
	case failure = <-s.background.failed:
	}
	timer := time.NewTimer(openAfterFailure)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.db, false, o.err
	case <-timer.C:
	}
	go func() {
		if o := <-done; o.db != nil {
			closeQuietly(o.db)
		}
		closeQuietly(&s.watermark)
		closeQuietly(s.lock)
	}()
	return nil, true, failure
}

// flush flushes the memtables, so that the store opens without replaying the log. It gives up if
// background work fails, and does not begin on a disk that is almost full, where Pebble ends the process if
// it cannot create its next log: the log contains everything.
func (s *Store) flush() error {
	if s.background.failing() || s.Room() != nil {
		return nil
	}
	select {
	case <-s.background.failed: // an earlier failure that was overcome
	default:
	}
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
	case <-s.background.failed:
	}
	return nil
}

// paced returns the file system of the engine: it waits before it writes a table, and while no
// descriptor is free for a new file.
func (s *Store) paced(fs vfs.FS) vfs.FS {
	return files.Paced{FS: fs, Wait: func() { s.background.wait(s.stop) }, Stop: s.stop}
}
