package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// openInChild is the environment variable with the directory that a child of this test process
// opens.
const openInChild = "CARREL_TEST_OPEN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(openInChild); dir != "" {
		s, err := Open(dir, Options{})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

// closeFailed closes the database of a store whose log has failed.
func closeFailed(s *Store) { _ = s.db.Close() }

// commitOf commits state seq of an item.
func commitOf(ctx context.Context, s *Store, name string, seq int64) (commit.Verdict, error) {
	h := library.Header{Seq: seq, MTS: clock.Instant(seq), Position: clock.Instant(seq), State: commit.Live, Widest: principal.Private}
	h.ID, h.Title, h.Visibility = library.ContentID("c:acme:"+name), strings.Repeat("title of "+name, 20), principal.Private
	return s.Contents.Commit(ctx, &library.ContentCommit{ID: h.ID, Base: seq - 1, Header: h, Writer: commit.EntryID{1},
		Members: []library.Member{{Principal: "u:acme:ann", Role: library.Manages}}})
}

// mustCommit commits state seq of an item and requires that it was applied.
func mustCommit(t testing.TB, s *Store, name string, seq int64) {
	t.Helper()
	v, err := commitOf(t.Context(), s, name, seq)
	if err != nil || !v.Applied {
		t.Fatalf("seq %d of %s: %+v %v", seq, name, v, err)
	}
}

// wantUnavailable checks the code of an error and that its text contains words.
func wantUnavailable(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil || fault.CodeOf(err) != fault.Unavailable {
		t.Fatalf("not of code Unavailable: %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not contain %q", err, w)
		}
	}
}

func TestOpen_SecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	_, err := Open(dir, Options{})
	wantUnavailable(t, err, "pebble:"+dir+" is in use by another process")
	open := func() (string, error) {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), openInChild+"="+dir)
		out, err := child.Output()
		return string(out), err
	}
	out, err := open()
	if err == nil || !strings.Contains(out, "pebble:"+dir+" is in use by another process") {
		t.Errorf("the child printed %q, %v", out, err)
	}
	mustCommit(t, s, "item", 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := open(); err != nil {
		t.Errorf("after Close the child printed %q, %v", out, err)
	}
}

func TestOpen_UnknownFormatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(db *pebble.DB) error
		words string
	}{
		{"another version", func(db *pebble.DB) error { return db.Set([]byte{tableFormat}, []byte("6"), pebble.Sync) },
			`pebble:store has the format "6", and this program's is "carrel 2": export it with the program that wrote it, and import that into a new directory`},
		{"no version", func(db *pebble.DB) error { return db.Set([]byte{tableFormat}, nil, pebble.Sync) }, `has the format ""`},
		{"another database", func(db *pebble.DB) error {
			return errors.Join(db.Delete([]byte{tableFormat}, pebble.Sync), db.Set([]byte("key"), nil, pebble.Sync))
		}, "not a carrel store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := vfs.NewMem()
			s := openStore(t, "store", Options{FS: mem})
			if err := c.set(s.db); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err := Open("store", Options{FS: mem})
				wantUnavailable(t, err, c.words, "pebble:store")
			}
		})
	}
}

func TestClose_LaterCallsFail(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := commitOf(t.Context(), s, "item", 1)
	wantUnavailable(t, err, "closed")
	if fault.MayHaveCommitted(err) {
		t.Error("a commit on a closed store may have been applied")
	}
	_, err = s.Contents.ReadMany(t.Context(), []library.ContentID{"c:acme:item"}, nil)
	wantUnavailable(t, err, "closed")
	_, err = s.ReserveBlock(t.Context(), "host", 5)
	wantUnavailable(t, err, "closed")
}

// TestClose_WaitsForCalls closes a store under load. Each call either succeeds or reports that the
// store is closed.
func TestClose_WaitsForCalls(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, "", Options{FS: mem})
	var done sync.WaitGroup
	var last [4]int64
	started := make(chan struct{}, len(last))
	for w := range last {
		done.Go(func() {
			for seq := int64(1); ; seq++ {
				v, err := commitOf(t.Context(), s, fmt.Sprintf("item%d", w), seq)
				if seq == 5 {
					started <- struct{}{}
				}
				if err != nil {
					wantClosed(t, err)
					return
				}
				if !v.Applied {
					t.Errorf("seq %d was refused: %+v", seq, v)
					return
				}
				last[w] = seq
			}
		})
	}
	for range last {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	done.Wait()
	again := openStore(t, "", Options{FS: mem})
	for w, want := range last {
		rows, err := again.Contents.Read(t.Context(), library.ContentID(fmt.Sprintf("c:acme:item%d", w)), library.ContentQuery{})
		if err != nil || rows.Header.Seq != want {
			t.Errorf("writer %d: %d was acknowledged, the store has %d, %v", w, want, rows.Header.Seq, err)
		}
	}
}

func wantClosed(t *testing.T, err error) {
	t.Helper()
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "closed") {
		t.Errorf("the error is not that the store is closed: %v", err)
	}
}

