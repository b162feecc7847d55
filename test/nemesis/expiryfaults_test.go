package nemesis

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/library"
)

// expiring is an item for which the tests also read whether it expires.
var expiring = subject{table: "content", prefix: "c:acme:", make: create, look: (*fixture).lookAtExpiring, before: items.before}

// expiryOperations set an expiry. They write two reminders before the decision. Nothing else is
// derived from an expiry, so nothing is added to the in-flight list.
var expiryOperations = []operation{
	{name: "set an expiry", of: &expiring, steps: []step{stepRead, stepDue, stepDay, stepDecide}, do: setExpiry,
		changes: func(s *seen) { s.Expires = true }},
}

func setExpiry(ctx context.Context, s *services, id string, key *string) error {
	at := expiryOf(id)
	_, err := s.Library.UpdateContent(ctx, ownerViewer(), library.UpdateContent{ID: id, ExpiresAt: input.Some(&at), IdempotencyKey: key})
	return err
}

// farAhead is when the items of these operations expire, long after every run. Each expires on a
// day of its own, because the reminder of a day leads to every item that expires on that day. By
// afterAll all of them have expired.
var (
	farAhead = time.Date(2100, time.January, 1, 12, 0, 0, 0, time.UTC)
	afterAll = farAhead.AddDate(100, 0, 0)
)

// expiryOf returns when an item expires.
func expiryOf(id string) clock.Instant {
	var n, try int
	if _, err := fmt.Sscanf(library.ContentID(id).Name(), "fault-%d-%d", &n, &try); err != nil {
		panic(err)
	}
	return clock.Of(farAhead.AddDate(0, 0, n+1000*try))
}

// lookAtExpiring is look for items that expire. It registers them for expireAll.
func (r *fixture) lookAtExpiring(t *testing.T, id string) seen {
	t.Helper()
	s := r.look(t, id)
	if s.Expires {
		r.mu.Lock()
		defer r.mu.Unlock()
		due := commit.Reminder{At: expiryOf(id), Kind: commit.Content, Key: id}
		if !slices.Contains(r.expiring, due) {
			r.expiring = append(r.expiring, due)
		}
	}
	return s
}

// expireAll lets a process delete what has expired, with its clock after all expiries. An item
// without a reminder would still exist afterwards.
func (r *fixture) expireAll(t *testing.T) {
	t.Helper()
	for _, id := range r.withoutReminder(t) {
		t.Errorf("no reminder says that %s expires", id)
	}
	d := openInstance(t, r.options(r.host), time.Until(afterAll), everyRule)
	until(t, runTimeout, "the end of all that expires", func() bool {
		if err := d.journal.ExpireDue(t.Context(), d.service.Background()); err != nil {
			t.Fatal(err)
		}
		left, err := d.store.Journal.DueReminders(t.Context(), clock.Of(afterAll), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	})
	d.idle(t)
	inFlightList := d.journal.InFlightList()
	d.close(t)
	r.healthy.takeOver(t, inFlightList)
	for _, due := range r.expiring {
		if got := r.look(t, due.Key); !got.equal(seen{}) {
			t.Errorf("%s expires at %s, but still exists after that: %v", due.Key, due.At, got)
		}
	}
}

// mostDue exceeds the number of items that expire here.
const mostDue = 10_000

// withoutReminder returns the items that expire without a reminder.
func (r *fixture) withoutReminder(t *testing.T) (ids []library.ContentID) {
	t.Helper()
	reminders, err := r.healthy.store.Journal.DueReminders(t.Context(), clock.Of(afterAll), mostDue)
	if err != nil {
		t.Fatal(err)
	}
	for _, due := range r.expiring {
		if !slices.ContainsFunc(reminders, func(d commit.Reminder) bool { return d.At == due.At && d.Key == due.Key }) {
			ids = append(ids, library.ContentID(due.Key))
		}
	}
	return ids
}

// TestWithoutReminder_ReportsSuchAnItem removes the reminder of an item that expires. withoutReminder, by
// which expireAll finds such items, must report it.
func TestWithoutReminder_ReportsSuchAnItem(t *testing.T) {
	r := newFixture(t)
	defer r.healthy.close(t)
	id := expiring.prefix + "fault-0-0"
	for _, do := range []func(context.Context, *services, string, *string) error{create, setExpiry} {
		if err := do(t.Context(), r.healthy.service, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.lookAtExpiring(t, id)
	if got := r.withoutReminder(t); len(got) != 0 {
		t.Errorf("%v have no reminder although none was removed", got)
	}
	if err := r.healthy.store.Journal.DropReminder(t.Context(), commit.Reminder{At: expiryOf(id), Kind: commit.Content, Key: id,
		MTS: clock.Of(time.Now())}); err != nil {
		t.Fatal(err)
	}
	if got := r.withoutReminder(t); len(got) != 1 {
		t.Errorf("the item without a reminder is not reported: %v", got)
	}
}
