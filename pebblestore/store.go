package pebblestore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/naming"
	"carrel/domain"
	"carrel/pebblestore/files"
)

// storeFormat is the format of this code's stores, in the row of tableFormat. A change that other
// code cannot read, or whose rows it would not maintain, changes it.
const storeFormat = "carrel 2"

// formatWithoutTitles is the format of stores from before there was an order of titles. They need no other change than the
// rebuild of each library when it is first read in that order.
const formatWithoutTitles = "carrel 1"

// applyIndexBatch is the maximal number of rows that one ApplyIndex writes. With names of ordinary
// length that is about 200 KiB of log.
const applyIndexBatch = 500

// Options configures a Store. With the zero value the store is on the machine's own file system.
type Options struct {
	// FS is the file system of the store. If nil, it is the machine's.
	FS vfs.FS
	// Log receives messages for operators. If nil, nothing is logged.
	Log *slog.Logger
	// FreeReserve is the free disk space, in bytes, below which writes that grow the store are
	// refused. If 0, it is 256 MiB. If negative, no write is refused.
	FreeReserve int64
	// Now is the clock for the expiry of request rows. If nil, it is the machine's.
	Now func() clock.Instant
	// Observe, if set, is called when a call of the store has ended.
	Observe func(context.Context, Call)
	// Fatal is called once if the write-ahead log can no longer be written. Nothing acknowledged is
	// lost, but nothing more can be written, so the process should exit. If Fatal returns, all
	// later calls return Unavailable. If it is nil, the store panics with the message.
	Fatal func(msg string)
}

// Store is a domain.Store on Pebble, with the reservation of generated names. It is safe for
// concurrent use.
type Store struct {
	domain.Store
	dir   string
	db    *pebble.DB
	lock  *pebble.Lock
	log   *slog.Logger
	now   func() clock.Instant
	fatal func(msg string)
	// observe is Options.Observe; it may be nil.
	observe func(context.Context, Call)

	locks         locks
	space         files.Space
	background    background
	dead          dead
	expiry        expiry
	changes       changes
	watermark     files.Watermark
	inFlightLists listStamps
	views         sync.Pool // of *view

	broken atomic.Pointer[fault.Error]

	// life is read-locked by every call and write-locked by Close.
	life   sync.RWMutex
	closed bool
	stop   chan struct{}
	tasks  sync.WaitGroup
}

var _ naming.BlockStore = (*Store)(nil)

// Exists reports whether dir holds a store, or other files that Open refuses. If it cannot be read, Open says
// why.
func Exists(dir string) bool {
	database, other, err := files.Holds(vfs.Default, dir)
	return database || other != "" || err != nil && !errors.Is(err, os.ErrNotExist)
}

// Open opens the store in dir, and creates it if dir is missing or empty. It fails with code Unavailable
// and a message for an operator if another process has dir open, a file is damaged or missing, the
// store has another format, or dir holds something else. It then has changed nothing.
func Open(dir string, opts Options) (*Store, error) {
	s := newStore(dir, opts)
	fs := opts.FS
	if fs == nil {
		fs = vfs.Default
	}
	fs = s.paced(files.MarkersLast{FS: fs})
	if err := files.MakeDir(fs, dir); err != nil {
		return nil, files.OpenFault(dir, err)
	}
	switch database, other, err := files.Holds(fs, dir); {
	case err != nil:
		return nil, files.OpenFault(dir, err)
	case !database && other != "":
		return nil, fault.Unavailablef(nil, "pebble:%s cannot be opened: it has files, such as %s, but no whole store; "+
			"use another directory, or restore the store from a copy; nothing was changed", dir, other)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, files.LockFault(dir, err)
	}
	s.lock = lock
	s.space.Init(fs, dir, opts.FreeReserve, s.log)
	if kept, err := s.openDB(fs); err != nil {
		if !kept {
			closeQuietly(lock)
		}
		return nil, err
	}
	s.tasks.Add(1)
	go s.flushDead()
	return s, nil
}

func newStore(dir string, opts Options) *Store {
	s := &Store{dir: dir, log: opts.Log, now: opts.Now, fatal: opts.Fatal, observe: opts.Observe, stop: make(chan struct{})}
	s.Store = domain.Store{
		Journal: journalStore{s}, Registers: registers{s}, Claims: claims{s}, Principals: principals{s}, Directory: directory{s},
		Contents: contents{s}, Libraries: libraries{s}, Texts: texts{s}, Pastes: pastes{s}, Feeds: feeds{s}, Leases: leases{s},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = func() clock.Instant { return clock.Of(time.Now()) }
	}
	if s.fatal == nil {
		s.fatal = func(msg string) { panic(msg) }
	}
	s.dead.init()
	s.background.init()
	s.inFlightLists.last = make(map[commit.ListID]int64)
	s.views.New = func() any { return new(view) }
	return s
}

// openDB opens the database. kept is as for openPebble.
func (s *Store) openDB(fs vfs.FS) (kept bool, err error) {
	if err := s.check(fs); err != nil {
		return false, err
	}
	// The watermark file must record that the store is in use before the next step, which writes a
	// new manifest that does not match the size recorded by the last Close.
	if err := s.watermark.Open(); err != nil {
		return false, err
	}
	db, kept, err := s.openPebble(fs)
	if err != nil {
		if !kept {
			closeQuietly(&s.watermark)
		}
		return kept, files.OpenFault(s.dir, err)
	}
	s.db = db
	if err := s.setFormat(); err != nil {
		closeQuietly(db)
		closeQuietly(&s.watermark)
		return false, files.OpenFault(s.dir, err)
	}
	return false, nil
}

