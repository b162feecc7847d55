package pebblestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/library"
	"carrel/principal"
	"carrel/storetest"
)

// crashDir is a directory that does not exist when a store is opened there.
const crashDir = "var/lib/store"

func TestConformance_Durable(t *testing.T) {
	storetest.RunDurable(t, func(t *testing.T) (domain.Store, func() domain.Store) {
		mem := vfs.NewCrashableMem()
		s := openStore(t, crashDir, Options{FS: mem})
		return s.Store, func() domain.Store {
			mem = mem.CrashClone(vfs.CrashCloneCfg{})
			return openStore(t, crashDir, Options{FS: mem}).Store
		}
	})
}

func TestConformance_DurableArchive(t *testing.T) {
	storetest.RunDurableArchive(t, func(t *testing.T) (domain.Store, storetest.Archive, func() (domain.Store, storetest.Archive)) {
		mem := vfs.NewCrashableMem()
		opened := func() (domain.Store, storetest.Archive) {
			s := openStore(t, "", Options{FS: mem})
			return s.Store, s
		}
		s, a := opened()
		return s, a, func() (domain.Store, storetest.Archive) {
			mem = mem.CrashClone(vfs.CrashCloneCfg{})
			return opened()
		}
	})
}

// step is one write of a script: exactly one batch, or none if it changes nothing.
type step struct {
	name   string
	synced bool
	run    func(ctx context.Context, s *Store) error
}

