package cassandra

import (
	"testing"
	"time"

	"carrel/library"
)

// The node runs on this machine, so how far the two clocks differ is known.
func TestTheSkewIsThatOfTheClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"right": 0, "ahead": 11 * time.Second, "behind": -700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Now = func() library.Instant { return library.InstantOf(time.Now().Add(ahead)) }
			s := open(t, o)
			if _, known := s.Skew(); known {
				t.Error("it is known before anybody asked")
			}
			s.WatchClock(t.Context())
			skew, known := s.Skew()
			if !known {
				t.Fatal("it is not known")
			}
			if off := (skew.Ahead - ahead).Abs(); off > skew.Within+time.Millisecond {
				t.Errorf("a clock that is %s ahead is found to be %s ahead, give or take %s", ahead, skew.Ahead, skew.Within)
			}
		})
	}
}

// What was measured once is not believed forever, and a question that nobody
// answers does not make it worse.
func TestASkewThatIsOldIsNotKnown(t *testing.T) {
	s := open(t, options(t))
	s.compareClocks(t.Context())
	before, _ := s.Skew()
	s.session.Close()
	s.compareClocks(t.Context())
	if after, known := s.Skew(); !known || after != before {
		t.Errorf("after a question without an answer it is %v, %t; before %v", after, known, before)
	}
	s.clocks.at = s.clocks.at.Add(-clockGood)
	if _, known := s.Skew(); known {
		t.Error("it is known although it was measured a minute ago")
	}
}

func TestTheMiddleOfSeveralClocks(t *testing.T) {
	reading := func(node string, ahead, within time.Duration) clockReading {
		return clockReading{node, Skew{Ahead: ahead, Within: within}}
	}
	for _, tc := range []struct {
		name     string
		readings []clockReading
		want     Skew
	}{
		{"one node", []clockReading{reading("a", 5, 1)}, Skew{5, 1}},
		{"the best answer of a node", []clockReading{reading("a", 90, 50), reading("a", 5, 1), reading("a", 70, 9)}, Skew{5, 1}},
		{"one of three is wrong", []clockReading{reading("a", 4, 1), reading("b", 9000, 1), reading("c", 5, 2)}, Skew{5, 2}},
		{"one of three is wrong the other way", []clockReading{reading("a", 4, 1), reading("b", -9000, 1), reading("c", 5, 2)}, Skew{4, 1}},
		{"two do not agree", []clockReading{reading("a", 9000, 1), reading("b", -5, 1)}, Skew{-5, 1}},
		{"a node that answers often counts once", []clockReading{reading("a", 9000, 1), reading("a", 9000, 1), reading("a", 9000, 1), reading("b", 1, 1), reading("c", 2, 1)}, Skew{2, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := middle(tc.readings); got != tc.want {
				t.Errorf("it is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestASchemaThatWasTakenAwayIsNotCurrent(t *testing.T) {
	s := open(t, options(t))
	current := func() bool {
		t.Helper()
		ok, err := s.SchemaCurrent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !current() {
		t.Error("the schema of a new keyspace is not current")
	}
	exec := func(stmt string, args ...any) {
		t.Helper()
		if err := s.session.Query(stmt, args...).WithContext(t.Context()).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO schema_version (part, version, name, checksum) VALUES (0, 999, 'of a later program', 'x')`)
	if !current() {
		t.Error("a later schema is refused")
	}
	exec(`UPDATE schema_version SET checksum = 'another' WHERE part = 0 AND version = 1`)
	if current() {
		t.Error("a schema of other migrations passes")
	}
}
