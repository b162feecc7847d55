package pebblestore

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"carrel/library"
)

// TestSpaceWhileItIsLookedAt has a writer come while another waits for what the
// file system says of its free space, for the first time since the store was
// opened.
func TestSpaceWhileItIsLookedAt(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	var slow atomic.Bool
	s := openStore(t, "", Options{
		FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpGetDiskUsage && slow.CompareAndSwap(true, false) {
				close(asked)
				<-answer
			}
			return nil
		})),
		Now: func() library.Instant { return 1 },
	})
	t.Cleanup(release)
	slow.Store(true)
	waited := make(chan error)
	go func() {
		_, err := commit(t.Context(), s, "one", 1)
		waited <- err
	}()
	<-asked
	mustCommit(t, s, "another", 1)
	release()
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

func TestAlmostFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	var now library.Instant
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 300 << 20, TotalBytes: 1 << 30})
	s := openStore(t, "", Options{FS: mem, Now: func() library.Instant { return now }})
	mustCommit(t, s, "item", 1)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 200 << 20, TotalBytes: 1 << 30})
	now += 2_000_000
	full := func(what string, err error) {
		t.Helper()
		wantUnavailable(t, err, "disk of the store is almost full")
		if library.MayHaveCommitted(err) {
			t.Errorf("%s may have been applied: %v", what, err)
		}
	}
	_, err := commit(t.Context(), s, "item", 2)
	full("Commit", err)
	_, err = s.CommitPrincipal(t.Context(), &library.PrincipalCommit{ID: "u:acme:ann", Header: library.PrincipalHeader{Seq: 1}})
	full("CommitPrincipal", err)
	_, err = s.FixCreation(t.Context(), library.Creation{}, nil)
	full("FixCreation", err)
	_, err = s.FixSetting(t.Context(), "name", nil)
	full("FixSetting", err)
	_, err = s.ReserveBlock(t.Context(), "host", 5)
	full("ReserveBlock", err)
	rows, err := s.Read(t.Context(), "c:acme:item", library.ContentQuery{Members: []library.PrincipalID{"u:acme:ann"}})
	if err != nil || rows.Header.Seq != 1 {
		t.Fatalf("%+v %v", rows, err)
	}
	// What is decided is finished, and room can be made.
	if err := s.Enforce(t.Context(), &library.Enforcement{Header: &rows.Header, Rows: rows.Members}); err != nil {
		t.Error(err)
	}
	if err := s.PutLane(t.Context(), library.Lane{ID: "x"}); err != nil {
		t.Error(err)
	}
	rows.Header.Seq, rows.Header.State = 2, library.Deleted
	if v, err := s.Commit(t.Context(), &library.ContentCommit{ID: "c:acme:item", Base: 1, Header: rows.Header}); err != nil || !v.Applied {
		t.Errorf("a deletion was refused: %+v %v", v, err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 256 << 20, TotalBytes: 1 << 30})
	now += 2_000_000
	mustCommit(t, s, "other", 1)
}
