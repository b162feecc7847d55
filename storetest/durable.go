package storetest

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// durableAreas returns the checks for which a process must die.
func durableAreas() []durableArea {
	return []durableArea{
		{"Commit", []durableCheck{
			{"It must be durable when it returns, with everything this process wrote before it", durableCommit},
		}},
		{"CommitPrincipal", []durableCheck{
			{"It must apply whole or not at all, iff Seq is Base, and be durable when it returns", durablePrincipal},
		}},
		{"PutInFlightList", []durableCheck{
			{"It must be durable no later than a Commit of this process that follows it", durableList},
		}},
		{"PutReminder", []durableCheck{
			{"PutReminder must be durable no later than a Commit of this process that follows it", durableDue},
		}},
		{"PutText", []durableCheck{
			{"It must be durable when a Commit that follows it is", durableText},
		}},
		{"DropDraft", []durableCheck{
			{"It must be durable when it returns, and so must PutDraft", durableDrafts},
		}},
		{"PutBody", []durableCheck{
			{"It must be durable when a CommitPaste that follows it is", durableBody},
		}},
		{"PutEntry", []durableCheck{
			{"A put must be durable no later than an in-flight list that this process writes after it", durableEntry},
		}},
		{"Registers", []durableCheck{
			{"a creation and a setting that were returned are durable", durableRegisters},
		}},
	}
}

type durableArea struct {
	name   string
	checks []durableCheck
}

type durableCheck struct {
	name string
	run  func(s *env, crash func())
}

// RunDurable runs the checks of durability. open returns an empty store, and crash. crash ends
// its process without a warning, loses everything that may be lost, and returns the store as
// the next process finds it.
func RunDurable(t *testing.T, open func(t *testing.T) (s domain.Store, crash func() domain.Store)) {
	for n, a := range durableAreas() {
		t.Run(a.name, func(t *testing.T) {
			for m, c := range a.checks {
				t.Run(c.name, func(t *testing.T) {
					store, crash := open(t)
					s := newEnv(t, store, fmt.Sprintf("t%d-%d", 900+n, m))
					c.run(s, func() { s.Store = crash() })
				})
			}
		})
	}
}

func durableCommit(s *env, crash func()) {
	a := s.user("a")
	it, before := s.newItem("item", principal.Public, a), s.newItem("before", principal.Public, a)
	for range 5 {
		before.move()
		e := before.snapshot(a)
		e.All = true
		s.ok(s.Contents.ApplyIndex(s.ctx, e))
		s.ok(s.Libraries.SetBuilt(s.ctx, a, start))
		former := before.head.Unsettled[0].Position
		s.ok(s.Contents.CleanUp(s.ctx, &library.Cleanup{ID: before.head.ID, Positions: []clock.Instant{former}}))
		before.cleanedUp(former)
		r := commit.RequestRow{Key: commit.RequestKey{1}, Answer: []byte("x"), Until: s.later()}
		it.write(func(c *library.ContentCommit) {
			moved(c, principal.Public)
			c.Members = []library.Member{{Principal: s.user("b"), Role: library.Viewing}}
			c.Request = &r
		})
		crash()
		it.wantStored("item after a crash")
		before.wantStored("what was cleaned up before it")
		s.same("request row after a crash", s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request, &r)
		s.wantLibrary(a, buckets(principal.Public, before.entryOf(a)))
		s.wantShared(a, []library.Shared{{Content: before.head.ID, Role: library.Manages}})
		built, err := s.Libraries.Built(s.ctx, a, library.ByChange)
		s.ok(err)
		if !built {
			s.Fatal("built was lost")
		}
	}
}

func durablePrincipal(s *env, crash func()) {
	a := s.user("a")
	g := s.newPrincipal(s.group("g"), a)
	for range 3 {
		s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a)))
		g.put(s.user("b"), principal.GroupMember, false)
		crash()
		g.wantStored("group after a crash")
		s.wantMemberships(a, g.membership(a))
	}
}

func durableList(s *env, crash func()) {
	it := s.newItem("item", principal.Private, s.user("a"))
	l := commit.InFlightList{ID: s.listID(1), Stamp: int64(s.tick()), Block: s.block(1)}
	s.ok(s.Journal.PutInFlightList(s.ctx, l))
	it.move()
	crash()
	it.wantStored("item after a crash")
	s.same("lists after a crash", s.inFlightLists(), []commit.InFlightList{l})
	l.Stamp, l.Block = int64(s.tick()), s.block(2)
	s.ok(s.Journal.PutInFlightList(s.ctx, l))
	s.newPrincipal(s.user("a"))
	crash()
	s.same("lists after a crash that follows CommitPrincipal", s.inFlightLists(), []commit.InFlightList{l})
	s.ok(s.Journal.PutInFlightList(s.ctx, commit.InFlightList{ID: l.ID, Stamp: int64(s.tick())}))
	it.move()
	crash()
	s.same("lists after they were emptied", s.inFlightLists(), []commit.InFlightList(nil))
}

func durableDue(s *env, crash func()) {
	it := s.newItem("item", principal.Private, s.user("a"))
	d := commit.Reminder{At: start + 5, Kind: commit.Content, Key: string(it.head.ID), MTS: s.tick()}
	s.ok(s.Journal.PutReminder(s.ctx, d))
	it.move()
	crash()
	s.same("reminders after a crash", s.reminders(start+10, 1000), []commit.Reminder{d})
}

func durableText(s *env, crash func()) {
	it := s.newItem("item", principal.Private, s.user("a"))
	t := s.text(1, "body")
	s.ok(s.Texts.PutText(s.ctx, t))
	it.move()
	crash()
	s.wantTexts("after a crash", []note.TextID{t.ID}, t)
}

func durableDrafts(s *env, crash func()) {
	one, two := s.draft("a", 1, "one"), s.draft("a", 2, "two")
	s.putDraft(one, nil)
	s.putDraft(two, nil)
	s.dropDraft(one)
	crash()
	s.wantDrafts("after a crash", one.User, []string{one.Name, two.Name}, note.DraftRow{}, two)
}

func durableRegisters(s *env, crash func()) {
	c, late := s.creation("a", "c:x:1"), s.creation("a", "c:x:2")
	s.same("creation", s.putCreation(c, nil), c)
	crash()
	s.same("creation after a crash", s.putCreation(late, nil), c)
	name := "setting of " + s.tenant
	if _, err := s.Registers.PutSettingIfAbsent(s.ctx, name, []byte("one")); err != nil {
		s.Fatal(err)
	}
	crash()
	got, err := s.Registers.PutSettingIfAbsent(s.ctx, name, []byte("two"))
	s.ok(err)
	s.same("setting after a crash", got, []byte("one"))
}
