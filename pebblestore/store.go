package pebblestore

import (
	"context"
	"errors"
	"io"
	"log/slog"
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
	// writing is held while a batch is handed to Pebble.
	writing sync.Mutex
	// stuck reports that Pebble has panicked in a write and cannot be closed.
	stuck atomic.Bool

	// life is read-locked by every call and write-locked by Close.
	life   sync.RWMutex
	closed bool
	stop   chan struct{}
	tasks  sync.WaitGroup
}

var _ naming.BlockStore = (*Store)(nil)

// Open opens the store in dir, and creates it if dir holds none. It fails with code Unavailable and
// a message for an operator if another process has dir open, a file is damaged, or the store has
// another format.
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

// openDB opens the database and checks that it is complete and of this code's format. kept is as for
// openPebble.
func (s *Store) openDB(fs vfs.FS) (kept bool, err error) {
	if err := s.checkWhole(fs); err != nil {
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
	if err := s.checkFormat(); err != nil {
		closeQuietly(db)
		closeQuietly(&s.watermark)
		return false, err
	}
	return false, nil
}

// checkWhole looks for damage that Pebble would take for the effect of a crash. It changes no file.
func (s *Store) checkWhole(fs vfs.FS) error {
	reached, err := s.watermark.Check(fs, s.dir)
	if err != nil || reached == 0 {
		return err
	}
	there, err := s.lastSequence(fs)
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

// closeQuietly closes a resource after another error. Its own error would add nothing to that one.
func closeQuietly(c io.Closer) { _ = c.Close() }

// checkFormat refuses a store of another format than this code's. It writes the format into an empty
// store.
func (s *Store) checkFormat() error {
	value, found, err := s.get([]byte{tableFormat})
	if err != nil {
		return files.OpenFault(s.dir, err)
	}
	if found && string(value) != formatWithoutTitles {
		if string(value) != storeFormat {
			return fault.Unavailablef(nil,
				"pebble:%s has the format %q, and this program's is %q: export it with the program that wrote it, and import that into a new directory",
				s.dir, value, storeFormat)
		}
		return nil
	}
	empty, err := s.empty()
	if err != nil {
		return files.OpenFault(s.dir, err)
	}
	if !empty && !found {
		return fault.Unavailablef(nil, "pebble:%s holds a database that is not a carrel store", s.dir)
	}
	if err := s.db.Set([]byte{tableFormat}, []byte(storeFormat), pebble.Sync); err != nil {
		return files.OpenFault(s.dir, err)
	}
	return s.failure()
}

// empty reports whether the database has no keys.
func (s *Store) empty() (bool, error) {
	it, err := s.db.NewIter(nil)
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
	err := errors.Join(s.flush(), s.db.LogData(nil, pebble.Sync))
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
func (s *Store) get(key []byte) ([]byte, bool, error) {
	value, closer, err := s.db.Get(key)
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
	err := s.apply(b, pebble.Sync)
	if err == nil {
		// Waiting outside the queue lets many writers share one sync.
		if cause := b.SyncWait(); cause != nil {
			engineLog{s}.Fatalf("%v", cause)
		}
		err = s.failure()
	}
	if err != nil {
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
	err := s.apply(b, pebble.NoSync)
	if err != nil {
		return err
	}
	return s.failure()
}

// apply hands a batch to Pebble without waiting for its sync. It is serialized: if its log has
// failed, Pebble may panic and keep one of its locks, for which all later callers would wait
// forever.
func (s *Store) apply(b *pebble.Batch, o *pebble.WriteOptions) (err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.failure(); err != nil {
		return err
	}
	defer func() {
		if cause := recover(); cause != nil {
			s.stuck.Store(true)
			engineLog{s}.Fatalf("%v", cause)
			err = s.failure()
		}
	}()
	if o.Sync {
		return s.db.ApplyNoSyncWait(b, o)
	}
	return s.db.Apply(b, o)
}