// setFormat writes the format into a new store, and into one that needs no other change.
func (s *Store) setFormat() error {
	value, _, err := s.get([]byte{tableFormat})
	if err != nil || string(value) == storeFormat {
		return err
	}
	if err := s.db.Set([]byte{tableFormat}, []byte(storeFormat), pebble.Sync); err != nil {
		return err
	}
	return s.failure()
}

// check refuses a database of another format, and one with damage that Pebble would take for the effect of a
// crash. It changes no file.
func (s *Store) check(fs vfs.FS) error {
	reached, err := s.watermark.Check(fs, s.dir)
	if err != nil {
		return err
	}
	o := s.engineOptions(fs)
	o.ReadOnly = true
	db, err := pebble.Open(s.dir, o)
	if errors.Is(err, pebble.ErrDBDoesNotExist) && reached == 0 {
		return nil // it is new
	}
	if err != nil {
		return files.OpenFault(s.dir, err)
	}
	snapshot := db.NewSnapshot()
	there := uint64(db.Metrics().Snapshots.EarliestSeqNum)
	err = errors.Join(s.checkFormat(db), snapshot.Close(), db.Close())
	if err != nil {
		return files.OpenFault(s.dir, err)
	}
	if there < reached {
		return fault.Unavailablef(nil,
			"pebble:%s cannot be opened: the write-ahead log is damaged, and writes that were acknowledged are missing (%d "+
				"of %d are there); restore it from a copy, nothing was changed", s.dir, there, reached)
	}
	return nil
}

// closeQuietly closes a resource after another error. Its own error would add nothing to that one.
func closeQuietly(c io.Closer) { _ = c.Close() }

// checkFormat refuses a database of another format than this code's.
func (s *Store) checkFormat(db *pebble.DB) error {
	value, found, err := get(db, []byte{tableFormat})
	if err != nil {
		return err
	}
	if found && string(value) != storeFormat && string(value) != formatWithoutTitles {
		return fault.Unavailablef(nil,
			"pebble:%s has the format %q, and this program's is %q: export it with the program that wrote it, and import that into a new directory",
			s.dir, value, storeFormat)
	}
	if empty, err := empty(db); err != nil || empty || found {
		return err
	}
	return fault.Unavailablef(nil, "pebble:%s holds a database that is not a carrel store; nothing was changed", s.dir)
}

// empty reports whether the database has no keys.
func empty(db *pebble.DB) (bool, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return false, err
	}
	found := it.First()
	return !found, it.Close()
}

// Close waits for running calls, syncs, and closes the store. Later calls return Unavailable.
// Closing twice is harmless.
func (s *Store) Close() error {
	s.life.Lock()
	if s.closed {
		s.life.Unlock()
		return nil
	}
	s.closed = true
	s.life.Unlock()
	close(s.stop)
	s.tasks.Wait()
	if s.broken.Load() != nil {
		// Pebble cannot be closed cleanly once its log has failed. The files stay as a crash would
		// leave them, and the lock is released when the process exits.
		return s.failure()
	}
	err := errors.Join(s.flush(), s.db.LogData(nil, pebble.Sync), s.failure())
	err = errors.Join(err, s.db.Close(), s.watermark.CloseCleanly(), s.lock.Close())
	if err != nil {
		return wrapError("close the store", err)
	}
	return nil
}

// Room returns Unavailable if less than the reserve is free on the disk, and nil otherwise. Changes
// that may let the store grow must not be made then.
func (s *Store) Room() error { return s.space.CheckFree(s.now()) }

// Free returns how many bytes are free on the disk. It returns false if the file system does not
// report it.
func (s *Store) Free() (bytes uint64, known bool) { return s.space.Free() }

// failure returns the error of a store whose log has failed, or nil.
func (s *Store) failure() error {
	if e := s.broken.Load(); e != nil {
		return e
	}
	return nil
}

// get reads one row. The value is a copy.
func (s *Store) get(key []byte) ([]byte, bool, error) { return get(s.db, key) }

func get(db *pebble.DB, key []byte) ([]byte, bool, error) {
	value, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	copied := append([]byte(nil), value...)
	return copied, true, closer.Close()
}

// commitSynced applies a conditional write and returns when it is durable, with everything written
// before it. An error is Uncertain, because the log may contain the write.
func (s *Store) commitSynced(b *pebble.Batch) error {
	s.space.Wrote(b.Len())
	if err := s.apply(b, pebble.Sync); err != nil {
		return fault.Uncertain(wrapError("commit", err))
	}
	// Without the watermark, damage may go undetected, but nothing else is affected.
	if err := s.watermark.Raise(uint64(b.SeqNum()) + uint64(b.Count())); err != nil {
		s.log.Error("store: cannot write the watermark; damage may go undetected", slog.String("cause", err.Error()))
	}
	return nil
}

// commitLater applies a write that becomes durable with the next synced one.
func (s *Store) commitLater(b *pebble.Batch) error {
	s.space.Wrote(b.Len())
	return s.apply(b, pebble.NoSync)
}

// apply applies a batch. What the log has lost is no success.
func (s *Store) apply(b *pebble.Batch, o *pebble.WriteOptions) error {
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.db.Apply(b, o); err != nil {
		return err
	}
	return s.failure()
}
