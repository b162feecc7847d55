package pebblestore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/backend"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/naming"
)

// formatVersion is what this code writes. A change that older code cannot read,
// or would not keep in order, raises it. What oldestFormat and later ones have
// written is read too: 1 had no directory, which is filled once it is missed, and
// 2 had no time of the last move in the header of an item, and kinds of changes that
// were fixed in the rows of in-flight lists. 3 had no claims, and neither a URL nor
// further rows of an item, nor texts of pages, nor drafts. 4 had no pastes, and no feeds,
// which are filled once they are missed.
const (
	formatVersion = 5
	oldestFormat  = 1
)

// applyIndexBatch is the number of rows that one ApplyIndex writes at most: with
// names of ordinary length about 200 KiB of log.
const applyIndexBatch = 500

// Options are what a Store takes from its process. The zero value is a store
// on the machine's own file system.
type Options struct {
	// FS is where the files are; nil: the machine's file system.
	FS vfs.FS
	// Log gets what operators should know; nil: nothing is logged.
	Log *slog.Logger
	// FreeReserve is the free disk space, in bytes, below which writes that
	// grow the store are refused; 0: 256 MiB; negative: none are.
	FreeReserve int64
	// Now is the clock by which request rows expire; nil: the machine's.
	Now func() clock.Instant
	// Fatal is told, once, when the log of writes can no longer be written:
	// nothing that was acknowledged is lost, and nothing more can be. The
	// process should end. If Fatal returns, the store answers Unavailable to
	// everything from then on; nil panics with the message.
	Fatal func(msg string)
}

// Store implements backend.Store, and the blocks of generated names, over
// Pebble. It is safe for concurrent use.
type Store struct {
	dir   string
	db    *pebble.DB
	lock  *pebble.Lock
	log   *slog.Logger
	now   func() clock.Instant
	fatal func(msg string)

	locks         locks
	space         space
	dead          dead
	expiry        expiry
	changes       changes
	watermarkFile watermarkFile
	inFlightLists listStamps
	views         sync.Pool // of *view

	broken atomic.Pointer[fault.Error]
	// writing is held by whoever hands a batch to Pebble.
	writing sync.Mutex
	// stuck tells that Pebble has panicked in a write, and cannot be closed.
	stuck atomic.Bool

	// life is held shared by every call and alone by Close.
	life   sync.RWMutex
	closed bool
	stop   chan struct{}
	tasks  sync.WaitGroup
}

var (
	_ backend.Store     = (*Store)(nil)
	_ naming.BlockStore = (*Store)(nil)
)

// Open opens the store in dir, and creates it there if dir holds none. The
// error is of code Unavailable, with a message for an operator: another process
// has dir open, a file is damaged, or the store is of another version.
func Open(dir string, opts Options) (*Store, error) {
	s := newStore(dir, opts)
	fs := opts.FS
	if fs == nil {
		fs = vfs.Default
	}
	fs = markersLast{fs}
	if err := makeDir(fs, dir); err != nil {
		return nil, openFault(dir, err)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, lockFault(dir, err)
	}
	s.lock = lock
	s.space.init(fs, dir, opts.FreeReserve)
	if err := s.openDB(fs); err != nil {
		closeQuietly(lock)
		return nil, err
	}
	s.tasks.Add(1)
	go s.flushDead()
	return s, nil
}

func newStore(dir string, opts Options) *Store {
	s := &Store{dir: dir, log: opts.Log, now: opts.Now, fatal: opts.Fatal, stop: make(chan struct{})}
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
	s.inFlightLists.last = make(map[commit.ListID]int64)
	s.views.New = func() any { return new(view) }
	return s
}

// openDB opens the database and checks that it is whole and of our format.
func (s *Store) openDB(fs vfs.FS) error {
	if err := s.checkWhole(fs); err != nil {
		return err
	}
	// The mark of a store in use comes first: the next step makes a manifest
	// that the mark of the last Close says nothing of.
	if err := s.openWatermarkFile(fs); err != nil {
		return err
	}
	db, err := pebble.Open(s.dir, s.engineOptions(fs))
	if err != nil {
		closeQuietly(s.watermarkFile.file)
		return openFault(s.dir, err)
	}
	s.db = db
	if err := s.checkFormat(); err != nil {
		closeQuietly(db)
		closeQuietly(s.watermarkFile.file)
		return err
	}
	return nil
}

