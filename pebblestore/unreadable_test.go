package pebblestore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/storetest"
)

// TestUnreadable_HeaderIsAnInternalError replaces a header with invalid bytes.
func TestUnreadable_HeaderIsAnInternalError(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	if err := s.db.Set(appendHeaderKey(nil, tableContent, "c:acme:item"), []byte{9, 9}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	_, err := s.Contents.Read(t.Context(), "c:acme:item", library.ContentQuery{})
	if fault.CodeOf(err) != fault.Internal || !strings.Contains(err.Error(), "c:acme:item") {
		t.Errorf("%v", err)
	}
	if _, err := commitOf(t.Context(), s, "item", 1); fault.CodeOf(err) != fault.Internal || fault.MayHaveCommitted(err) {
		t.Errorf("%v", err)
	}
	if err := s.Contents.ApplyIndex(t.Context(),
		&library.IndexUpdate{Header: &library.Header{Content: library.Content{ID: "c:acme:item"}}}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("%v", err)
	}
}

// TestUnreadable_InFlightListHidesNoOthers replaces in-flight lists with invalid bytes. The other
// lists are still read, and their recovery is not blocked.
func TestUnreadable_InFlightListHidesNoOthers(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	var want []commit.InFlightList
	for n, id := range []commit.ListID{"a", "c", "e"} {
		l := commit.InFlightList{ID: id, Stamp: int64(n + 1),
			Block: storetest.Block(commit.Entry{ID: commit.EntryID{byte(n)}, Kind: commit.Content, Key: "c:acme:item"})}
		if err := s.Journal.PutInFlightList(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		want = append(want, l)
	}
	for _, id := range []string{"b", "d"} {
		if err := s.db.Set(appendSingle(nil, tableInFlight, id), []byte{9, 9}, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Journal.InFlightLists(t.Context())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var bad *commit.UnreadableLists
	if !errors.As(err, &bad) || !slices.Equal(bad.IDs, []commit.ListID{"b", "d"}) || fault.CodeOf(err) != fault.Internal {
		t.Errorf("the error is %v", err)
	}
}

// TestUnreadable_ReminderHidesNoOthers checks that those before and after an unreadable reminder are
// returned with the error.
func TestUnreadable_ReminderHidesNoOthers(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	var want []commit.Reminder
	for n := range 3 {
		d := commit.Reminder{At: clock.Instant(10 * (n + 1)), Kind: commit.Content, Key: "c:acme:item", MTS: 5}
		if err := s.Journal.PutReminder(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		want = append(want, d)
	}
	for _, at := range []clock.Instant{5, 15} {
		if err := s.db.Set(appendDueKey(nil, commit.Reminder{At: at, Kind: commit.Content, Key: "c:acme:bad"}), []byte{9, 9},
			pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Journal.DueReminders(t.Context(), 100, 10)
	if fault.CodeOf(err) != fault.Internal {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rows returned with the error (-want +got):\n%s", diff)
	}
}
