package pebblestore

import (
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// benchStore is a store on disk with the rows of a gateway of some size.
type benchStore struct {
	*Store
	b     *testing.B
	clock clock.Instant
}

func newBench(b *testing.B, opts Options) *benchStore {
	return &benchStore{Store: openStore(b, b.TempDir(), opts), b: b, clock: 1_767_225_600_000_000}
}

func (s *benchStore) tick() clock.Instant {
	s.clock += 1000
	return s.clock
}

func (s *benchStore) must(err error) {
	if err != nil {
		s.b.Helper()
		s.b.Fatal(err)
	}
}

// header is the first header of an item.
func (s *benchStore) header(id library.ContentID, v principal.Visibility) library.Header {
	link, description := "https://pkg.go.dev/"+string(id), "A description of ordinary length, as one line about a package has."
	h := library.Header{State: commit.Live, Seq: 1, MTS: s.tick(), Widest: v, Managers: 1, Members: 1}
	h.ID, h.Kind, h.Title, h.Description, h.Link = id, library.Link, "Package "+string(id), &description, &link
	h.Visibility, h.Creator, h.Version = v, "u:acme:creator", 1
	h.CreatedAt, h.LastModified, h.Position = h.MTS, h.MTS, h.MTS
	return h
}

// fillAtOnce is how many items fill writes in one batch.
const fillAtOnce = 1000

// fill writes items into owner's library without syncing each of them, because read benchmarks do
// not need it.
func (s *benchStore) fill(owner principal.ID, items int) []library.Header {
	var hs []library.Header
	for first := 0; first < items; first += fillAtOnce {
		s.must(s.change(nil, s.commitLater, func(b *batch) error {
			for n := first; n < min(first+fillAtOnce, items); n++ {
				h := s.header(library.ContentID("c:acme:item/"+strconv.Itoa(n)), principal.Public)
				h.Writers = []commit.Writer{{Seq: 1, Entry: commit.EntryID{1}}}
				b.set(appendHeaderKey(nil, tableContent, string(h.ID)), appendHeader(nil, &h))
				m := library.Member{Principal: owner, Role: library.Manages, Seq: 1}
				b.set(appendMemberKey(nil, tableContent, string(h.ID), owner), appendContentMember(nil, &m))
				s.derive(b, &library.IndexUpdate{Header: &h, All: true}, &h, []library.Member{m})
				if len(hs) < 2000 {
					hs = append(hs, h)
				}
			}
			return nil
		}))
	}
	return hs
}

// cpuTime starts measuring the processor time of the process. The returned function reports it per
// step. Wall time says little on a busy machine.
func cpuTime(b *testing.B) (report func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	begin := used()
	return func() { b.ReportMetric(float64(used()-begin)/float64(b.N), "cpu-ns/op") }
}

// page20 reads a page of 20 entries with their headers and two member rows each, as a page for a
// viewer does.
func (s *benchStore) page20(owner principal.ID, from *library.EntryKey) []library.Entry {
	ctx := s.b.Context()
	es, err := s.Libraries.PageLibrary(ctx, library.Slice{Owner: owner, Bucket: principal.Private, From: from, Limit: 21})
	s.must(err)
	ids := make([]library.ContentID, len(es))
	for i, e := range es {
		ids[i] = e.Content
	}
	rows, err := s.Contents.ReadMany(ctx, ids, []principal.ID{owner})
	s.must(err)
	if len(rows) != len(es) {
		s.b.Fatal("rows are missing")
	}
	return es
}

func BenchmarkPage20(b *testing.B) {
	const owner = "u:acme:owner"
	for _, size := range []int{100, 10_000, 1_000_000} {
		if size > 100_000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s := newBench(b, Options{})
			s.fill(owner, size)
			for _, page := range []int{1, 5000} {
				if page*20 > size {
					continue
				}
				var from *library.EntryKey
				if page > 1 {
					es, err := s.Libraries.PageLibrary(b.Context(), library.Slice{Owner: owner, Bucket: principal.Private, Limit: 20 * page})
					s.must(err)
					last := es[len(es)-1]
					from = &library.EntryKey{Position: last.Position, Content: last.Content}
				}
				b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
					s.b = b
					b.ReportAllocs()
					defer cpuTime(b)()
					for b.Loop() {
						s.page20(owner, from)
					}
				})
			}
			if size == 1_000_000 {
				reportSize(b, s)
			}
		})
	}
}

