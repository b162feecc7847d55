package claim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/pebblestore"
)

// house is a small domain: houses whose names are unique. It implements claim.Record.
type house struct {
	seq   int64
	name  string
	ended bool
}

type houses struct {
	all map[string]*house
	// fences counts the fences that were sent. beforeFence, where set, is called before each.
	fences      int
	beforeFence func(n int, h *house) error
}

func (hs *houses) Look(_ context.Context, record string, k claim.Key) (claim.Look, error) {
	h := hs.all[record]
	if h == nil {
		return claim.Look{}, nil
	}
	look := claim.Look{Base: h.seq}
	switch {
	case h.ended:
		look.Status = claim.Ended
	case h.name == k.Name:
		look.Status = claim.Held
	}
	return look, nil
}

func (hs *houses) Fence(_ context.Context, record string, base int64) (bool, error) {
	h := hs.all[record]
	if h == nil {
		h = &house{}
		hs.all[record] = h
	}
	hs.fences++
	if hs.beforeFence != nil {
		if err := hs.beforeFence(hs.fences, h); err != nil {
			return false, err
		}
	}
	if h.seq != base {
		return false, nil
	}
	h.seq++
	return true, nil
}

func (hs *houses) End(context.Context, string) error { return nil }

// street has houses "h:1" and "h:2" and one name. Its clock is the test's.
type street struct {
	*testing.T
	*houses
	claims *claim.Claims
	store  *faulty
	clock  *handClock
}

// handClock is the real runtime with a clock that the test sets.
type handClock struct {
	*sched.Real
	now time.Time
}

func (c *handClock) Now() time.Time { return c.now }

// faulty is a store whose writes of claims a test has a say in.
type faulty struct {
	claim.Store
	puts int
	// put, where set, is called for each PutClaim, and carries it out or not.
	put func(n int, c claim.Claim, over *claim.Token, do func() (claim.Claim, error)) (claim.Claim, error)
}

func (f *faulty) PutClaim(ctx context.Context, c claim.Claim, over *claim.Token) (claim.Claim, error) {
	f.puts++
	do := func() (claim.Claim, error) { return f.Store.PutClaim(ctx, c, over) }
	if f.put == nil {
		return do()
	}
	return f.put(f.puts, c, over, do)
}

var name = claim.Key{Space: "houses", Name: "villa"}

