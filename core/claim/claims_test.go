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

// testRecord is a record with a unique name. testRecords implements claim.Record.
type testRecord struct {
	seq    int64
	number int64
	name   string
	ended  bool
}

type testRecords struct {
	all map[string]*testRecord
	// fences counts the fences that were sent. beforeFence, if set, is called before each.
	fences      int
	beforeFence func(n int, h *testRecord) error
}

func (rs *testRecords) Look(_ context.Context, record string, k claim.Key) (claim.Look, error) {
	h := rs.all[record]
	if h == nil {
		return claim.Look{}, nil
	}
	look := claim.Look{Base: h.seq, Number: h.number}
	switch {
	case h.ended:
		look.Status = claim.Ended
	case h.name == k.Name:
		look.Status = claim.Held
	}
	return look, nil
}

func (rs *testRecords) Fence(_ context.Context, record string, base int64) (bool, error) {
	h := rs.all[record]
	if h == nil {
		h = &testRecord{}
		rs.all[record] = h
	}
	rs.fences++
	if rs.beforeFence != nil {
		if err := rs.beforeFence(rs.fences, h); err != nil {
			return false, err
		}
	}
	if h.seq != base {
		return false, nil
	}
	h.seq++
	return true, nil
}

func (rs *testRecords) End(context.Context, string) error { return nil }

