//go:build !race

package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/library"
	"carrel/pebblestore/files"
	"carrel/principal"
)

// readAll opens a store and reads every item.
func readAll(ctx context.Context, fs vfs.FS, items int) error {
	s, err := Open("", Options{FS: fs, Fatal: func(string) {}})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for n := range items {
		id := library.ContentID(fmt.Sprintf("c:acme:item%03d", n))
		rows, err := s.Contents.Read(ctx, id, library.ContentQuery{Members: []principal.ID{"u:acme:ann"}})
		if err != nil {
			return err
		}
		if rows.Header.Seq != 1 || rows.Members[0].Seq != 1 {
			return fmt.Errorf("%s has seq %d", id, rows.Header.Seq)
		}
	}
	return nil
}

// rewrite replaces the contents of a file with b, or removes the file if b is nil.
func rewrite(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	err := fs.Remove(name)
	if b != nil {
		f, created := fs.Create(name, vfs.WriteCategoryUnspecified)
		if created != nil {
			t.Fatal(created)
		}
		// A File may modify the slice that it writes.
		_, err = f.Write(bytes.Clone(b))
		err = errors.Join(err, f.Close())
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// diedAndClosed returns a store with items, in several tables and the log: as it is after its process died,
// and after it was closed.
func diedAndClosed(t *testing.T, items int) (died, closed *vfs.MemFS) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	s := openStore(t, "", Options{FS: mem})
	for n := range items {
		mustCommit(t, s, fmt.Sprintf("item%03d", n), 1)
		if n%30 == 29 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	died = clone(mem)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return died, clone(mem)
}

// clone returns a copy of a disk.
func clone(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// TestOpen_DamagedFilesAreReported damages each kind of file at many offsets, in a store that was
// closed and in one whose process died. Acknowledged data is never missing without an error that
// names the kind of the file, and a failed open changes nothing: with the original file restored,
// all data is there.
func TestOpen_DamagedFilesAreReported(t *testing.T) {
	const items = 80
	died, closed := diedAndClosed(t, items)
	for _, c := range []struct {
		name    string
		fs      *vfs.MemFS
		kind    func(file string) bool
		words   string
		noticed int // percent of the damaged offsets, at least
	}{
		{"tables of a closed store", closed, tablesOf(t, clone(closed)), "table", 80},
		{"tables of one that died", died, tablesOf(t, clone(died)), "table", 80},
		{"log of a closed store", closed, isLog, "log", 0},
		{"log of one that died", died, isLog, "log", 30},
		{"manifest of a closed store", closed, isManifest, "manifest", 100},
		{"manifest of one that died", died, isManifest, "manifest", 100},
		{"options", closed, isOptions, "options", 0},
		{"watermark", died, func(file string) bool { return file == files.WatermarkName }, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, err := c.fs.List("")
			if err != nil {
				t.Fatal(err)
			}
			offsets, noticed := 0, 0
			for _, name := range names {
				if !c.kind(name) {
					continue
				}
				was, err := files.ReadFile(c.fs, name)
				if err != nil {
					t.Fatal(err)
				}
				for _, damaged := range damages(was) {
					if c.fs == died && isManifest(name) && torn(was, damaged.b) {
						continue
					}
					left := clone(c.fs)
					rewrite(t, left, name, damaged.b)
					offsets++
					err := readAll(t.Context(), left, items)
					if err == nil {
						continue
					}
					noticed++
					wantUnavailable(t, err, "damaged", c.words)
					rewrite(t, left, name, was)
					if err := readAll(t.Context(), left, items); err != nil {
						t.Errorf("%s, %s: after the file was restored: %v", name, damaged.name, err)
					}
				}
			}
			t.Logf("detected %d of %d", noticed, offsets)
			if offsets == 0 || noticed*100 < offsets*c.noticed {
				t.Errorf("detected %d of %d", noticed, offsets)
			}
		})
	}
}

// tablesOf returns a function that reports whether a file is a table in use. The directory may also
// hold obsolete tables that are not deleted yet and are never read.
func tablesOf(t *testing.T, fs vfs.FS) func(file string) bool {
	t.Helper()
	opts := newStore("", Options{FS: fs}).engineOptions(fs)
	opts.ReadOnly = true
	db, err := pebble.Open("", opts)
	if err != nil {
		t.Fatal(err)
	}
	levels, err := db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, table := range slices.Concat(levels...) {
		used = append(used, fmt.Sprintf("%06d.sst", table.FileNum))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return func(file string) bool { return slices.Contains(used, file) }
}

// torn reports whether only the last record of a manifest is damaged, or the manifest merely ends
// early. After a process died, neither can be distinguished from the effect of a crash.
func torn(was, damaged []byte) bool {
	last := 0
	for n := range was {
		if end := files.WholeRecords(was[:n]); end > last {
			last = end
		}
	}
	return bytes.HasPrefix(damaged, was[:last]) || bytes.HasPrefix(was, damaged)
}

func isLog(file string) bool      { return strings.HasSuffix(file, ".log") }
func isManifest(file string) bool { return strings.HasPrefix(file, "MANIFEST") }
func isOptions(file string) bool  { return strings.HasPrefix(file, "OPTIONS") }

// damagedFile is a modified copy of a file.
type damagedFile struct {
	name string
	b    []byte
}

// damages flips a bit at each of 24 offsets of a file, and truncates it.
func damages(was []byte) []damagedFile {
	var ds []damagedFile
	for n := range 24 {
		at := n * len(was) / 24
		if at < len(was) {
			b := bytes.Clone(was)
			b[at] ^= 0x40
			ds = append(ds, damagedFile{fmt.Sprintf("byte %d", at), b})
		}
	}
	return append(ds, damagedFile{"cut", was[:len(was)/2+1]}, damagedFile{"empty", []byte{}})
}
