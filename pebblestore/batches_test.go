package pebblestore

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// TestScript_EachStepWritesAtMostOneBatch counts the batches of each step in the log. A crash can
// separate two batches. The crash tests rarely see that, because batches that are not synced reach
// the file together.
func TestScript_EachStepWritesAtMostOneBatch(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openStore(t, crashDir, Options{FS: fs})
	steps := script()
	mark := []byte{0xff} // a key of no table, which is written before each step
	for _, step := range steps {
		if err := s.db.Set(mark, []byte(step.name), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if err := step.run(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
	if err := s.db.LogData(nil, pebble.Sync); err != nil { // syncs the last steps too
		t.Fatal(err)
	}
	batches := map[string]int{}
	name := ""
	for _, repr := range logged(t, fs.CrashClone(vfs.CrashCloneCfg{})) {
		r := batchrepr.Read(repr)
		_, key, value, ok, err := r.Next()
		if err != nil || !ok {
			t.Fatalf("a batch in the log: %t %v", ok, err)
		}
		if bytes.Equal(key, mark) {
			name = string(value)
		} else {
			batches[name]++
		}
	}
	if last := steps[len(steps)-1].name; name != last {
		t.Errorf("the log ends with %q, want %q", name, last)
	}
	for _, step := range steps {
		if n := batches[step.name]; n > 1 || n == 0 && step.synced {
			t.Errorf("%s wrote %d batches", step.name, n)
		}
	}
}

// logged returns the batches in the log of a store.
func logged(t *testing.T, fs vfs.FS) [][]byte {
	t.Helper()
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: crashDir})
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, l := range logs {
		r := l.OpenForRead()
		for {
			record, _, err := r.NextRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			repr, err := io.ReadAll(record)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, repr)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}
