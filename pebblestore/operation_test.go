package pebblestore

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// observed opens a store, and returns it with a function that returns the calls since the last time.
func observed(t *testing.T) (*Store, func() []Call) {
	var calls []Call
	s := openStore(t, "", Options{FS: vfs.NewMem(), Observe: func(_ context.Context, c Call) { calls = append(calls, c) }})
	return s, func() []Call {
		taken := calls
		calls = nil
		return taken
	}
}

// TestObserve_EveryMethodIsObserved calls each method of the store with a context that has ended.
func TestObserve_EveryMethodIsObserved(t *testing.T) {
	s, taken := observed(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	called := 0
	for _, store := range reflect.ValueOf(s.Store).Fields() {
		for m := range store.Type().Methods() {
			if m.Name == "ApplyIndexBatch" { // It calls nothing.
				continue
			}
			method := store.MethodByName(m.Name)
			args := []reflect.Value{reflect.ValueOf(ended)}
			for n := 1; n < method.Type().NumIn(); n++ {
				args = append(args, reflect.Zero(method.Type().In(n)))
			}
			method.Call(args)
			called++
			if calls := taken(); len(calls) != 1 || calls[0].Operation == "" || !errors.Is(calls[0].Err, context.Canceled) {
				t.Errorf("%s: observed %+v", m.Name, calls)
			}
		}
	}
	if called < 70 {
		t.Errorf("the store has %d methods", called)
	}
}

func TestObserve_OutcomeOfACall(t *testing.T) {
	s, taken := observed(t)
	change := &library.ContentCommit{ID: "c:acme:item", Header: library.Header{Seq: 1}}
	if err := s.db.Set(appendDueKey(nil, commit.Reminder{At: 5, Kind: commit.Content, Key: "c:acme:bad"}), []byte{9, 9},
		pebble.Sync); err != nil {
		t.Fatal(err)
	}
	person := &principal.Commit{ID: "u:acme:ann", Header: principal.Header{Seq: 1}}
	for _, tc := range []struct {
		name, operation string
		call            func() error
		refused         bool
		failed          bool
	}{
		{"applied", "commit", func() error { _, err := s.Contents.Commit(t.Context(), change); return err }, false, false},
		{"refused", "commit", func() error { _, err := s.Contents.Commit(t.Context(), change); return err }, true, false},
		{"applied", "commit a principal", func() error { _, err := s.Principals.CommitPrincipal(t.Context(), person); return err }, false, false},
		{"refused", "commit a principal", func() error { _, err := s.Principals.CommitPrincipal(t.Context(), person); return err }, true, false},
		{"a row that cannot be read", "read reminders",
			func() error { _, err := s.Journal.DueReminders(t.Context(), clock.Instant(9), 9); return err },
			false, true},
	} {
		err := tc.call()
		calls := taken()
		if len(calls) != 1 {
			t.Fatalf("%s: observed %+v", tc.name, calls)
		}
		c := calls[0]
		if c.Operation != tc.operation || c.Refused != tc.refused || c.Took <= 0 || c.Err != err || (err != nil) != tc.failed ||
			tc.failed && !errors.As(err, new(*fault.Error)) {
			t.Errorf("%s: observed %+v, the error is %v", tc.name, c, err)
		}
	}
}

// TestRead_SerialWaitsForAWriteInProgress: a conditional write holds the lock of its partition until it
// is durable. Other reads do not wait for it.
func TestRead_SerialWaitsForAWriteInProgress(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	ctx := t.Context()
	const item, group = "c:acme:item", "g:acme:group"
	for name, tc := range map[string]struct {
		header []byte
		read   func(serial bool) error
	}{
		"item": {appendHeaderKey(nil, tableContent, item), func(serial bool) error {
			_, err := s.Contents.Read(ctx, item, library.ContentQuery{Serial: serial})
			return err
		}},
		"members of an item": {appendHeaderKey(nil, tableContent, item), func(serial bool) error {
			_, err := s.Contents.MembersPage(ctx, item, "", 1, serial)
			return err
		}},
		"group": {appendHeaderKey(nil, tablePrincipal, group), func(serial bool) error {
			_, err := s.Principals.ReadPrincipal(ctx, group, principal.Query{Serial: serial})
			return err
		}},
		"members of a group": {appendHeaderKey(nil, tablePrincipal, group), func(serial bool) error {
			_, err := s.Principals.GroupMembersPage(ctx, group, "", 1, serial)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			writing := s.locks.of(tc.header)
			writing.Lock()
			done := make(chan error, 1)
			go func() { done <- tc.read(true) }()
			for range 1000 {
				if err := tc.read(false); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-done:
				t.Errorf("the serial read has ended: %v", err)
				done <- nil
			default:
			}
			writing.Unlock()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
