package cassandra

import (
	"testing"
	"time"

	"carrel/core/clock"
)

// join registers a process and returns the others.
func join(t *testing.T, s *Store, doing string) []Presence {
	t.Helper()
	others, err := s.Register(t.Context(), "host-1", doing, nil)
	if err != nil {
		t.Fatal(err)
	}
	return others
}

func TestPresence_ProcessesFindEachOther(t *testing.T) {
	o := options(t)
	first, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if others := join(t, first, "carrel serve"); len(others) != 0 {
		t.Errorf("the first process finds %v", others)
	}
	second := open(t, o)
	others := join(t, second, "carrel copy")
	if len(others) != 1 || others[0].Host != "host-1" || others[0].Doing != "carrel serve" {
		t.Fatalf("the second process finds %v", others)
	}
	if expiresIn := others[0].ExpiresIn; expiresIn <= 0 || expiresIn > markLives {
		t.Errorf("the mark of the first process expires in %s", expiresIn)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if others := join(t, open(t, o), "carrel audit"); len(others) != 1 || others[0].Doing != "carrel copy" {
		t.Errorf("after the first process has ended, a third finds %v", others)
	}
}

// TestPresence_KilledProcessIsListedUntilItsMarkExpires: a killed process is listed as long as it
// might be alive.
func TestPresence_KilledProcessIsListedUntilItsMarkExpires(t *testing.T) {
	o := options(t)
	killed := open(t, o)
	join(t, killed, "carrel serve")
	killed.session.Driver().Close()
	if others := join(t, open(t, o), "carrel copy"); len(others) != 1 || others[0].ExpiresIn > markLives {
		t.Errorf("it finds %v", others)
	}
}

// TestPresence_RenewalIsNewerWhateverTheClockSays: a renewal is newer than the previous write even
// if the clock was set back.
func TestPresence_RenewalIsNewerWhateverTheClockSays(t *testing.T) {
	o := options(t)
	at := clock.Of(time.Now())
	o.Now = func() clock.Instant { return at }
	s := open(t, o)
	m := &mark{host: "host-1", doing: "carrel serve"}
	written := func() (stamp int64) {
		t.Helper()
		if _, err := s.renewAndRead(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := s.session.Driver().Query(`SELECT writetime(host) FROM gateway WHERE part = 0 AND id = ?`,
			m.id).WithContext(t.Context()).Scan(&stamp); err != nil {
			t.Fatal(err)
		}
		return stamp
	}
	before := written()
	at = at.Add(-time.Hour)
	if after := written(); after <= before {
		t.Errorf("a renewal with the clock set back was written at %d, the one before at %d", after, before)
	}
}

// TestPresence_RenewalFindsOthers: a renewal returns the processes that have joined since.
func TestPresence_RenewalFindsOthers(t *testing.T) {
	o := options(t)
	s, other := open(t, o), open(t, o)
	m := &mark{host: "host-1", doing: "carrel copy"}
	if others, err := s.renewAndRead(t.Context(), m); err != nil || len(others) != 0 {
		t.Fatalf("alone, it finds %v, %v", others, err)
	}
	join(t, other, "carrel serve")
	if others, err := s.renewAndRead(t.Context(), m); err != nil || len(others) != 1 {
		t.Errorf("it finds %v, %v", others, err)
	}
}