func newStreet(t *testing.T) *street {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	rt := &handClock{Real: sched.NewReal(), now: time.Unix(1_800_000_000, 0)}
	t.Cleanup(func() {
		rt.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &street{T: t, houses: &houses{all: map[string]*house{"h:1": {seq: 5}, "h:2": {seq: 7}}}, store: &faulty{Store: store}, clock: rt}
	s.claims = claim.New(s.store, rt)
	s.claims.Record('h', s.houses)
	return s
}

// take has a house take the name, and compares the error.
func (s *street) take(record string, want error) {
	s.Helper()
	if err := s.claims.Take(s.Context(), name, record, s.claims.Until()); !errors.Is(err, want) {
		s.Fatalf("%s takes the name: %v, want %v", record, err, want)
	}
}

// stands is the claim of the name.
func (s *street) stands() claim.Claim {
	s.Helper()
	c, err := s.store.ReadClaim(s.Context(), name, true)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// lapse lets the claims that are there lapse.
func (s *street) lapse() { s.clock.now = s.clock.now.Add(claim.TakenWithin + time.Millisecond) }

func TestTake_RenewsItsOwnClaimWithANewToken(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	first := s.stands()
	s.clock.now = s.clock.now.Add(time.Second)
	s.take("h:1", nil)
	second := s.stands()
	if first.Token == second.Token || second.Until != first.Until.Add(time.Second) || second.Record != "h:1" {
		t.Errorf("the claim was %+v and is %+v", first, second)
	}
	if s.fences != 0 {
		t.Errorf("%d fences", s.fences)
	}
}

func TestTake_IsRefusedWhileAnotherHoldsTheNameOrMayTakeIt(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	before := s.stands()
	s.take("h:2", claim.ErrTaken) // it may be about to take it
	s.all["h:1"].name = name.Name
	s.lapse()
	s.take("h:2", claim.ErrTaken) // it holds it, whatever the time is
	if s.stands() != before || s.fences != 0 {
		t.Errorf("the claim is %+v after %d fences, want %+v", s.stands(), s.fences, before)
	}
}

func TestTake_TakesOverWhatHasLapsedBehindAFence(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	s.lapse()
	s.take("h:2", nil)
	if s.stands().Record != "h:2" || s.all["h:1"].seq != 6 {
		t.Errorf("the claim is %+v, and the seq of the former record %d, want 6", s.stands(), s.all["h:1"].seq)
	}
}

func TestTake_NeedsNoFenceAndNoWaitWhereTheRecordHasEnded(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	s.all["h:1"].ended = true
	s.take("h:2", nil)
	if s.stands().Record != "h:2" || s.fences != 0 {
		t.Errorf("the claim is %+v after %d fences", s.stands(), s.fences)
	}
}

func TestTake_JudgesARecordAgainThatWasNotFenced(t *testing.T) {
	for _, c := range []struct {
		what string
		name string
		want error
	}{{"it has taken the name", name.Name, claim.ErrTaken}, {"it has taken another one", "hut", nil}} {
		t.Run(c.what, func(t *testing.T) {
			s := newStreet(t)
			s.take("h:1", nil)
			s.lapse()
			s.beforeFence = func(_ int, h *house) error { h.seq++; h.name = c.name; return nil }
			s.take("h:2", c.want)
			if s.fences != 1 {
				t.Errorf("%d fences, want 1: a record that has changed needs none", s.fences)
			}
		})
	}
}

func TestTake_FencesAgainWhileTheOutcomeIsUnknown(t *testing.T) {
	for _, applied := range []bool{false, true} {
		s := newStreet(t)
		s.take("h:1", nil)
		s.lapse()
		s.beforeFence = func(n int, h *house) error {
			if n > 2 {
				return nil
			}
			if applied {
				h.seq++
			}
			return fault.Uncertain(errors.New("no answer"))
		}
		s.take("h:2", nil)
		if s.fences != 3 {
			t.Errorf("applied %t: %d fences, want 3", applied, s.fences)
		}
	}
}

func TestTake_StartsAgainWhereTheClaimHasChanged(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	s.lapse()
	renewals := 0
	s.store.put = func(_ int, c claim.Claim, over *claim.Token, do func() (claim.Claim, error)) (claim.Claim, error) {
		if c.Record == "h:2" && over != nil && renewals < 3 {
			renewals++ // by its owner, right before it is replaced
			mine := s.stands()
			mine.Token[0]++
			if _, err := s.store.Store.PutClaim(t.Context(), mine, over); err != nil {
				t.Fatal(err)
			}
		}
		return do()
	}
	s.take("h:2", nil)
	if s.fences != 4 {
		t.Errorf("%d fences, want one for each of 4 tries", s.fences)
	}
	renewals = -100
	s.lapse()
	err := s.claims.Take(t.Context(), name, "h:1", s.claims.Until())
	if err != nil {
		t.Errorf("a lone contender is refused: %v", err)
	}
	s.lapse()
	err = s.claims.Take(t.Context(), name, "h:2", s.claims.Until())
	if fault.ReasonOf(err) != fault.ReasonContention {
		t.Errorf("a claim that changes all the time: %v, want CONTENTION", err)
	}
}

// A write without an answer is sent again, with its token: it is the same write.
func TestTake_ResolvesAnUnknownOutcome(t *testing.T) {
	for _, applied := range []bool{false, true} {
		s := newStreet(t)
		var tokens []claim.Token
		s.store.put = func(n int, c claim.Claim, _ *claim.Token, do func() (claim.Claim, error)) (claim.Claim, error) {
			tokens = append(tokens, c.Token)
			if n > 2 {
				return do()
			}
			if applied {
				_, _ = do()
			}
			return claim.Claim{}, fault.Uncertain(errors.New("no answer"))
		}
		s.take("h:1", nil)
		if len(tokens) != 3 || tokens[0] != tokens[2] || s.stands().Token != tokens[0] {
			t.Errorf("applied %t: written with the tokens %x, and has %x", applied, tokens, s.stands().Token)
		}
	}
	s := newStreet(t)
	s.store.put = func(int, claim.Claim, *claim.Token, func() (claim.Claim, error)) (claim.Claim, error) {
		return claim.Claim{}, fault.Uncertain(errors.New("no answer"))
	}
	err := s.claims.Take(t.Context(), name, "h:1", s.claims.Until())
	if fault.CodeOf(err) != fault.Unavailable || fault.MayHaveCommitted(err) {
		t.Errorf("got %v: a claim changes nothing, so its outcome is not the caller's", err)
	}
}

func TestDropFormer_LeavesAClaimThatWasRenewed(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	former, err := s.claims.Former(t.Context(), name, "h:1")
	if err != nil || former == nil {
		t.Fatal(former, err)
	}
	if none, err := s.claims.Former(t.Context(), name, "h:2"); err != nil || none != nil {
		t.Errorf("another record has the former claim %+v, %v", none, err)
	}
	s.take("h:1", nil) // it comes back to the name before the removal arrives
	s.claims.DropFormer(t.Context(), former, nil)
	if s.stands() == (claim.Claim{}) {
		t.Error("the renewed claim was removed")
	}
	if former, err = s.claims.Former(t.Context(), name, "h:1"); err != nil {
		t.Fatal(err)
	}
	s.claims.DropFormer(t.Context(), former, nil)
	if s.stands() != (claim.Claim{}) {
		t.Error("the claim stays")
	}
}

func TestRelease_RemovesOnlyWhatNobodyHolds(t *testing.T) {
	s := newStreet(t)
	s.take("h:1", nil)
	for _, step := range []struct {
		what  string
		does  func()
		gone  bool
		fence int
	}{
		{"young", func() {}, false, 0},
		{"held", func() { s.all["h:1"].name = name.Name; s.lapse() }, false, 0},
		{"given up", func() { s.all["h:1"].name = "" }, true, 1},
	} {
		step.does()
		gone, err := s.claims.Release(t.Context(), s.stands())
		if err != nil || gone != step.gone || s.fences != step.fence {
			t.Errorf("%s: removed %t, %v, after %d fences", step.what, gone, err, s.fences)
		}
	}
	if s.stands() != (claim.Claim{}) {
		t.Errorf("the claim is %+v", s.stands())
	}
}

func TestTake_RefusesARecordOfNoKnownKind(t *testing.T) {
	s := newStreet(t)
	foreign := claim.Claim{Key: name, Record: "x:1", Token: claim.Token{1}, Until: clock.Of(s.clock.now)}
	if _, err := s.store.PutClaim(t.Context(), foreign, nil); err != nil {
		t.Fatal(err)
	}
	s.lapse()
	if err := s.claims.Take(t.Context(), name, "h:1", s.claims.Until()); err == nil || errors.Is(err, claim.ErrTaken) {
		t.Errorf("got %v", err)
	}
	if s.stands() != foreign {
		t.Errorf("the claim of a later version is %+v now", s.stands())
	}
}
