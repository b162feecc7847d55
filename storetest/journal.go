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

func journalChecks() []check {
	return []check{
		{"PutInFlightList", "PutInFlightList replaces the list; a list without blocks is removed, or listed without blocks",
			putInFlightList},
		{"PutInFlightList", "a block of any bytes is read back", listBytes},
		{"PutInFlightList", "a late write with an older stamp changes nothing", putListLate},
		{"PutInFlightList", "a large list is replaced by a small one", listLarge},
		{"InFlight", "InFlight must show each list as of the last PutInFlightList that was acknowledged before the call, or later",
			inFlight},
		{"DeleteInFlightList", "DeleteInFlightList must remove the list iff nothing newer than stamp was written", deleteInFlightList},
		{"Due", "DueReminders lists the reminders due at or before an instant, earliest first", dueUntil},
		{"Due", "Of two reminders that differ in MTS only, the newer one must be kept", putDueTwice},
		{"Due", "DropReminder must remove the reminder iff none newer than d.MTS was put", dropReminder},
	}
}

// listID returns the id of an in-flight list of this subtest. It is a UUID, as in production.
func (s *env) listID(n int) commit.ListID {
	var tenant, check int
	_, err := fmt.Sscanf(s.tenant, "t%d-%d", &tenant, &check)
	s.ok(err)
	return commit.ListID(fmt.Sprintf("%08d-%04d-4000-8000-%012d", tenant, check, n))
}

// inFlightLists returns the lists of this subtest that are not empty, by id.
func (s *env) inFlightLists() []commit.InFlightList {
	s.Helper()
	all, err := s.Journal.InFlightLists(s.ctx)
	s.ok(err)
	return s.mine(all)
}

