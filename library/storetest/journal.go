package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/id"
)

func journalAreas() []area {
	return []area{
		{"PutInFlightList", []check{
			{"PutInFlightList replaces the lane's list; a lane without blocks is removed, or listed without blocks", putInFlightList},
			{"a block of any bytes comes back", listBytes},
			{"a write that comes late, behind a newer stamp, changes nothing", putListLate},
			{"a large list is replaced by a small one", listLarge},
		}},
		{"InFlight", []check{
			{"InFlight must show each list as of the last PutInFlightList that was acknowledged before the call, or later", inFlight},
		}},
		{"DeleteInFlightList", []check{
			{"DeleteInFlightList must remove the list iff nothing newer than stamp was written", deleteInFlightList},
		}},
		{"Due", []check{
			{"DueUntil lists what is due at or before an instant, earliest first", dueUntil},
			{"Of two hints that differ in MTS only, the newer one must be kept", putDueTwice},
			{"DropDue must remove the hint iff none newer than d.MTS was put", dropDue},
		}},
	}
}

// listID is the id of a lane of this subtest. It has the form of a uuid, as
// the product's have.
func (s *stage) listID(n int) commit.ListID {
	var tenant, check int
	_, err := fmt.Sscanf(s.tenant, "t%d-%d", &tenant, &check)
	s.ok(err)
	return commit.ListID(fmt.Sprintf("%08d-%04d-4000-8000-%012d", tenant, check, n))
}

// lanes are the lanes of this subtest that are not empty, by id.
func (s *stage) inFlightLists() []commit.InFlightList {
	s.Helper()
	all, err := s.InFlightLists(s.ctx)
	s.ok(err)
	return s.mine(all)
}

// mine are those of lanes that are of this subtest and not empty, by id.
func (s *stage) mine(all []commit.InFlightList) []commit.InFlightList {
	prefix := string(s.listID(0))[:13]
	all = slices.DeleteFunc(all, func(l commit.InFlightList) bool {
		return !strings.HasPrefix(string(l.ID), prefix) || len(l.Blocks) == 0
	})
	slices.SortFunc(all, func(a, b commit.InFlightList) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return all
}

// block is one of the blocks of a lane: stores do not look into them.
func (s *stage) block(n byte) []byte { return []byte{n, 0, 0xff, n} }

func putInFlightList(s *stage) {
	one, two := s.listID(1), s.listID(2)
	l := commit.InFlightList{ID: one, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(0)}}
	m := commit.InFlightList{ID: two, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(1)}}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.ok(s.PutInFlightList(s.ctx, m))
	s.same("lanes", s.inFlightLists(), []commit.InFlightList{l, m})
	l.Stamp, l.Blocks = int64(s.tick()), [][]byte{s.block(7)}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.same("lanes after one was replaced", s.inFlightLists(), []commit.InFlightList{l, m})
	l.Stamp, l.Blocks = int64(s.tick()), nil
	s.ok(s.PutInFlightList(s.ctx, l))
	s.same("lanes after one was emptied", s.inFlightLists(), []commit.InFlightList{m})
	l.Stamp, l.Blocks = int64(s.tick()), [][]byte{s.block(3)}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.same("lanes after one came again", s.inFlightLists(), []commit.InFlightList{l, m})
}

func listBytes(s *stage) {
	l := commit.InFlightList{ID: s.listID(1), Stamp: int64(s.tick()), Blocks: [][]byte{{2, 0, 0xff}}}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.same("lanes", s.inFlightLists(), []commit.InFlightList{l})
}

func putListLate(s *stage) {
	id := s.listID(1)
	early := commit.InFlightList{ID: id, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(0)}}
	late := commit.InFlightList{ID: id, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(1)}}
	s.ok(s.PutInFlightList(s.ctx, late))
	s.ok(s.PutInFlightList(s.ctx, early))
	s.same("lanes", s.inFlightLists(), []commit.InFlightList{late})
	s.ok(s.PutInFlightList(s.ctx, commit.InFlightList{ID: id, Stamp: early.Stamp}))
	s.same("lanes after a late removal", s.inFlightLists(), []commit.InFlightList{late})
	s.ok(s.PutInFlightList(s.ctx, commit.InFlightList{ID: id, Stamp: int64(s.tick())}))
	s.ok(s.PutInFlightList(s.ctx, late))
	s.same("lanes after a late write behind a removal", s.inFlightLists(), []commit.InFlightList(nil))
}

