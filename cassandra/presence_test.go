package cassandra

import (
	"testing"
	"time"

	"carrel/core/clock"
)

// join joins, and gives whom it has found there.
func join(t *testing.T, s *Store, doing string) []Presence {
	t.Helper()
	others, err := s.Join(t.Context(), "desk", doing, nil)
	if err != nil {
		t.Fatal(err)
	}
	return others
}

func TestProcessesKnowOfEachOther(t *testing.T) {
	o := options(t)
	first, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if others := join(t, first, "carrel serve"); len(others) != 0 {
		t.Errorf("the first one finds %v", others)
	}
	second := open(t, o)
	others := join(t, second, "carrel copy")
	if len(others) != 1 || others[0].Host != "desk" || others[0].Doing != "carrel serve" {
		t.Fatalf("the second one finds %v", others)
	}
	if left := others[0].Left; left <= 0 || left > markLives {
		t.Errorf("the mark of the first one ends in %s", left)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if others := join(t, open(t, o), "carrel audit"); len(others) != 1 || others[0].Doing != "carrel copy" {
		t.Errorf("after the first one has ended, a third one finds %v", others)
	}
}

// A process that was killed is told of as long as it might be alive, and its
// mark ends by itself.
func TestAMarkOutlivesItsProcessForAWhile(t *testing.T) {
	o := options(t)
	killed := open(t, o)
	join(t, killed, "carrel serve")
	killed.session.Driver().Close()
	if others := join(t, open(t, o), "carrel copy"); len(others) != 1 || others[0].Left > markLives {
		t.Errorf("it finds %v", others)
	}
}

// A clock that is set back must not make a renewal the older write.
func TestARenewalIsNewerWhateverTheClockSays(t *testing.T) {
	o := options(t)
	at := clock.Of(time.Now())
	o.Now = func() clock.Instant { return at }
	s := open(t, o)
	m := &mark{host: "desk", doing: "carrel serve"}
	written := func() (stamp int64) {
		t.Helper()
		if _, err := s.remind(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := s.session.Driver().Query(`SELECT writetime(host) FROM gateway WHERE part = 0 AND id = ?`, m.id).WithContext(t.Context()).Scan(&stamp); err != nil {
			t.Fatal(err)
		}
		return stamp
	}
	before := written()
	at = at.Add(-time.Hour)
	if after := written(); after <= before {
		t.Errorf("a renewal an hour earlier was written at %d, the one before at %d", after, before)
	}
}

// Whom a renewal finds is told again.
func TestARenewalLooksForOthers(t *testing.T) {
	o := options(t)
	s, other := open(t, o), open(t, o)
	m := &mark{host: "desk", doing: "carrel copy"}
	if others, err := s.remind(t.Context(), m); err != nil || len(others) != 0 {
		t.Fatalf("alone, it finds %v, %v", others, err)
	}
	join(t, other, "carrel serve")
	if others, err := s.remind(t.Context(), m); err != nil || len(others) != 1 {
		t.Errorf("it finds %v, %v", others, err)
	}
}