// mine returns the lists of this subtest that are not empty, by id.
func (s *env) mine(all []commit.InFlightList) []commit.InFlightList {
	prefix := string(s.listID(0))[:13]
	all = slices.DeleteFunc(all, func(l commit.InFlightList) bool {
		return !strings.HasPrefix(string(l.ID), prefix) || len(l.Block) == 0
	})
	slices.SortFunc(all, func(a, b commit.InFlightList) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return all
}

// block returns a block of a list. Its bytes are arbitrary, because stores do not decode blocks.
func (s *env) block(n byte) []byte { return []byte{n, 0, 0xff, n} }

// list writes a new list.
func (s *env) list(n int, block []byte) commit.InFlightList {
	s.Helper()
	l := commit.InFlightList{ID: s.listID(n)}
	s.rewrite(&l, block)
	return l
}

// rewrite replaces a list.
func (s *env) rewrite(l *commit.InFlightList, block []byte) {
	s.Helper()
	l.Stamp, l.Block = int64(s.tick()), block
	s.ok(s.Journal.PutInFlightList(s.ctx, *l))
}

func putInFlightList(s *env) {
	l, m := s.list(1, s.block(0)), s.list(2, s.block(1))
	s.same("lists", s.inFlightLists(), []commit.InFlightList{l, m})
	s.rewrite(&l, s.block(7))
	s.same("lists after one was replaced", s.inFlightLists(), []commit.InFlightList{l, m})
	s.rewrite(&l, nil)
	s.same("lists after one was emptied", s.inFlightLists(), []commit.InFlightList{m})
	s.rewrite(&l, s.block(3))
	s.same("lists after one was written again", s.inFlightLists(), []commit.InFlightList{l, m})
}

func listBytes(s *env) {
	l := s.list(1, []byte{2, 0, 0xff})
	s.same("lists", s.inFlightLists(), []commit.InFlightList{l})
}

func putListLate(s *env) {
	id := s.listID(1)
	early := commit.InFlightList{ID: id, Stamp: int64(s.tick()), Block: s.block(0)}
	late := commit.InFlightList{ID: id, Stamp: int64(s.tick()), Block: s.block(1)}
	s.ok(s.Journal.PutInFlightList(s.ctx, late))
	s.ok(s.Journal.PutInFlightList(s.ctx, early))
	s.same("lists", s.inFlightLists(), []commit.InFlightList{late})
	s.ok(s.Journal.PutInFlightList(s.ctx, commit.InFlightList{ID: id, Stamp: early.Stamp}))
	s.same("lists after a late removal", s.inFlightLists(), []commit.InFlightList{late})
	s.ok(s.Journal.PutInFlightList(s.ctx, commit.InFlightList{ID: id, Stamp: int64(s.tick())}))
	s.ok(s.Journal.PutInFlightList(s.ctx, late))
	s.same("lists after a late write that follows a removal", s.inFlightLists(), []commit.InFlightList(nil))
}

func listLarge(s *env) {
	const large = 2 << 20 // below the smallest limit of a node that runs tests
	l := s.list(1, bytes.Repeat([]byte{7}, large))
	if got := s.inFlightLists(); len(got) != 1 || !bytes.Equal(got[0].Block, l.Block) {
		s.Errorf("%d lists were read, and not the one of %d bytes", len(got), large)
	}
	s.rewrite(&l, s.block(1))
	s.same("lists after it became small", s.inFlightLists(), []commit.InFlightList{l})
}

// inFlight reads all lists first, because a store may learn only in this way which processes exist.
func inFlight(s *env) {
	s.inFlightLists()
	want := func(what string, want ...commit.InFlightList) {
		s.Helper()
		all, err := s.Journal.InFlight(s.ctx)
		s.ok(err)
		s.same(what, s.mine(all), want)
	}
	want("before there is any")
	l, m := s.list(1, s.block(1)), s.list(2, s.block(2))
	want("two lists", l, m)
	s.rewrite(&l, s.block(3))
	want("after one was replaced", l, m)
	s.rewrite(&m, nil)
	want("after one was emptied", l)
	s.ok(s.Journal.DeleteInFlightList(s.ctx, l.ID, l.Stamp))
	want("after the other was dropped")
}

func deleteInFlightList(s *env) {
	l := s.list(1, s.block(0))
	id := l.ID
	s.ok(s.Journal.DeleteInFlightList(s.ctx, id, l.Stamp-1))
	s.same("lists after a drop with an older stamp", s.inFlightLists(), []commit.InFlightList{l})
	read := l.Stamp
	s.rewrite(&l, s.block(1))
	s.ok(s.Journal.DeleteInFlightList(s.ctx, id, read))
	s.same("lists after a drop of what was replaced", s.inFlightLists(), []commit.InFlightList{l})
	s.ok(s.Journal.DeleteInFlightList(s.ctx, id, l.Stamp))
	s.same("lists after a drop", s.inFlightLists(), []commit.InFlightList(nil))
	s.ok(s.Journal.DeleteInFlightList(s.ctx, id, l.Stamp))
	s.ok(s.Journal.DeleteInFlightList(s.ctx, s.listID(2), l.Stamp))
	l.Stamp = int64(s.tick())
	s.ok(s.Journal.PutInFlightList(s.ctx, l))
	s.same("lists after its owner resumed", s.inFlightLists(), []commit.InFlightList{l})
}

// reminders returns the reminders of this subtest that are due until an instant.
func (s *env) reminders(until clock.Instant, limit int) []commit.Reminder {
	s.Helper()
	ds, err := s.Journal.DueReminders(s.ctx, until, limit)
	s.ok(err)
	if len(ds) > limit {
		s.Fatalf("%d reminders for a limit of %d", len(ds), limit)
	}
	return slices.DeleteFunc(ds, func(d commit.Reminder) bool { return id.Tenant(d.Key) != s.tenant })
}

func dueUntil(s *env) {
	const day = clock.Instant(24 * 60 * 60 * 1e6)
	var ds []commit.Reminder
	for n, at := range []clock.Instant{start + 3*day, start + 5, start + 5, start + day, start} {
		d := commit.Reminder{At: at, Kind: commit.Content, Key: string(s.content(string(rune('f' - n)))), MTS: s.tick()}
		s.ok(s.Journal.PutReminder(s.ctx, d))
		s.ok(s.Journal.PutReminder(s.ctx, d))
		ds = append(ds, d)
	}
	ordered := []commit.Reminder{ds[4], ds[2], ds[1], ds[3], ds[0]}
	for _, c := range []struct {
		until clock.Instant
		want  int
	}{{start - 1, 0}, {start, 1}, {start + 4, 1}, {start + 5, 3}, {start + day - 1, 3}, {start + day, 4}, {start + 9*day, 5}} {
		s.same(fmt.Sprintf("reminders until %v", c.until), s.reminders(c.until, 1000), ordered[:c.want])
	}
	first, err := s.Journal.DueReminders(s.ctx, start+9*day, 1)
	s.ok(err)
	if len(first) != 1 || first[0].At > start {
		s.Fatalf("the first reminder is %+v", first)
	}
}

func putDueTwice(s *env) {
	for n, order := range [][]clock.Instant{{1, 2}, {2, 1}, {2, 2}, {1, 3, 2}} {
		// A store keeps reminders of every kind.
		d := commit.Reminder{At: start + 1, Kind: []commit.Kind{commit.Content, 'x'}[n%2], Key: string(s.content(fmt.Sprint(n)))}
		base := s.tick()
		for _, mts := range order {
			d.MTS = base + mts
			s.ok(s.Journal.PutReminder(s.ctx, d))
		}
		d.MTS = base + slices.Max(order)
		s.same(fmt.Sprintf("reminders put in the order %v", order), s.reminders(start+1, 1000), []commit.Reminder{d})
		s.ok(s.Journal.DropReminder(s.ctx, d))
	}
}

func dropReminder(s *env) {
	a := commit.Reminder{At: start + 1, Kind: commit.Content, Key: string(s.content("a")), MTS: s.tick()}
	b := commit.Reminder{At: start + 1, Kind: commit.Content, Key: string(s.content("b")), MTS: s.tick()}
	later := commit.Reminder{At: start + 2, Kind: commit.Content, Key: string(s.content("a")), MTS: s.tick()}
	for _, d := range []commit.Reminder{a, b, later} {
		s.ok(s.Journal.PutReminder(s.ctx, d))
	}
	s.ok(s.Journal.DropReminder(s.ctx, a))
	s.ok(s.Journal.DropReminder(s.ctx, a))
	s.ok(s.Journal.DropReminder(s.ctx, commit.Reminder{At: start + 9, Kind: commit.Content, Key: string(s.content("b")), MTS: s.tick()}))
	s.same("reminders", s.reminders(start+10, 1000), []commit.Reminder{b, later})
	older, newer := b, b
	older.MTS--
	s.ok(s.Journal.DropReminder(s.ctx, older))
	s.same("reminders after the removal of an older one", s.reminders(start+10, 1000), []commit.Reminder{b, later})
	newer.MTS = s.tick()
	s.ok(s.Journal.DropReminder(s.ctx, newer))
	s.same("reminders after the removal of a newer one", s.reminders(start+10, 1000), []commit.Reminder{later})
	newer.MTS = s.tick()
	s.ok(s.Journal.PutReminder(s.ctx, newer))
	s.ok(s.Journal.DropReminder(s.ctx, b))
	s.same("reminders after one was put again and a removal came late", s.reminders(start+10, 1000), []commit.Reminder{newer, later})
	// They are removed, so that the subtests of a shared store do not fill the beginning of its
	// list.
	s.ok(s.Journal.DropReminder(s.ctx, newer))
	s.ok(s.Journal.DropReminder(s.ctx, later))
	s.same("reminders after all were dropped", s.reminders(start+10, 1000), []commit.Reminder(nil))
	// The put and the drop are repeated, as when expiresAt is changed back and forth.
	for n := range 3 {
		a.MTS = s.tick()
		s.ok(s.Journal.PutReminder(s.ctx, a))
		s.same(fmt.Sprintf("reminders after change %d", n), s.reminders(start+10, 1000), []commit.Reminder{a})
		gone := a
		gone.MTS = s.tick()
		s.ok(s.Journal.DropReminder(s.ctx, gone))
		s.same(fmt.Sprintf("reminders after change %d was reverted", n), s.reminders(start+10, 1000), []commit.Reminder(nil))
	}
}
