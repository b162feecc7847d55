package files

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Logs is a file system on which, from Begin on, no operation of Pebble's log fails: Failed is called instead. Pebble
// panics if it cannot create a log or finish one, with a lock in a state that ends the process. What Failed is called
// for is lost, so that nothing may be acknowledged afterwards.
type Logs struct {
	vfs.FS
	Failed func(error)
	begun  atomic.Bool
}

// Begin begins to keep errors from Pebble. Before, while it opens the store, it returns them.
func (l *Logs) Begin() { l.begun.Store(true) }

// Unwrap returns the wrapped file system.
func (l *Logs) Unwrap() vfs.FS { return l.FS }

// Create creates a file.
func (l *Logs) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.Create(name, category)
	return l.log(name, f, err)
}

// ReuseForWrite renames and opens a file.
func (l *Logs) ReuseForWrite(former, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.ReuseForWrite(former, name, category)
	return l.log(name, f, err)
}

// log returns a file that was created, or one in memory if that has failed.
func (l *Logs) log(name string, f vfs.File, err error) (vfs.File, error) {
	if !strings.HasSuffix(name, ".log") {
		return f, err
	}
	if err = l.pass(err); err == nil && f == nil {
		f, err = vfs.NewMem().Create("lost", vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return nil, err
	}
	return logFile{f, l}, nil
}

// pass returns an error to Pebble, or keeps it.
func (l *Logs) pass(err error) error {
	if err != nil && l.begun.Load() {
		l.Failed(err)
		return nil
	}
	return err
}

// logFile is a log.
type logFile struct {
	vfs.File
	l *Logs
}

func (f logFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.l.pass(err)
}

func (f logFile) Sync() error     { return f.l.pass(f.File.Sync()) }
func (f logFile) SyncData() error { return f.l.pass(f.File.SyncData()) }
func (f logFile) Close() error    { return f.l.pass(f.File.Close()) }

func (f logFile) SyncTo(length int64) (bool, error) {
	whole, err := f.File.SyncTo(length)
	return whole, f.l.pass(err)
}

func (f logFile) Preallocate(offset, length int64) error {
	return f.l.pass(f.File.Preallocate(offset, length))
}
