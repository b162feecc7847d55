//go:build !race

package pebblestore

import (
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/pebblestore/files"
)

// contentsOf returns all files of a directory.
func contentsOf(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		b, err := files.ReadFile(fs, fs.PathJoin(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

// wantRefused opens a directory twice, and checks that this changes nothing in it.
func wantRefused(t *testing.T, fs vfs.FS, dir string, words ...string) {
	t.Helper()
	was := contentsOf(t, fs, dir)
	for range 2 {
		s, err := Open(dir, Options{FS: fs})
		if err == nil {
			_ = s.Close()
		}
		wantUnavailable(t, err, append(words, "pebble:"+dir, "nothing was changed")...)
		if diff := cmp.Diff(was, contentsOf(t, fs, dir)); diff != "" {
			t.Fatalf("a refused directory was changed: %s", diff)
		}
	}
}

// TestOpen_OtherFilesAreKept opens directories of something else, whose files Pebble would delete, write to
// or lie beside.
func TestOpen_OtherFilesAreKept(t *testing.T) {
	for _, names := range []string{"20261129.log", "notes.txt", "000004.sst", "000002.log LOCK", "OPTIONS-000003", "LOCK TIDE 000004.log",
		"CURRENT MANIFEST-000005 000003.log LOCK LOG", "MANIFEST-000001 marker.format-version.000001.013 000002.log"} {
		t.Run(names, func(t *testing.T) {
			mem := vfs.NewMem()
			for name := range strings.FieldsSeq(names) {
				rewrite(t, mem, name, []byte("not of a store: "+name))
			}
			wantRefused(t, mem, "", "it has files, such as ", "use another directory, or restore the store from a copy")
		})
	}
	t.Run("another database", func(t *testing.T) {
		mem := vfs.NewMem()
		db, err := pebble.Open("other", &pebble.Options{FS: mem})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Set([]byte("key"), []byte("value"), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, mem, "other", "not a carrel store")
	})
}

// TestOpen_NewDirectories opens directories in which a store can be created.
func TestOpen_NewDirectories(t *testing.T) {
	for _, names := range []string{"", "LOCK", "LOCK TIDE", "lost+found", ".gitkeep",
		"LOCK TIDE MANIFEST-000001 marker.format-version.000001.013"} {
		t.Run(names, func(t *testing.T) {
			mem := vfs.NewMem()
			for name := range strings.FieldsSeq(names) {
				rewrite(t, mem, name, []byte{})
			}
			mustCommit(t, openStore(t, "", Options{FS: mem}), "item", 1)
		})
	}
}

// kinds are the kinds of files of a store. That of a name is the first which is a part of it.
var kinds = []string{"marker.manifest", "marker.format", "MANIFEST", "OPTIONS", ".sst", ".log", files.WatermarkName}

func kindOf(name string) string {
	for _, kind := range kinds {
		if strings.Contains(name, kind) {
			return kind
		}
	}
	return name
}

// TestOpen_MissingFilesAreNoticed opens copies of a store, closed or not, in which any kinds of files are
// missing. Either all data is there, or it is refused, and then nothing was changed.
func TestOpen_MissingFilesAreNoticed(t *testing.T) {
	const items = 40
	died, closed := diedAndClosed(t, items)
	for state, whole := range map[string]*vfs.MemFS{"closed": closed, "died": died} {
		opened, refused := 0, 0
		for missing := range 1 << len(kinds) {
			lacks := func(kind string) bool {
				for n := range kinds {
					if kinds[n] == kind {
						return missing&(1<<n) != 0
					}
				}
				return false
			}
			if lacks(".log") && lacks(files.WatermarkName) && !lacks("marker.manifest") {
				continue // the end of the log is lost, and what says so
			}
			left := clone(whole)
			isEmpty := true
			for name := range contentsOf(t, left, "") {
				if lacks(kindOf(name)) {
					rewrite(t, left, name, nil)
				} else if kind := kindOf(name); kind != "LOCK" && kind != "MANIFEST" && kind != "marker.format" {
					isEmpty = false
				}
			}
			was := contentsOf(t, left, "")
			err := readAll(t.Context(), left, items)
			switch {
			case err == nil:
				opened++
			case isEmpty:
			default:
				refused++
				wantUnavailable(t, err)
				if diff := cmp.Diff(was, contentsOf(t, left, "")); diff != "" {
					t.Errorf("%s, without %b: a refused store was changed: %v\n%.2000s", state, missing, err, diff)
				}
			}
		}
		t.Logf("%s: %d opened, %d refused", state, opened, refused)
		if opened < 2 || refused < 50 {
			t.Errorf("%s: %d opened, %d refused", state, opened, refused)
		}
	}
}

// TestClose_FullDisk closes a store on a disk that is full since its last change, where no new log can be
// created.
func TestClose_FullDisk(t *testing.T) {
	mem := vfs.NewMem()
	disk := newRefusing(mem, ".log", &syscallError{syscall.ENOSPC})
	s, err := Open("store", Options{FS: disk, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, "item", 1)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 0, TotalBytes: 1 << 30})
	disk.refuse.Store(1 << 40)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	disk.refuse.Store(0)
	mustCommit(t, openStore(t, "store", Options{FS: disk}), "item", 2)
}
