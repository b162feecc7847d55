package pebblestore

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"carrel/library"
)

// refusing is an in-memory disk on which files with a suffix cannot be created for a time.
type refusing struct {
	vfs.FS
	refuse atomic.Int64 // how many more creations fail
	tried  atomic.Int64 // creations of such files
}

// newRefusing returns a disk on which the creation of files with a suffix fails with err.
func newRefusing(mem *vfs.MemFS, suffix string, err error) *refusing {
	f := &refusing{}
	f.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if (op.Kind != errorfs.OpCreate && op.Kind != errorfs.OpReuseForWrite) || !strings.HasSuffix(op.Path, suffix) {
			return nil
		}
		f.tried.Add(1)
		if f.refuse.Add(-1) >= 0 {
			return err
		}
		return nil
	}))
	return f
}

// TestOpen_FullDiskEndsWithItsCause opens a store whose log contains changes, on a disk that takes no
// tables. Opening ends with the cause after a few attempts. Once there is space, the store opens.
func TestOpen_FullDiskEndsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewCrashableMem()
		s := openStore(t, "store", Options{FS: mem})
		mustCommit(t, s, "item", 1)
		disk := newRefusing(mem.CrashClone(vfs.CrashCloneCfg{}), ".sst", &syscallError{syscall.ENOSPC})
		disk.refuse.Store(1 << 40)
		var log bytes.Buffer
		_, err := Open("store", Options{FS: disk, Log: slog.New(slog.NewTextHandler(&log, nil))})
		wantUnavailable(t, err, "pebble:store cannot be opened: its disk is full; free some space", "no space left on device")
		if n := disk.tried.Load(); n > 20 {
			t.Errorf("%d attempts to write a table", n)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("the log has %d lines:\n%s", n, &log)
		}
		_, err = Open("store", Options{FS: disk})
		wantUnavailable(t, err, "in use")
		disk.refuse.Store(0)
		<-time.After(longestPause + time.Second) // of the bubble: the next attempt succeeds and the store is closed
		again := openStore(t, "store", Options{FS: disk})
		rows, err := again.Contents.Read(t.Context(), "c:acme:item", library.ContentQuery{})
		if err != nil || rows.Header.Seq != 1 {
			t.Errorf("the store has seq %d, %v", rows.Header.Seq, err)
		}
	})
}

// syscallError is an error of the operating system, as package os returns it.
type syscallError struct{ errno syscall.Errno }

func (e *syscallError) Error() string { return "write a file: " + e.errno.Error() }
func (e *syscallError) Unwrap() error { return e.errno }

// TestBackground_FailuresPauseAndAreLoggedOnceAMinute lets all flushes fail for an hour. They are
// repeated with pauses and logged once a minute, and reads and writes continue. Close does not wait
// for a flush that fails, and loses nothing.
func TestBackground_FailuresPauseAndAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newRefusing(vfs.NewMem(), ".sst", &syscallError{syscall.ENOSPC})
		var log bytes.Buffer
		s, err := Open("store", Options{FS: disk, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, s, "item", 1)
		disk.refuse.Store(1 << 40)
		disk.tried.Store(0)
		log.Reset()
		if _, err := s.db.AsyncFlush(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // of the bubble
		if n := disk.tried.Load(); n < 300 || n > 400 {
			t.Errorf("%d attempts to flush in an hour", n)
		}
		if n := strings.Count(log.String(), "background work failed"); n < 55 || n > 61 || n != strings.Count(log.String(), "\n") ||
			!strings.Contains(log.String(), "omitted=5") {
			t.Errorf("the log has %d lines:\n%s", n, &log)
		}
		mustCommit(t, s, "item", 2)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		disk.refuse.Store(0)
		again := openStore(t, "store", Options{FS: disk})
		mustCommit(t, again, "item", 3)
	})
}

// TestClose_DoesNotWaitForAFlushThatFails closes a store that can write no table. What it contains is
// in its log.
func TestClose_DoesNotWaitForAFlushThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newRefusing(vfs.NewMem(), ".sst", &syscallError{syscall.ENOSPC})
		s, err := Open("store", Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, s, "item", 1)
		disk.refuse.Store(1 << 40)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		disk.refuse.Store(0)
		mustCommit(t, openStore(t, "store", Options{FS: disk}), "item", 2)
	})
}

// TestBackground_SuccessEndsThePauses lets a flush fail often, and the next one once: after a success,
// pauses are short again.
func TestBackground_SuccessEndsThePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newRefusing(vfs.NewMem(), ".sst", &syscallError{syscall.ENOSPC})
		s := openStore(t, "store", Options{FS: disk})
		flush := func(seq, failures int64) time.Duration {
			mustCommit(t, s, "item", seq)
			disk.refuse.Store(failures)
			flushed, err := s.db.AsyncFlush()
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			<-flushed
			return time.Since(began)
		}
		if took := flush(1, 9); took < longestPause || took > 4*longestPause {
			t.Errorf("a flush that failed nine times took %s", took)
		}
		if took := flush(2, 1); took > 2*shortestPause {
			t.Errorf("after a success, a flush that failed once took %s", took)
		}
	})
}

// TestLog_WaitsForADescriptor rotates the log while no descriptor is free. The rotation waits until
// one is, and the store goes on.
func TestLog_WaitsForADescriptor(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		synctest.Test(t, func(t *testing.T) {
			disk := newRefusing(vfs.NewMem(), ".log", &syscallError{errno})
			s := openStore(t, "store", Options{FS: disk, Fatal: func(msg string) { t.Error(msg) }})
			mustCommit(t, s, "item", 1)
			disk.refuse.Store(50)
			if _, err := s.db.AsyncFlush(); err != nil {
				t.Fatal(err)
			}
			if left := disk.refuse.Load(); left >= 0 {
				t.Errorf("the log was rotated without a free descriptor: %d failures left", left)
			}
			mustCommit(t, s, "item", 2)
		})
	}
}
