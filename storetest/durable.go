package storetest

import (
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// durableChecks returns the checks for which a process must die.
func durableChecks() []durableCheck {
	return []durableCheck{
		{"Commit", "It must be durable when it returns, with everything this process wrote before it", durableCommit},
		{"CommitPrincipal", "It must apply whole or not at all, iff Seq is Base, and be durable when it returns", durablePrincipal},
		{"PutInFlightList", "It must be durable no later than a Commit of this process that follows it", durableList},
		{"PutReminder", "PutReminder must be durable no later than a Commit of this process that follows it", durableDue},
		{"PutText", "It must be durable when a Commit that follows it is", durableText},
		{"DropDraft", "It must be durable when it returns, and so must PutDraft", durableDrafts},
		{"PutBody", "It must be durable when a CommitRow that follows it is", durableBody},
		{"PutEntry", "A put must be durable no later than an in-flight list that this process writes after it", durableEntry},
		{"Registers", "a creation and a setting that were returned are durable", durableRegisters},
	}
}

type durableCheck = checkOf[*durableEnv]

// durableEnv is the environment of a subtest whose process can die.
type durableEnv struct {
	*env
	reopen func() domain.Store
}

// crash lets the process of the store die, and opens the store again.
func (s *durableEnv) crash() { s.Store = s.reopen() }

// RunDurable runs the checks of durability. open returns an empty store, and crash. crash ends
// its process without a warning, loses everything that may be lost, and returns the store as
// the next process finds it.
func RunDurable(t *testing.T, open func(t *testing.T) (s domain.Store, crash func() domain.Store)) {
	runAll(t, durableChecks(), 900, func(t *testing.T, tenant string) *durableEnv {
		store, crash := open(t)
		return &durableEnv{newEnv(t, store, tenant), crash}
	})
}

func durableCommit(s *durableEnv) {
	a := s.user("a")
	it, before := s.newItem("item", principal.Public, a), s.newItem("before", principal.Public, a)
	for range 5 {
		before.move()
		before.applyAll(a)
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
		s.crash()
		it.wantStored("item after a crash")
		before.wantStored("what was cleaned up before it")
		s.same("request row after a crash", s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request, &r)
		s.wantLibrary(a, buckets(principal.Public, before.entryOf(a)))
		s.wantShared(a, []library.Shared{{Content: before.head.ID, Role: library.Manages}})
		s.returns("built", true)(s.Libraries.Built(s.ctx, a, library.ByChange))
	}
}

func durablePrincipal(s *durableEnv) {
	a := s.user("a")
	g := s.newPrincipal(s.group("g"), a)
	for range 3 {
		s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a)))
		g.put(s.user("b"), principal.GroupMember, false)
		s.crash()
		g.wantStored("group after a crash")
		s.wantMemberships(a, g.membership(a))
	}
}

func durableList(s *durableEnv) {
	it := s.newItem("item", principal.Private, s.user("a"))
	l := s.list(1, s.block(1))
	it.move()
	s.crash()
	it.wantStored("item after a crash")
	s.same("lists after a crash", s.inFlightLists(), []commit.InFlightList{l})
	s.rewrite(&l, s.block(2))
	s.newPrincipal(s.user("a"))
	s.crash()
	s.same("lists after a crash that follows CommitPrincipal", s.inFlightLists(), []commit.InFlightList{l})
	s.ok(s.Journal.PutInFlightList(s.ctx, commit.InFlightList{ID: l.ID, Stamp: int64(s.tick())}))
	it.move()
	s.crash()
	s.same("lists after they were emptied", s.inFlightLists(), []commit.InFlightList(nil))
}

func durableDue(s *durableEnv) {
	it := s.newItem("item", principal.Private, s.user("a"))
	d := commit.Reminder{At: start + 5, Kind: commit.Content, Key: string(it.head.ID), MTS: s.tick()}
	s.ok(s.Journal.PutReminder(s.ctx, d))
	it.move()
	s.crash()
	s.same("reminders after a crash", s.reminders(start+10, 1000), []commit.Reminder{d})
}

func durableText(s *durableEnv) {
	it := s.newItem("item", principal.Private, s.user("a"))
	t := s.text(1, "body")
	s.ok(s.Texts.PutText(s.ctx, t))
	it.move()
	s.crash()
	s.wantTexts("after a crash", []note.TextID{t.ID}, t)
}

func durableDrafts(s *durableEnv) {
	one, two := s.draft("a", 1, "one"), s.draft("a", 2, "two")
	s.putDraft(one, nil)
	s.putDraft(two, nil)
	s.dropDraft(one)
	s.crash()
	s.wantDrafts("after a crash", one.User, []string{one.Name, two.Name}, note.DraftRow{}, two)
}

func durableRegisters(s *durableEnv) {
	c, late := s.creation("a", "c:x:1"), s.creation("a", "c:x:2")
	s.same("creation", s.putCreation(c, nil), c)
	s.crash()
	s.same("creation after a crash", s.putCreation(late, nil), c)
	name := "setting of " + s.tenant
	s.putSetting(name, []byte("one"))
	s.crash()
	s.same("setting after a crash", s.putSetting(name, []byte("two")), []byte("one"))
}