func listLarge(s *stage) {
	const large = 2 << 20 // below the least bound of a node that runs tests
	l := commit.InFlightList{ID: s.listID(1), Stamp: int64(s.tick()), Blocks: [][]byte{bytes.Repeat([]byte{7}, large)}}
	s.ok(s.PutInFlightList(s.ctx, l))
	if got := s.inFlightLists(); len(got) != 1 || len(got[0].Blocks) != 1 || !bytes.Equal(got[0].Blocks[0], l.Blocks[0]) {
		s.Errorf("%d lanes came back, and not the one of %d bytes", len(got), large)
	}
	l.Stamp, l.Blocks = int64(s.tick()), [][]byte{s.block(1)}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.same("lanes after it became small", s.inFlightLists(), []commit.InFlightList{l})
}

// inFlight also looks at all lanes first: a store may not know before which processes there
// are.
func inFlight(s *stage) {
	one, two := s.listID(1), s.listID(2)
	l := commit.InFlightList{ID: one, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(1)}}
	m := commit.InFlightList{ID: two, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(2)}}
	s.inFlightLists()
	stands := func(what string, want ...commit.InFlightList) {
		s.Helper()
		all, err := s.InFlight(s.ctx)
		s.ok(err)
		s.same(what, s.mine(all), want)
	}
	stands("before there is any")
	s.ok(s.PutInFlightList(s.ctx, l))
	s.ok(s.PutInFlightList(s.ctx, m))
	stands("two lanes", l, m)
	l.Stamp, l.Blocks = int64(s.tick()), [][]byte{s.block(3)}
	s.ok(s.PutInFlightList(s.ctx, l))
	stands("after one was replaced", l, m)
	m.Stamp, m.Blocks = int64(s.tick()), nil
	s.ok(s.PutInFlightList(s.ctx, m))
	stands("after one was emptied", l)
	s.ok(s.DeleteInFlightList(s.ctx, one, l.Stamp))
	stands("after the other was dropped")
}

func deleteInFlightList(s *stage) {
	id := s.listID(1)
	l := commit.InFlightList{ID: id, Stamp: int64(s.tick()), Blocks: [][]byte{s.block(0)}}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.ok(s.DeleteInFlightList(s.ctx, id, l.Stamp-1))
	s.same("lanes after a drop with an older stamp", s.inFlightLists(), []commit.InFlightList{l})
	read := l.Stamp
	l.Stamp, l.Blocks = int64(s.tick()), [][]byte{s.block(1)}
	s.ok(s.PutInFlightList(s.ctx, l))
	s.ok(s.DeleteInFlightList(s.ctx, id, read))
	s.same("lanes after a drop of what has been replaced", s.inFlightLists(), []commit.InFlightList{l})
	s.ok(s.DeleteInFlightList(s.ctx, id, l.Stamp))
	s.same("lanes after a drop", s.inFlightLists(), []commit.InFlightList(nil))
	s.ok(s.DeleteInFlightList(s.ctx, id, l.Stamp))
	s.ok(s.DeleteInFlightList(s.ctx, s.listID(2), l.Stamp))
	l.Stamp = int64(s.tick())
	s.ok(s.PutInFlightList(s.ctx, l))
	s.same("lanes after its owner woke", s.inFlightLists(), []commit.InFlightList{l})
}

// dues are this subtest's dues among those until an instant.
func (s *stage) dues(until clock.Instant, limit int) []commit.Due {
	s.Helper()
	ds, err := s.DueUntil(s.ctx, until, limit)
	s.ok(err)
	if len(ds) > limit {
		s.Fatalf("%d dues for a limit of %d", len(ds), limit)
	}
	return slices.DeleteFunc(ds, func(d commit.Due) bool { return id.Tenant(d.Key) != s.tenant })
}