// script returns a workload that makes every kind of write in a fixed order.
func script() []step {
	var steps []step
	later := func(name string, run func(ctx context.Context, s *Store) error) {
		steps = append(steps, step{name, false, run})
	}
	synced := func(name string, run func(ctx context.Context, s *Store) error) {
		steps = append(steps, step{name, true, run})
	}
	h := library.Header{State: commit.Live, Widest: principal.Public}
	h.ID, h.Title, h.Visibility, h.Creator = "c:acme:item", strings.Repeat("title ", 100), principal.Public, "u:acme:ann"
	group := principal.Header{ID: "g:acme:team", State: commit.Live, DisplayName: "Team"}
	const ann, bob = principal.ID("u:acme:ann"), principal.ID("u:acme:bob")
	inFlightList := commit.ListID("00000000-0000-4000-8000-000000000001")
	for n := range int64(rounds) {
		at := clock.Instant(1000 * (n + 1))
		stamp := 10 * (n + 1)
		entry := commit.Entry{ID: commit.EntryID{byte(n)}, Kind: commit.Content, Key: string(h.ID), Base: n,
			Reach: commit.Reach{Scope: commit.ScopeAll}}
		later(fmt.Sprintf("list %d", n), func(ctx context.Context, s *Store) error {
			return s.Journal.PutInFlightList(ctx, commit.InFlightList{ID: inFlightList, Stamp: stamp, Block: storetest.Block(entry)})
		})
		later(fmt.Sprintf("due %d", n), func(ctx context.Context, s *Store) error {
			return s.Journal.PutReminder(ctx, commit.Reminder{At: at, Kind: commit.Content, Key: string(h.ID), MTS: at})
		})
		next := h
		next.Seq, next.MTS, next.Position, next.Widest = n+1, at, at, principal.Public
		c := &library.ContentCommit{ID: h.ID, Base: n, Header: next, Writer: entry.ID,
			Members: []library.Member{{Principal: ann, Role: library.Manages}, {Principal: bob, Role: library.Viewing, Leaving: n%2 == 1}},
			Request: &commit.RequestRow{Key: commit.RequestKey{byte(n)}, Answer: []byte("answer"), Until: 1 << 60}}
		if n > 0 {
			c.Supersede = &library.Superseded{Position: h.Position, Widest: h.Widest}
		}
		synced(fmt.Sprintf("commit %d", n), func(ctx context.Context, s *Store) error {
			v, err := s.Contents.Commit(ctx, c)
			if err == nil && !v.Applied {
				err = fmt.Errorf("refused: %+v", v)
			}
			return err
		})
		e := &library.IndexUpdate{Header: &next, All: true, Rows: []library.Member{
			{Principal: ann, Role: library.Manages, Seq: n + 1}, {Principal: bob, Role: library.Viewing, Leaving: n%2 == 1, Seq: n + 1}}}
		if n > 0 {
			next.Unsettled = []library.Superseded{*c.Supersede}
		}
		later(fmt.Sprintf("apply index %d", n), func(ctx context.Context, s *Store) error { return s.Contents.ApplyIndex(ctx, e) })
		if n > 0 {
			cleanup := &library.Cleanup{ID: h.ID, Positions: []clock.Instant{c.Supersede.Position}, Leaving: e.Rows}
			later(fmt.Sprintf("clean up %d", n), func(ctx context.Context, s *Store) error { return s.Contents.CleanUp(ctx, cleanup) })
		}
		later(fmt.Sprintf("built %d", n), func(ctx context.Context, s *Store) error { return s.Libraries.SetBuilt(ctx, ann, 1) })
		g := group
		g.Seq, g.MTS = n+1, at
		member := principal.GroupMemberRow{Principal: ann, Role: principal.GroupManager, Seq: n + 1}
		synced(fmt.Sprintf("commit principal %d", n), func(ctx context.Context, s *Store) error {
			v, err := s.Principals.CommitPrincipal(ctx, &principal.Commit{ID: g.ID, Base: n, Header: g, Members: []principal.GroupMemberRow{member}})
			if err == nil && !v.Applied {
				err = fmt.Errorf("refused: %+v", v)
			}
			return err
		})
		later(fmt.Sprintf("apply group index %d", n), func(ctx context.Context, s *Store) error {
			return s.Principals.ApplyGroupIndex(ctx, &principal.GroupIndexUpdate{Header: &g, Rows: []principal.GroupMemberRow{member}})
		})
		later(fmt.Sprintf("drop due %d", n), func(ctx context.Context, s *Store) error {
			return s.Journal.DropReminder(ctx, commit.Reminder{At: at, Kind: commit.Content, Key: string(h.ID), MTS: at})
		})
		synced(fmt.Sprintf("creation %d", n), func(ctx context.Context, s *Store) error {
			_, err := s.Registers.PutCreationIfAbsent(ctx, commit.Creation{Key: commit.RequestKey{byte(n)}, ID: "c:acme:x", Until: 1 << 60}, nil)
			return err
		})
		synced(fmt.Sprintf("setting %d", n), func(ctx context.Context, s *Store) error {
			_, err := s.Registers.PutSettingIfAbsent(ctx, fmt.Sprintf("setting %d", n), []byte("value"))
			return err
		})
		synced(fmt.Sprintf("block %d", n), func(ctx context.Context, s *Store) error {
			first, err := s.ReserveBlock(ctx, "host", 100)
			if err == nil && first != 100*n+1 {
				err = fmt.Errorf("block %d starts at %d", n, first)
			}
			return err
		})
		steps = append(steps, pasteSteps(n)...)
		h = next
	}
	steps = append(steps, lastPasteSteps()...)
	later("drop entry", func(ctx context.Context, s *Store) error {
		e := library.Entry{EntryKey: library.EntryKey{Position: h.Position, Content: h.ID}, MTS: h.MTS}
		return s.Libraries.DropEntries(ctx, ann, []library.BucketEntry{{Bucket: principal.LoggedIn, Entry: e}})
	})
	later("drop list", func(ctx context.Context, s *Store) error {
		return s.Journal.DeleteInFlightList(ctx, inFlightList, 1000)
	})
	synced("last", func(ctx context.Context, s *Store) error {
		_, err := s.Registers.PutSettingIfAbsent(ctx, "last", nil)
		return err
	})
	return steps
}

// between makes the store do, at some steps of the script, what it does in the background over
// time.
func between(ctx context.Context, s *Store, n int) error {
	switch {
	case n%17 == 16:
		return s.db.Flush()
	case n%41 == 40:
		return s.db.Compact(ctx, []byte{0}, []byte{0xff}, false)
	}
	return nil
}