// env has the records "h:1" and "h:2", one name, and a clock that the test sets.
type env struct {
	*testing.T
	*testRecords
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

// faulty is a store whose PutClaim a test can intercept.
type faulty struct {
	claim.Store
	puts int
	// put, if set, is called instead of each PutClaim; do performs the call.
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

var name = claim.Key{Space: "test", Name: "villa"}

func newEnv(t *testing.T) *env {
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
	records := &testRecords{all: map[string]*testRecord{"h:1": {seq: 5}, "h:2": {seq: 7}}}
	s := &env{T: t, testRecords: records, store: &faulty{Store: store.Claims}, clock: rt}
	s.claims = claim.New(s.store, rt, claim.Records{'h': s.testRecords})
	return s
}

// take takes the name for a record, and compares the error.
func (s *env) take(record string, want error) {
	s.Helper()
	if err := s.claims.Take(s.Context(), name, record, s.claims.Until()); !errors.Is(err, want) {
		s.Fatalf("%s takes the name: %v, want %v", record, err, want)
	}
}

// stored returns the stored claim of the name.
func (s *env) stored() claim.Claim {
	s.Helper()
	c, err := s.store.ReadClaim(s.Context(), name, true)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// lapse moves the clock past the end of all claims.
func (s *env) lapse() { s.clock.now = s.clock.now.Add(claim.TakenWithin + time.Millisecond) }

func TestTake_RenewsItsOwnClaimWithANewToken(t *testing.T) {
	s := newEnv(t)
	s.take("h:1", nil)
	first := s.stored()
	s.clock.now = s.clock.now.Add(time.Second)
	s.take("h:1", nil)
	second := s.stored()
	if first.Token == second.Token || second.Until != first.Until.Add(time.Second) || second.Record != "h:1" {
		t.Errorf("the claim was %+v and is %+v", first, second)
	}
	if s.fences != 0 {
		t.Errorf("%d fences", s.fences)
	}
}

func TestTake_WhileAnotherHoldsOrMayTakeTheNameIsRefused(t *testing.T) {
	s := newEnv(t)
	s.take("h:1", nil)
	before := s.stored()
	s.take("h:2", claim.ErrTaken) // it may be about to take it
	s.all["h:1"].name = name.Name
	s.lapse()
	s.take("h:2", claim.ErrTaken) // it holds it, at any time
	if s.stored() != before || s.fences != 0 {
		t.Errorf("the claim is %+v after %d fences, want %+v", s.stored(), s.fences, before)
	}
}

func TestTake_FencesTheRecordOfALapsedClaim(t *testing.T) {
	s := newEnv(t)
	s.take("h:1", nil)
	s.lapse()
	s.take("h:2", nil)
	if s.stored().Record != "h:2" || s.all["h:1"].seq != 6 {
		t.Errorf("the claim is %+v, and the seq of the former record %d, want 6", s.stored(), s.all["h:1"].seq)
	}
}

func TestTake_OfEndedRecordNeedsNoFenceAndNoWait(t *testing.T) {
	s := newEnv(t)
	s.take("h:1", nil)
	s.all["h:1"].ended = true
	s.take("h:2", nil)
	if s.stored().Record != "h:2" || s.fences != 0 {
		t.Errorf("the claim is %+v after %d fences", s.stored(), s.fences)
	}
}

func TestTake_RefusedFenceReadsTheRecordAgain(t *testing.T) {
	for _, c := range []struct {
		what string
		name string
		want error
	}{{"it has taken the name", name.Name, claim.ErrTaken}, {"it has taken another one", "hut", nil}} {
		t.Run(c.what, func(t *testing.T) {
			s := newEnv(t)
			s.take("h:1", nil)
			s.lapse()
			s.beforeFence = func(_ int, h *testRecord) error { h.seq++; h.name = c.name; return nil }
			s.take("h:2", c.want)
			if s.fences != 1 {
				t.Errorf("%d fences, want 1: a record that has changed needs none", s.fences)
			}
		})
	}
}

func TestTake_FencesAgainWhileTheOutcomeIsUnknown(t *testing.T) {
	for _, applied := range []bool{false, true} {
		s := newEnv(t)
		s.take("h:1", nil)
		s.lapse()
		s.beforeFence = func(n int, h *testRecord) error {
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

func TestTake_ChangedClaimStartsAgain(t *testing.T) {
	s := newEnv(t)
	s.take("h:1", nil)
	s.lapse()
	renewals := 0
	s.store.put = func(_ int, c claim.Claim, over *claim.Token, do func() (claim.Claim, error)) (claim.Claim, error) {
		if c.Record == "h:2" && over != nil && renewals < 3 {
			renewals++ // by its owner, right before it is replaced
			mine := s.stored()
			mine.Token[0]++
			if _, err := s.store.Store.PutClaim(t.Context(), mine, over); err != nil {
				t.Fatal(err)
			}
		}
		return do()
	}
	s.take("h:2", nil)
	if s.fences != 4 {
		t.Errorf("%d fences, want one for each of the 4 tries", s.fences)
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
		t.Errorf("a claim that keeps changing: %v, want CONTENTION", err)
	}
}

// A write without an answer is sent again with the same token: it is the same write.
func TestTake_ResolvesAnUnknownOutcome(t *testing.T) {
	for _, applied := range []bool{false, true} {
		s := newEnv(t)
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
		if len(tokens) != 3 || tokens[0] != tokens[2] || s.stored().Token != tokens[0] {
			t.Errorf("applied %t: written with the tokens %x, and has %x", applied, tokens, s.stored().Token)
		}
	}
	s := newEnv(t)
	s.store.put = func(int, claim.Claim, *claim.Token, func() (claim.Claim, error)) (claim.Claim, error) {
		return claim.Claim{}, fault.Uncertain(errors.New("no answer"))
	}
	err := s.claims.Take(t.Context(), name, "h:1", s.claims.Until())
	if fault.CodeOf(err) != fault.Unavailable || fault.MayHaveCommitted(err) {
		t.Errorf("got %v, want UNAVAILABLE that is not uncertain: a claim changes nothing by itself", err)
	}
}

func TestDropFormer_KeepsARenewedClaim(t *testing.T) {
	s := newEnv(t)
	s.take("h:1", nil)
	former, err := s.claims.Former(t.Context(), name, "h:1")
	if err != nil || former == nil {
		t.Fatal(former, err)
	}
	if none, err := s.claims.Former(t.Context(), name, "h:2"); err != nil || none != nil {
		t.Errorf("another record has the former claim %+v, error %v", none, err)
	}
	s.take("h:1", nil) // it takes the name again before the removal arrives
	s.claims.DropFormer(t.Context(), former, nil)
	if s.stored() == (claim.Claim{}) {
		t.Error("the renewed claim was removed")
	}
	if former, err = s.claims.Former(t.Context(), name, "h:1"); err != nil {
		t.Fatal(err)
	}
	s.claims.DropFormer(t.Context(), former, nil)
	if s.stored() != (claim.Claim{}) {
		t.Error("the claim stays")
	}
}

func TestRelease_RemovesOnlyUnheldClaims(t *testing.T) {
	s := newEnv(t)
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
		gone, err := s.claims.Release(t.Context(), s.stored())
		if err != nil || gone != step.gone || s.fences != step.fence {
			t.Errorf("%s: removed %t, %v, after %d fences", step.what, gone, err, s.fences)
		}
	}
	if s.stored() != (claim.Claim{}) {
		t.Errorf("the claim is %+v", s.stored())
	}
}

// Taken answers as Take would, and changes nothing.
func TestTaken_AnswersAsTakeWould(t *testing.T) {
	s := newEnv(t)
	for _, step := range []struct {
		what string
		does func()
		want bool
	}{
		{"no claim", func() {}, false},
		{"a young claim", func() { s.take("h:1", nil) }, true},
		{"a lapsed claim", func() { s.lapse() }, false},
		{"held", func() { s.all["h:1"].name = name.Name }, true},
		{"ended", func() { s.all["h:1"].ended = true }, false},
	} {
		step.does()
		before := s.stored()
		if taken, err := s.claims.Taken(t.Context(), name, "h:2"); err != nil || taken != step.want {
			t.Errorf("%s: taken %t, %v", step.what, taken, err)
		}
		if taken, err := s.claims.Taken(t.Context(), name, "h:1"); err != nil || taken {
			t.Errorf("%s: taken from its own record: %t, %v", step.what, taken, err)
		}
		if s.stored() != before || s.fences != 0 {
			t.Errorf("%s: the claim is %+v after %d fences", step.what, s.stored(), s.fences)
		}
	}
}

// The number of a claim is at least the one that is asked for, and larger than those of the claim that it
// replaces and of its record.
func TestTakeNumbered_NumbersGrow(t *testing.T) {
	s := newEnv(t)
	for _, step := range []struct {
		what         string
		record       string
		least        int64
		numberOfLast int64 // of the record that has the claim, which has ended
		want         int64
	}{
		{"the first claim", "h:1", 100, 0, 100},
		{"larger than those before", "h:2", 200, 150, 200},
		{"smaller than the claim", "h:1", 50, 0, 201},
		{"smaller than the record", "h:2", 50, 300, 301},
		{"equal to the record", "h:1", 400, 400, 401},
		{"equal to the claim", "h:2", 401, 0, 402},
		{"the same record again", "h:2", 50, 0, 403},
	} {
		last := s.stored().Record
		s.all["h:1"], s.all["h:2"] = &testRecord{}, &testRecord{}
		if last != "" {
			s.all[last].number, s.all[last].ended = step.numberOfLast, true
		}
		got, err := s.claims.TakeNumbered(t.Context(), name, step.record, s.claims.Until(), step.least)
		if stored := s.stored(); err != nil || got != step.want || stored.Token.Number() != got || stored.Record != step.record {
			t.Errorf("%s: the number is %d, want %d, and the claim is %+v, %v", step.what, got, step.want, stored, err)
		}
	}
	// A record that is fenced has a number too.
	s.all["h:2"] = &testRecord{number: 500}
	s.lapse()
	if got, err := s.claims.TakeNumbered(t.Context(), name, "h:1", s.claims.Until(), 50); err != nil || got != 501 || s.fences != 1 {
		t.Errorf("after a fence: the number is %d, %v", got, err)
	}
}

func TestTake_RefusesARecordOfUnknownKind(t *testing.T) {
	s := newEnv(t)
	foreign := claim.Claim{Key: name, Record: "x:1", Token: claim.Token{1}, Until: clock.Of(s.clock.now)}
	if _, err := s.store.PutClaim(t.Context(), foreign, nil); err != nil {
		t.Fatal(err)
	}
	s.lapse()
	if err := s.claims.Take(t.Context(), name, "h:1", s.claims.Until()); err == nil || errors.Is(err, claim.ErrTaken) {
		t.Errorf("got %v", err)
	}
	if s.stored() != foreign {
		t.Errorf("the claim of an unknown kind is now %+v", s.stored())
	}
}
