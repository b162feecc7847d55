package storetest

import (
	"fmt"
	"sync"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

func raceChecks() []check {
	return []check{
		{"Races", "of 16 commits on one base exactly one is applied, each round", raceCommits},
		{"Races", "of 16 commits of one principal exactly one is applied, each round", racePrincipals},
		{"Races", "of 16 creations of one key all get the same one", raceCreations},
		{"Races", "of 16 values of one setting all get the same one", raceSettings},
		{"Races", "index updates of all states, in any order, leave the newest", raceIndexUpdates},
		{"Races", "an index update that a commit overtakes undoes nothing", raceOvertaken},
		{"Races", "drops during index updates never remove a newer entry", raceDrops},
	}
}

// winner checks a round of conditional writes: one was applied, according to the Writers of the
// stored header, and every other one was refused or is of unknown outcome.
func (s *env) winner(verdicts []commit.Verdict, errs []error, entries []commit.EntryID, stored []commit.Writer, seq int64) int {
	s.Helper()
	won := -1
	for n := range verdicts {
		mine := made(commit.Verdict{Writers: stored}, seq, entries[n])
		switch {
		case errs[n] != nil && !fault.MayHaveCommitted(errs[n]):
			s.Fatal(errs[n])
		case errs[n] == nil && verdicts[n].Applied != mine:
			s.Fatalf("racer %d got applied=%v for seq %d, whose writer it is: %v", n, verdicts[n].Applied, seq, mine)
		}
		if mine {
			won = n
		}
	}
	if won < 0 {
		s.Fatalf("no racer has written seq %d: %+v", seq, stored)
	}
	return won
}

func raceCommits(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	for round := range 20 {
		var commits []*library.ContentCommit
		var entries []commit.EntryID
		for n := range racers {
			c := it.next(func(c *library.ContentCommit) {
				moved(c, principal.Private)
				c.Header.Title = fmt.Sprintf("%d by %d", round, n)
				c.Members = []library.Member{{Principal: s.user(fmt.Sprintf("m%d", n)), Role: library.Viewing}}
			})
			commits, entries = append(commits, c), append(entries, c.Writer)
		}
		verdicts, errs := make([]commit.Verdict, racers), make([]error, racers)
		together(func(n int) { verdicts[n], errs[n] = s.Contents.Commit(s.ctx, commits[n]) })
		rows := s.read(it.head.ID, library.ContentQuery{Serial: true})
		it.applied(commits[s.winner(verdicts, errs, entries, rows.Header.Writers, it.head.Seq+1)])
		it.wantStored(fmt.Sprintf("item after round %d", round))
	}
}

func racePrincipals(s *env) {
	g := s.newPrincipal(s.group("g"), s.user("a"))
	for round := range 10 {
		var commits []*principal.Commit
		var entries []commit.EntryID
		for n := range racers {
			c := g.next(func(c *principal.Commit) { c.Header.DisplayName = fmt.Sprintf("%d by %d", round, n) })
			commits, entries = append(commits, c), append(entries, c.Writer)
		}
		verdicts, errs := make([]commit.Verdict, racers), make([]error, racers)
		together(func(n int) { verdicts[n], errs[n] = s.Principals.CommitPrincipal(s.ctx, commits[n]) })
		rows, err := s.Principals.ReadPrincipal(s.ctx, g.head.ID, principal.Query{Serial: true})
		s.ok(err)
		won := s.winner(verdicts, errs, entries, rows.Header.Writers, g.head.Seq+1)
		if want := commits[won].Header.DisplayName; rows.Header.DisplayName != want || rows.Header.Seq != g.head.Seq+1 {
			s.Fatalf("round %d: %q of seq %d is stored, not %q", round, rows.Header.DisplayName, rows.Header.Seq, want)
		}
		g.head = rows.Header
	}
}

func raceCreations(s *env) {
	for round := range 10 {
		key := fmt.Sprintf("key %d", round)
		var cs []commit.Creation
		for n := range racers {
			cs = append(cs, s.creation(key, fmt.Sprintf("c:x:%d", n)))
		}
		got := agreed(s, func(n int) (commit.Creation, error) { return s.Registers.PutCreationIfAbsent(s.ctx, cs[n], nil) })
		s.same("what is stored", s.putCreation(cs[0], nil), got)
	}
}

func raceSettings(s *env) {
	for round := range 10 {
		name := fmt.Sprintf("race %d of %s", round, s.tenant)
		got := agreed(s, func(n int) ([]byte, error) { return s.Registers.PutSettingIfAbsent(s.ctx, name, []byte{byte(n)}) })
		s.returns("what is stored", got)(s.Registers.PutSettingIfAbsent(s.ctx, name, []byte("late")))
	}
}

// raceIndexUpdates makes one state for each racer, in order, and applies them all at once,
// while the states after them are committed.
func raceIndexUpdates(s *env) {
	a, b := s.user("a"), s.user("b")
	for round := range 5 {
		it := s.newItem(fmt.Sprintf("item%d", round), principal.Public, a)
		var snapshots []*library.IndexUpdate
		for n := range racers {
			switch n % 4 {
			case 0:
				it.share(b, library.Viewing)
			case 1:
				it.move()
			case 2:
				it.setVisibility(principal.Visibility(1 + n%3))
			case 3:
				it.remove(b)
			}
			snapshots = append(snapshots, it.all(a, b))
		}
		errs := make([]error, racers)
		together(func(n int) { errs[n] = s.Contents.ApplyIndex(s.ctx, snapshots[(n*7+round)%racers]) })
		for _, err := range errs {
			s.ok(err)
		}
		ours := func(es []library.Entry) (own []library.Entry) {
			for _, e := range es {
				if e.Content == it.head.ID {
					own = append(own, e)
				}
			}
			return own
		}
		for bucket := principal.Private; bucket <= principal.Public; bucket++ {
			var want []library.Entry
			if bucket <= it.head.Visibility {
				want = []library.Entry{it.entryOf(a)}
			}
			s.same("entries of a", ours(s.page(library.Slice{Owner: a, Bucket: bucket, Limit: 100})), want)
			s.same("entries of b", ours(s.page(library.Slice{Owner: b, Bucket: bucket, Limit: 100})), []library.Entry(nil))
		}
		s.returns("role of b", []library.ContentRole{library.NoRole})(s.Libraries.Roles(s.ctx, b, []library.ContentID{it.head.ID}))
	}
}

// raceOvertaken applies a state for many principals while the next one is committed, and
// applied for the first of them.
func raceOvertaken(s *env) {
	first := s.user("a")
	all := []principal.ID{first}
	for n := range min(s.Contents.ApplyIndexBatch(), 400) - 1 {
		all = append(all, s.user(fmt.Sprintf("m%03d", n)))
	}
	it := s.newItem("item", principal.Private, all...)
	for round := range 30 {
		old := it.snapshot(all...)
		var overtaken error
		var done sync.WaitGroup
		begun := make(chan struct{})
		done.Go(func() {
			close(begun)
			overtaken = s.Contents.ApplyIndex(s.ctx, old)
		})
		<-begun
		it.move()
		it.applyIndex(first)
		done.Wait()
		s.ok(overtaken)
		s.wantLibrary(first, buckets(principal.Private, it.entryOf(first)))
		if s.Failed() {
			s.Fatalf("in round %d", round)
		}
	}
	it.applyIndex(all...)
	for _, p := range []principal.ID{all[len(all)/2], all[len(all)-1]} {
		s.wantLibrary(p, buckets(principal.Private, it.entryOf(p)))
	}
}

// raceDrops rewrites an entry in place while the older ones are dropped.
func raceDrops(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Private, a)
	it.applyIndex(a)
	for range 200 {
		old := it.entryOf(a)
		it.share(a, library.Viewing)
		now := it.snapshot(a)
		errs := make([]error, racers)
		together(func(n int) {
			if n == racers/2 {
				errs[n] = s.Contents.ApplyIndex(s.ctx, now)
				return
			}
			errs[n] = s.Libraries.DropEntries(s.ctx, a, []library.BucketEntry{{Bucket: principal.Private, Entry: old}})
		})
		for _, err := range errs {
			s.ok(err)
		}
		s.wantLibrary(a, buckets(principal.Private, it.entryOf(a)))
	}
}