func dueUntil(s *stage) {
	const day = clock.Instant(24 * 60 * 60 * 1e6)
	var ds []commit.Due
	for n, at := range []clock.Instant{start + 3*day, start + 5, start + 5, start + day, start} {
		d := commit.Due{At: at, Kind: commit.Content, Key: string(s.content(string(rune('f' - n)))), MTS: s.tick()}
		s.ok(s.PutDue(s.ctx, d))
		s.ok(s.PutDue(s.ctx, d))
		ds = append(ds, d)
	}
	ordered := []commit.Due{ds[4], ds[2], ds[1], ds[3], ds[0]}
	for _, c := range []struct {
		until clock.Instant
		want  int
	}{{start - 1, 0}, {start, 1}, {start + 4, 1}, {start + 5, 3}, {start + day - 1, 3}, {start + day, 4}, {start + 9*day, 5}} {
		s.same(fmt.Sprintf("dues until %v", c.until), s.dues(c.until, 1000), ordered[:c.want])
	}
	first, err := s.DueUntil(s.ctx, start+9*day, 1)
	s.ok(err)
	if len(first) != 1 || first[0].At > start {
		s.Fatalf("the first due is %+v", first)
	}
}

func putDueTwice(s *stage) {
	for n, order := range [][]clock.Instant{{1, 2}, {2, 1}, {2, 2}, {1, 3, 2}} {
		// A store keeps hints of every kind.
		d := commit.Due{At: start + 1, Kind: []commit.Kind{commit.Content, 'x'}[n%2], Key: string(s.content(fmt.Sprint(n)))}
		base := s.tick()
		for _, mts := range order {
			d.MTS = base + mts
			s.ok(s.PutDue(s.ctx, d))
		}
		d.MTS = base + slices.Max(order)
		s.same(fmt.Sprintf("dues put in the order %v", order), s.dues(start+1, 1000), []commit.Due{d})
		s.ok(s.DropDue(s.ctx, d))
	}
}

func dropDue(s *stage) {
	a := commit.Due{At: start + 1, Kind: commit.Content, Key: string(s.content("a")), MTS: s.tick()}
	b := commit.Due{At: start + 1, Kind: commit.Content, Key: string(s.content("b")), MTS: s.tick()}
	later := commit.Due{At: start + 2, Kind: commit.Content, Key: string(s.content("a")), MTS: s.tick()}
	for _, d := range []commit.Due{a, b, later} {
		s.ok(s.PutDue(s.ctx, d))
	}
	s.ok(s.DropDue(s.ctx, a))
	s.ok(s.DropDue(s.ctx, a))
	s.ok(s.DropDue(s.ctx, commit.Due{At: start + 9, Kind: commit.Content, Key: string(s.content("b")), MTS: s.tick()}))
	s.same("dues", s.dues(start+10, 1000), []commit.Due{b, later})
	older, newer := b, b
	older.MTS--
	s.ok(s.DropDue(s.ctx, older))
	s.same("dues after the removal of an older one", s.dues(start+10, 1000), []commit.Due{b, later})
	newer.MTS = s.tick()
	s.ok(s.DropDue(s.ctx, newer))
	s.same("dues after the removal of a newer one", s.dues(start+10, 1000), []commit.Due{later})
	newer.MTS = s.tick()
	s.ok(s.PutDue(s.ctx, newer))
	s.ok(s.DropDue(s.ctx, b))
	s.same("dues after one came again and a removal came late", s.dues(start+10, 1000), []commit.Due{newer, later})
	// They go, so that the subtests of a shared store do not fill its head.
	s.ok(s.DropDue(s.ctx, newer))
	s.ok(s.DropDue(s.ctx, later))
	s.same("dues after all were dropped", s.dues(start+10, 1000), []commit.Due(nil))
	// Both come again and again, as where expiresAt goes to and fro.
	for n := range 3 {
		a.MTS = s.tick()
		s.ok(s.PutDue(s.ctx, a))
		s.same(fmt.Sprintf("dues after change %d", n), s.dues(start+10, 1000), []commit.Due{a})
		gone := a
		gone.MTS = s.tick()
		s.ok(s.DropDue(s.ctx, gone))
		s.same(fmt.Sprintf("dues after change %d was taken back", n), s.dues(start+10, 1000), []commit.Due(nil))
	}
}
