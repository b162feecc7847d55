package cassandra

import (
	"errors"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/copies"
)

// wantInFlight checks the error of InFlight.
func wantInFlight(t *testing.T, s *Store, what string, want error) {
	t.Helper()
	if _, _, err := s.InFlight(t.Context()); !errors.Is(err, want) {
		t.Errorf("%s: InFlight returns the error %v, want %v", what, err, want)
	}
}

// look makes a store read the marks and the lists.
func look(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Others(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.InFlightLists(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestInFlight_UnknownBesideTheFormerRelease: gateways of the former release do not keep their
// lists where one read returns them, and do not list all changes that pages depend on.
func TestInFlight_UnknownBesideTheFormerRelease(t *testing.T) {
	s := open(t, options(t))
	wantInFlight(t, s, "before the marks were read", errUnknownUsers)
	if _, err := s.Others(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantInFlight(t, s, "before all lists were read", errUnknownUsers)
	look(t, s)
	wantInFlight(t, s, "alone", nil)

	const id = "00000000-0000-4000-8000-000000000001"
	exec(t, s, `INSERT INTO gateway (part, id, host, doing) VALUES (0, ?, 'host', 'carrel serve') USING TTL 600`, id)
	look(t, s)
	wantInFlight(t, s, "with a gateway of the former release", errFormerRelease)
	exec(t, s, `DELETE FROM gateway WHERE part = 0 AND id = ?`, id)
	look(t, s)
	wantInFlight(t, s, "after it has gone", nil)

	if _, err := s.Register(t.Context(), "host", "carrel serve", nil); err != nil {
		t.Fatal(err)
	}
	look(t, s)
	wantInFlight(t, s, "with a gateway of this release", nil)

	exec(t, s, `INSERT INTO gateway (part, id, host, doing, lists) VALUES (0, ?, 'host', 'carrel serve', 1) USING TTL 600`, id)
	look(t, s)
	wantInFlight(t, s, "with a gateway on whose list nothing lingers", nil)
	if _, linger, err := s.InFlight(t.Context()); linger || err != nil {
		t.Errorf("entries linger on the lists of all gateways: %v, %v; want false", linger, err)
	}
	exec(t, s, `DELETE FROM gateway WHERE part = 0 AND id = ?`, id)
	look(t, s)

	for n := range 4 {
		name := string(rune('a' + n))
		exec(t, s, formerPutList, formerPart(name), name, 0, []byte{2}, 1000)
		if formerPart(name) == listPart {
			wantInFlight(t, s, "with a list of the former release that this read returns", errFormerRelease)
		}
		look(t, s)
		wantInFlight(t, s, "with a list of the former release", errFormerRelease)
		if err := s.DeleteInFlightList(t.Context(), formerInFlightList+commit.ListID(name), 1000); err != nil {
			t.Fatal(err)
		}
		look(t, s)
		wantInFlight(t, s, "after its list was taken over", nil)
	}
}

func TestVouching_NeedsRecentReadsOfThisReleaseOnly(t *testing.T) {
	v := new(vouching)
	want := func(what string, want error) {
		t.Helper()
		if err := v.check(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	want("nothing was looked at", errUnknownUsers)
	v.sawMarks(lingering, time.Now())
	v.sawLists(false)
	want("all are of this release", nil)
	v.sawMarks(lingering, time.Now().Add(-markLives-time.Second))
	want("marks were seen too long ago", errUnknownUsers)
	v.sawMarks(lingering, time.Now())
	wantLinger := func(what string, want bool) {
		t.Helper()
		if got := v.linger(); got != want {
			t.Errorf("%s: entries linger on all lists: %v, want %v", what, got, want)
		}
	}
	wantLinger("all are of this release", true)
	v.sawMarks(wholeLists, time.Now())
	wantLinger("one is of the former release", false)
	want("one is of the former release", nil)
	v.sawMarks(lingering, time.Now())
	wantLinger("it has just gone", false)
	v.since = v.since.Add(-copies.MaxAge)
	wantLinger("it has gone for as long as a copy may be served", true)
	v.apart = true
	want("data centres decide independently of each other", errApart)
}