// closeQuietly closes what was opened for nothing; a failure would say no more
// than the one that made it needless.
func closeQuietly(c io.Closer) { _ = c.Close() }

// checkFormat compares the store's format version with this code's, and writes
// it into a store that is empty or of a version before.
func (s *Store) checkFormat() error {
	value, found, err := s.get([]byte{tableFormat})
	if err != nil {
		return openFault(s.dir, err)
	}
	if found {
		v, err := strconv.Atoi(string(value))
		if err != nil || v < oldestFormat || v > formatVersion {
			return fault.Unavailablef(nil, "pebble:%s has format version %q, and this program reads versions %d to %d only: use the program that wrote it, or carrel copy", s.dir, value, oldestFormat, formatVersion)
		}
		if v == formatVersion {
			return nil
		}
		return s.writeFormat()
	}
	empty, err := s.empty()
	if err != nil {
		return openFault(s.dir, err)
	}
	if !empty {
		return fault.Unavailablef(nil, "pebble:%s holds a database that is not a carrel store", s.dir)
	}
	return s.writeFormat()
}

// writeFormat says that this code's format is the store's from now on.
func (s *Store) writeFormat() error {
	err := s.db.Set([]byte{tableFormat}, strconv.AppendInt(nil, formatVersion, 10), pebble.Sync)
	if err != nil {
		return openFault(s.dir, err)
	}
	return s.standing()
}

// empty tells whether the database holds no key.
func (s *Store) empty() (bool, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return false, err
	}
	found := it.First()
	return !found, it.Close()
}

// Close waits for the calls under way, syncs, and closes the store. Calls after
// it get Unavailable. Closing twice is harmless.
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
		// Pebble cannot be closed in order once its log has failed: the files
		// stay as a crash would leave them, and the lock goes with the process.
		return s.standing()
	}
	// With its memory flushed the store opens without replaying the log.
	err := errors.Join(s.db.Flush(), s.db.LogData(nil, pebble.Sync))
	err = errors.Join(err, s.db.Close(), s.closeWatermarkFile(), s.lock.Close())
	if err != nil {
		return wrapError("close the store", err)
	}
	return nil
}

// enter begins a call: it refuses one whose time has run out, one on a closed
// store, and any on a store whose log has failed. A call that has entered must
// leave.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return contextFault(err)
	}
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return &fault.Error{Code: fault.Unavailable, Msg: "the store is closed", RetryAfter: 1}
	}
	if err := s.standing(); err != nil {
		s.life.RUnlock()
		return err
	}
	return nil
}

// leave ends a call.
func (s *Store) leave() { s.life.RUnlock() }

// standing is the error of a store whose log has failed, nil otherwise.
func (s *Store) standing() error {
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

// commitSynced applies a conditional write and returns when it is durable, with
// everything written before it. An error is Uncertain: the log may hold it.
func (s *Store) commitSynced(b *pebble.Batch) error {
	s.space.wrote(b.Len())
	err := s.apply(b, pebble.Sync)
	if err == nil {
		// Outside of the queue, so that many wait for one sync together.
		if cause := b.SyncWait(); cause != nil {
			engineLog{s}.Fatalf("%v", cause)
		}
		err = s.standing()
	}
	if err != nil {
		return fault.Uncertain(wrapError("commit", err))
	}
	s.acknowledge(b)
	return nil
}

// commitLater applies a write that the next synced one makes durable.
func (s *Store) commitLater(b *pebble.Batch) error {
	s.space.wrote(b.Len())
	err := s.apply(b, pebble.NoSync)
	if err == nil {
		err = s.standing()
	}
	if err != nil {
		return wrapError("write", err)
	}
	return nil
}

// apply hands a batch to Pebble, without waiting for its sync. One at a time:
// where its log has failed Pebble may panic, and keeps a lock of its own then,
// on which whoever came after it would wait for ever.
func (s *Store) apply(b *pebble.Batch, o *pebble.WriteOptions) (err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.standing(); err != nil {
		return err
	}
	defer func() {
		if cause := recover(); cause != nil {
			s.stuck.Store(true)
			engineLog{s}.Fatalf("%v", cause)
			err = s.standing()
		}
	}()
	if o.Sync {
		return s.db.ApplyNoSyncWait(b, o)
	}
	return s.db.Apply(b, o)
}