// reportSize reports the memory of the process and the time to reopen the store.
func reportSize(b *testing.B, s *benchStore) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	s.must(s.Close())
	begin := time.Now()
	again, err := Open(s.dir, Options{})
	s.must(err)
	opened := time.Since(begin)
	s.must(again.Close())
	b.Logf("size: %d MB of heap in use, %d MB from the system, opened in %v", mem.HeapInuse>>20, mem.Sys>>20, opened)
}

// BenchmarkPage20AfterMoves reads the newest page after one item has moved 100,000 times. Each move
// is a commit and an index write.
func BenchmarkPage20AfterMoves(b *testing.B) {
	const owner = "u:acme:owner"
	s := newBench(b, Options{FS: vfs.Default})
	hs := s.fill(owner, 1000)
	read := func(name string) {
		b.Run(name, func(b *testing.B) {
			s.b = b
			b.ReportAllocs()
			defer cpuTime(b)()
			for b.Loop() {
				s.page20(owner, nil)
			}
		})
		s.b = b
	}
	read("moves=0")
	h := hs[500]
	for _, moves := range []int{999, 100_000} {
		for range moves {
			old := library.Superseded{Position: h.Position, Widest: h.Widest}
			h.Seq++
			h.MTS = s.tick()
			h.Position = h.MTS
			h.Unsettled = []library.Superseded{old}
			s.move(&h, owner)
		}
		read(fmt.Sprintf("moves=%d", moves))
	}
}

// move writes a move as Commit, ApplyIndex and CleanUp do, without the sync.
func (s *benchStore) move(h *library.Header, owner principal.ID) {
	batch := s.db.NewBatch()
	s.must(batch.Set(appendHeaderKey(nil, tableContent, string(h.ID)), appendHeader(nil, h), nil))
	s.must(batch.Commit(nil))
	s.must(batch.Close())
	m := library.Member{Principal: owner, Role: library.Manages, Seq: 1}
	s.must(s.Contents.ApplyIndex(s.b.Context(), &library.IndexUpdate{Header: h, Rows: []library.Member{m}}))
}

func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := newBench(b, Options{})
			b.SetParallelism(max(1, writers/runtime.GOMAXPROCS(0)))
			var id = make(chan int, 1<<20)
			for n := range cap(id) {
				id <- n
			}
			defer cpuTime(b)()
			run := func(next func() bool) {
				n := <-id
				h := s.header(library.ContentID("c:acme:item/"+strconv.Itoa(n)), principal.Public)
				h.Seq = 0
				for next() {
					c := &library.ContentCommit{ID: h.ID, Base: h.Seq, Header: h, Writer: commit.EntryID{2}}
					c.Header.Seq++
					v, err := s.Contents.Commit(b.Context(), c)
					if err != nil || !v.Applied {
						b.Fatal(v, err)
					}
					h.Seq++
				}
			}
			if writers == 1 {
				run(b.Loop)
				return
			}
			b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
		})
	}
}

func BenchmarkApplyIndex10000(b *testing.B) {
	s := newBench(b, Options{})
	h := s.header("c:acme:wide", principal.Public)
	var members []library.Member
	for n := range 10_000 {
		members = append(members, library.Member{Principal: principal.ID(fmt.Sprintf("u:acme:member%05d", n)), Role: library.Viewing, Seq: 1})
	}
	defer cpuTime(b)()
	for b.Loop() {
		old := library.Superseded{Position: h.Position, Widest: h.Widest}
		h.Seq++
		h.MTS = s.tick()
		h.Position = h.MTS
		h.Unsettled = []library.Superseded{old}
		batch := s.db.NewBatch()
		s.must(batch.Set(appendHeaderKey(nil, tableContent, string(h.ID)), appendHeader(nil, &h), nil))
		s.must(batch.Commit(nil))
		s.must(batch.Close())
		for at := 0; at < len(members); at += applyIndexBatch {
			e := &library.IndexUpdate{Header: &h, Rows: members[at:min(at+applyIndexBatch, len(members))]}
			s.must(s.Contents.ApplyIndex(b.Context(), e))
		}
	}
}
