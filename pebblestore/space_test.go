package pebblestore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/pebblestore/files"
	"carrel/principal"
)

// slowFS is an in-memory disk that counts the measurements of its free space and can block the next
// one.
type slowFS struct {
	*vfs.MemFS
	measurements     atomic.Int64
	hold             atomic.Bool
	measured, answer chan struct{}
	release          func()
}

func newSlowFS(free uint64) *slowFS {
	f := &slowFS{MemFS: vfs.NewMem(), measured: make(chan struct{}), answer: make(chan struct{})}
	f.release = sync.OnceFunc(func() { close(f.answer) })
	f.setFree(free)
	return f
}

func (f *slowFS) setFree(free uint64) {
	f.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: free, TotalBytes: 1 << 30})
}

// options returns the options of a store on f.
func (f *slowFS) options(now func() clock.Instant) Options {
	return Options{Now: now, FS: errorfs.Wrap(f.MemFS, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpGetDiskUsage {
			f.measurements.Add(1)
			if f.hold.CompareAndSwap(true, false) {
				close(f.measured)
				<-f.answer
			}
		}
		return nil
	}))}
}

// TestSpace_ConcurrentMeasurementRefusesNobody writes while another writer waits for the file
// system to report its free space. No write is refused because of an old measurement.
func TestSpace_ConcurrentMeasurementRefusesNobody(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(*testing.T, *Store, *slowFS)
	}{
		{"for the first time since the store was opened", func(*testing.T, *Store, *slowFS) {}},
		{"for the first time since the disk was full", func(t *testing.T, s *Store, f *slowFS) {
			f.setFree(files.DefaultReserve - 1)
			wantUnavailable(t, s.Room(), "disk of the store is almost full")
			f.setFree(files.DefaultReserve)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, now := newSlowFS(files.DefaultReserve), clock.Instant(1)
			s := openStore(t, "", f.options(func() clock.Instant { return now }))
			t.Cleanup(f.release)
			c.before(t, s, f)
			now = now.Add(time.Hour)
			f.hold.Store(true)
			waited := make(chan error, 1)
			go func() { waited <- s.Room() }()
			<-f.measured
			if err := s.Room(); err != nil {
				t.Error(err)
			}
			f.release()
			if err := <-waited; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSpace_EachRefusalMeasuresOnce checks that freed space is noticed at once, and that no write
// measures more than once.
func TestSpace_EachRefusalMeasuresOnce(t *testing.T) {
	f := newSlowFS(files.DefaultReserve - 1)
	s := openStore(t, "", f.options(func() clock.Instant { return 1 }))
	before := f.measurements.Load()
	for range 3 {
		wantUnavailable(t, s.Room(), "disk of the store is almost full")
	}
	f.setFree(files.DefaultReserve)
	for range 3 {
		if err := s.Room(); err != nil {
			t.Error(err)
		}
	}
	if n := f.measurements.Load() - before; n != 4 {
		t.Errorf("%d measurements, want one per refusal and one that finds space", n)
	}
}

func TestSpace_AlmostFullDiskRefusesGrowth(t *testing.T) {
	mem := vfs.NewMem()
	var now clock.Instant
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 300 << 20, TotalBytes: 1 << 30})
	s := openStore(t, "", Options{FS: mem, Now: func() clock.Instant { return now }})
	mustCommit(t, s, "item", 1)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 200 << 20, TotalBytes: 1 << 30})
	now += 2_000_000
	full := func(what string, err error) {
		t.Helper()
		wantUnavailable(t, err, "disk of the store is almost full")
		if fault.MayHaveCommitted(err) {
			t.Errorf("%s may have been applied: %v", what, err)
		}
	}
	full("Room", s.Room())
	full("PutText", s.Texts.PutText(t.Context(), note.Text{}))
	full("PutRows", s.PutRows(t.Context(), []archive.Row{{Setting: &archive.SettingRow{Name: "name"}}}))
	full("PutBody", s.Pastes.PutBody(t.Context(), paste.BodyRef{}, "body"))
	_, err := s.Texts.PutDraft(t.Context(), note.DraftRow{User: "u:acme:ann"}, nil)
	full("PutDraft", err)
	_, err = s.Claims.PutClaim(t.Context(), claim.Claim{Record: "c:acme:item"}, nil)
	full("PutClaim", err)
	_, err = s.Registers.PutCreationIfAbsent(t.Context(), commit.Creation{}, nil)
	full("PutCreationIfAbsent", err)
	_, err = s.Registers.PutSettingIfAbsent(t.Context(), "name", nil)
	full("PutSettingIfAbsent", err)
	_, err = s.ReserveBlock(t.Context(), "host", 5)
	full("ReserveBlock", err)
	rows, err := s.Contents.Read(t.Context(), "c:acme:item", library.ContentQuery{Members: []principal.ID{"u:acme:ann"}})
	if err != nil || rows.Header.Seq != 1 {
		t.Fatalf("%+v %v", rows, err)
	}
	// Decided writes can be finished, and so can what frees space or withdraws access: the Engine refuses
	// other changes.
	if err := s.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &rows.Header, Rows: rows.Members}); err != nil {
		t.Error(err)
	}
	if err := s.Journal.PutInFlightList(t.Context(), commit.InFlightList{ID: "x"}); err != nil {
		t.Error(err)
	}
	rows.Header.Seq, rows.Header.State = 2, commit.Deleted
	if v, err := s.Contents.Commit(t.Context(), &library.ContentCommit{ID: "c:acme:item", Base: 1, Header: rows.Header}); err != nil ||
		!v.Applied {
		t.Errorf("a deletion was refused: %+v %v", v, err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 256 << 20, TotalBytes: 1 << 30})
	now += 2_000_000
	if err := s.Room(); err != nil {
		t.Error(err)
	}
}
