package cassandra

import (
	"errors"
	"strings"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// TestReady_MeasuresTheSkew runs the node on this machine, so the real difference of the clocks is
// known.
func TestReady_MeasuresTheSkew(t *testing.T) {
	o := options(t)
	for _, tc := range []struct {
		name    string
		ahead   time.Duration
		ready   error
		changes bool
	}{
		{"right", 0, nil, true},
		{"a little behind", -450 * time.Millisecond, nil, true},
		{"behind", -700 * time.Millisecond, ErrClock, true},
		{"ahead", 9 * time.Second, ErrClock, true},
		{"far ahead", 11 * time.Second, ErrClock, false},
		{"far behind", -time.Hour, ErrClock, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o.Now = func() clock.Instant { return clock.Of(time.Now().Add(tc.ahead)) }
			s := open(t, o)
			if _, known := s.Skew(); known || s.Ahead() != 0 {
				t.Error("the skew is known before it was measured")
			}
			s.WatchClock(t.Context())
			skew, known := s.Skew()
			if !known {
				t.Fatal("the skew is not known")
			}
			if off := (skew.Ahead - tc.ahead).Abs(); off > skew.Within+time.Millisecond {
				t.Errorf("a clock that is %s ahead is found to be %s ahead, give or take %s", tc.ahead, skew.Ahead, skew.Within)
			}
			if err := s.Ready(t.Context()); !errors.Is(err, tc.ready) {
				t.Errorf("ready: %v, want %v", err, tc.ready)
			}
			if err := create(t, s); (err == nil) != tc.changes || err != nil && fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("a change: %v", err)
			}
		})
	}
}

// create creates a user with a Service that uses the skew, and reads it.
func create(t *testing.T, s *Store) error {
	t.Helper()
	runtime := sched.NewReal()
	defer runtime.Close()
	svc := domaintest.Open(t, domain.Config{Store: s.Store, Runtime: runtime, Ahead: s.Ahead,
		Journal: journal.New(t.Context(), s.Journal, runtime, nil)})
	id := principal.UserID("a", strings.ReplaceAll(strings.ToLower(t.Name()[len("TestReady_MeasuresTheSkew/"):]), "_", "-"))
	_, err := svc.People.CreateUser(t.Context(), &principal.Viewer{User: id}, principal.CreateUser{
		Tenant: id.Tenant(), Name: id.Name(), DisplayName: "Ann", Email: id.Name() + "@example.com", Visibility: principal.Public,
	})
	found, readErr := svc.People.Principals(t.Context(), &principal.Viewer{User: id}, []principal.ID{id})
	if readErr != nil || (found[0] != nil) != (err == nil) {
		t.Errorf("the change returned %v; the user read afterwards is %v, %v", err, found[0], readErr)
	}
	return err
}

// TestSkew_WithoutAnAnswerStays: a measurement that fails keeps the previous one.
func TestSkew_WithoutAnAnswerStays(t *testing.T) {
	s := open(t, options(t))
	s.WatchClock(t.Context())
	before, _ := s.Skew()
	s.session.Driver().Close()
	s.WatchClock(t.Context())
	if after, known := s.Skew(); !known || after != before {
		t.Errorf("after a failed measurement it is %v, %t; before %v", after, known, before)
	}
}

func TestReady_RemovedSchemaIsNotCurrent(t *testing.T) {
	s := open(t, ownOptions(t))
	current := func() bool {
		t.Helper()
		err := s.Ready(t.Context())
		if err != nil && !errors.Is(err, ErrSchema) {
			t.Fatal(err)
		}
		return err == nil
	}
	if !current() {
		t.Error("the schema of a new keyspace is reported as not current")
	}
	exec := func(stmt string, args ...any) {
		t.Helper()
		if err := s.session.Driver().Query(stmt, args...).WithContext(t.Context()).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO schema_version (part, version, name, checksum) VALUES (0, 999, 'of a later program', 'x')`)
	if !current() {
		t.Error("a later schema is refused")
	}
	exec(`UPDATE schema_version SET checksum = 'another' WHERE part = 0 AND version = 1`)
	if current() {
		t.Error("a schema of other migrations is accepted")
	}
}