func TestStore_EndedContextIsAnError(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := commitOf(ended, s, "item", 1)
	wantUnavailable(t, err)
	if !errors.Is(err, context.Canceled) || fault.MayHaveCommitted(err) || fault.ReasonOf(err) != fault.ReasonTimeout {
		t.Errorf("%v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err = s.Journal.PutReminder(late, commit.Reminder{})
	wantUnavailable(t, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestStore_SyncsOncePerMutation counts the log syncs that each call makes.
func TestStore_SyncsOncePerMutation(t *testing.T) {
	var syncs atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			syncs.Add(1)
		}
		return nil
	}))
	s := openStore(t, "", Options{FS: fs})
	for _, step := range script() {
		before := syncs.Load()
		if err := step.run(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		want := int64(0)
		if step.synced {
			want = 1
		}
		if got := syncs.Load() - before; got != want {
			t.Errorf("%s: %d syncs, want %d", step.name, got, want)
		}
	}
}

// TestLog_FailureEndsTheStore makes writes to the log fail, or the change to another log. The commit in progress
// has an unknown outcome, one clear line is logged, Fatal is called once, nothing acknowledged is lost, and all
// later calls are refused.
func TestLog_FailureEndsTheStore(t *testing.T) {
	isLog := func(op errorfs.Op, kinds ...errorfs.OpKind) bool {
		return strings.HasSuffix(op.Path, ".log") && slices.Contains(kinds, op.Kind)
	}
	for name, fails := range map[string]func(op errorfs.Op) bool{
		"write": func(op errorfs.Op) bool { return isLog(op, errorfs.OpFileWrite) },
		"sync": func(op errorfs.Op) bool {
			return isLog(op, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo)
		},
		"create": func(op errorfs.Op) bool { return isLog(op, errorfs.OpCreate) },
		"reuse":  func(op errorfs.Op) bool { return isLog(op, errorfs.OpReuseForWrite) },
	} {
		t.Run(name, func(t *testing.T) { logFails(t, fails, name == "reuse") })
	}
}

func logFails(t *testing.T, fails func(op errorfs.Op) bool, reuse bool) {
	mem := vfs.NewCrashableMem()
	var failing atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && fails(op) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	var log bytes.Buffer
	var fatal []string
	s, err := Open("store", Options{FS: fs, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Fatal: func(msg string) { fatal = append(fatal, msg) }})
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, "item", 1)
	for seq := int64(2); reuse && seq < 5; seq++ { // there is a log to reuse after them
		mustCommit(t, s, "other", seq-1)
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	failing.Store(true)
	// This begins the next log.
	if _, err := s.db.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	_, err = commitOf(t.Context(), s, "item", 2)
	wantUnavailable(t, err)
	for range 3 {
		_, err := commitOf(t.Context(), s, "other", 1)
		wantUnavailable(t, err, "can no longer write")
		_, err = s.Contents.Read(t.Context(), "c:acme:item", library.ContentQuery{})
		wantUnavailable(t, err, "can no longer write")
	}
	if len(fatal) != 1 || !strings.Contains(fatal[0], "can no longer be written") || !strings.Contains(fatal[0], "injected error") {
		t.Errorf("Fatal was called with %q", fatal)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "can no longer be written") {
		t.Errorf("the log has %d lines:\n%s", n, &log)
	}
	again := openStore(t, "store", Options{FS: mem.CrashClone(vfs.CrashCloneCfg{})})
	rows, err := again.Contents.Read(t.Context(), "c:acme:item", library.ContentQuery{})
	if err != nil || rows.Header.Seq != 1 {
		t.Errorf("the store has seq %d, 1 was acknowledged: %v", rows.Header.Seq, err)
	}
	wantUnavailable(t, s.Close(), "can no longer write")
	failing.Store(false)
	closeFailed(s)
}

// TestClose_ReportsAFailedLog: the last write to the log is that of Close.
func TestClose_ReportsAFailedLog(t *testing.T) {
	var failing atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	s, err := Open("store", Options{FS: fs, Fatal: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	wantUnavailable(t, s.Close(), "can no longer write")
}

// TestLog_FailureUnderLoadLosesNothingAcknowledged makes the log fail during many concurrent
// commits. All of them return, so does Close, and nothing acknowledged is lost.
func TestLog_FailureUnderLoadLosesNothingAcknowledged(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var writes atomic.Int64
	writes.Store(-1 << 40)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) > 60 {
			return errorfs.ErrInjected
		}
		return nil
	}))
	var fatal atomic.Int64
	s, err := Open("", Options{FS: fs, Fatal: func(string) { fatal.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	writes.Store(0)
	var acked [16]int64
	var done sync.WaitGroup
	for w := range acked {
		done.Go(func() {
			for seq := int64(1); ; seq++ {
				v, err := commitOf(t.Context(), s, fmt.Sprintf("item%d", w), seq)
				if err != nil {
					if fault.CodeOf(err) != fault.Unavailable {
						t.Errorf("%v", err)
					}
					return
				}
				if !v.Applied {
					t.Errorf("refused: %+v", v)
					return
				}
				acked[w] = seq
			}
		})
	}
	done.Wait()
	wantUnavailable(t, s.Close(), "can no longer write")
	if fatal.Load() != 1 {
		t.Errorf("Fatal was called %d times", fatal.Load())
	}
	again := openStore(t, "", Options{FS: mem.CrashClone(vfs.CrashCloneCfg{})})
	for w, want := range acked {
		rows, err := again.Contents.Read(t.Context(), library.ContentID(fmt.Sprintf("c:acme:item%d", w)), library.ContentQuery{})
		if err != nil || rows.Header.Seq < want || rows.Header.Seq > want+1 {
			t.Errorf("writer %d: %d was acknowledged, the store has %d: %v", w, want, rows.Header.Seq, err)
		}
	}
	writes.Store(-1 << 40)
	closeFailed(s)
}