// dump returns everything that a store holds.
func dump(s *Store) (string, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for ok := it.First(); ok; ok = it.Next() {
		fmt.Fprintf(&b, "%q %q\n", it.Key(), it.Value())
	}
	return b.String(), it.Close()
}

// history returns what a store holds before the first step and after each step.
func history(t *testing.T, steps []step) []string {
	t.Helper()
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	var states []string
	for n := -1; n < len(steps); n++ {
		if n >= 0 {
			if err := steps[n].run(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", steps[n].name, err)
			}
		}
		state, err := dump(s)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	return states
}

// crasher pauses before each operation that changes the file system and inspects what a crash at
// that point would leave.
type crasher struct {
	mu     sync.Mutex
	fs     *vfs.MemFS
	points int
	kinds  map[errorfs.OpKind]int
	// look inspects one crash. take returns the files after it, with a percentage of the unsynced
	// data kept.
	look func(point int, op errorfs.Op, percent int, take func() *vfs.MemFS)
}

func newCrasher(fs *vfs.MemFS) *crasher {
	return &crasher{fs: fs, kinds: make(map[errorfs.OpKind]int)}
}

func (c *crasher) wrap() vfs.FS { return errorfs.Wrap(c.fs, errorfs.InjectorFunc(c.before)) }

func (c *crasher) before(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points++
	c.kinds[op.Kind]++
	// None, half (by block and directory entry) or all of the unsynced data survives.
	for _, percent := range []int{0, 50, 100} {
		c.look(c.points, op, percent, func() *vfs.MemFS {
			rng := rand.New(rand.NewPCG(uint64(c.points), uint64(percent)))
			return c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		})
	}
	return nil
}

// TestCrash_ConcurrentWritersLoseNothingAcknowledged commits from several writers at once, so that
// one sync serves many, and checks what a crash before each operation would leave: everything that
// each writer had acknowledged, and its last commit completely or not at all.
func TestCrash_ConcurrentWritersLoseNothingAcknowledged(t *testing.T) {
	const writers, commits = 4, 12
	var started, acked [writers]atomic.Int64
	id := func(w int) library.ContentID { return library.ContentID(fmt.Sprintf("c:acme:item%d", w)) }
	member := principal.ID("u:acme:ann")
	c := newCrasher(vfs.NewCrashableMem())
	c.look = func(point int, op errorfs.Op, percent int, take func() *vfs.MemFS) {
		var oldest [writers]int64
		for w := range writers {
			oldest[w] = acked[w].Load()
		}
		s, err := Open(crashDir, Options{FS: take()})
		if err != nil {
			t.Errorf("point %d: %v", point, err)
			return
		}
		for w := range writers {
			rows, err := s.Contents.Read(t.Context(), id(w), library.ContentQuery{Members: []principal.ID{member}})
			if err != nil {
				t.Errorf("point %d: %v", point, err)
				continue
			}
			seq := rows.Header.Seq
			if seq < oldest[w] || seq > started[w].Load() || rows.Members[0].Seq != seq {
				t.Errorf("point %d (%v of %s, %d %% kept): writer %d has seq %d with a member row of %d; %d was acknowledged, %d had started",
					point, op.Kind, op.Path, percent, w, seq, rows.Members[0].Seq, oldest[w], started[w].Load())
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("point %d: %v", point, err)
		}
	}
	s := openStore(t, crashDir, Options{FS: c.wrap()})
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for n := range int64(commits) {
				h := library.Header{Seq: n + 1, State: commit.Live}
				h.ID = id(w)
				started[w].Store(n + 1)
				v, err := s.Contents.Commit(t.Context(), &library.ContentCommit{ID: h.ID, Base: n, Header: h,
					Members: []library.Member{{Principal: member, Role: library.Manages}}})
				if err != nil || !v.Applied {
					t.Errorf("writer %d, commit %d: %+v %v", w, n, v, err)
					return
				}
				acked[w].Store(n + 1)
			}
		})
	}
	done.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
