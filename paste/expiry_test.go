package paste_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/paste"
)

// stopped is the real runtime with a stopped wall clock.
type stopped struct {
	*sched.Real
	at clock.Instant
}

func (s stopped) Now() time.Time { return s.at.Time() }

// at returns the Services on the same store at an instant.
func (h pastes) at(at clock.Instant) *domain.Services {
	h.T.Helper()
	return domaintest.Open(h.T, domain.Config{Store: h.Store, Runtime: stopped{h.Runtime, at}, Journal: h.Journal,
		Names: &domaintest.CountingNames{}})
}

// A paste is visible one microsecond before it expires and gone when it does, for all operations.
func TestExpiry_IsExact(t *testing.T) {
	h := newPastes(t)
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	in := titled("a")
	in.ExpiresAt, in.Body = &end, long
	made := h.create(in)
	id := string(made.Paste.ID)
	before, then := h.at(end-1).Pastes, h.at(end).Pastes

	h.wantBody(before, made.Paste.ID, long)
	h.wantLatest(before, "a")
	if _, err := before.Update(t.Context(), paste.Update{ID: id, Secret: made.Secret, Title: input.Some(domaintest.Ptr("b"))}); err != nil {
		t.Errorf("updating it: %v", err)
	}

	h.wantBody(then, made.Paste.ID, "")
	h.wantLatest(then)
	_, err := then.Update(t.Context(), paste.Update{ID: id, Secret: made.Secret, ClearExpiry: true})
	domaintest.WantFaults(t, err, "NOT_FOUND id")
	_, err = then.Delete(t.Context(), paste.Delete{ID: id, Secret: made.Secret})
	domaintest.WantFaults(t, err, "NOT_FOUND id")
	if ps, err := then.Pastes(t.Context(), []paste.ID{made.Paste.ID}); err != nil || ps[0] != nil {
		t.Errorf("several at once: %v, %v", ps, err)
	}
	if bodies, err := then.Bodies(t.Context(), []*paste.Paste{made.Paste}); err != nil || bodies[0] != nil {
		t.Errorf("the body of what was read before: %v, %v", bodies, err)
	}
	page, err := then.Latest(t.Context(), domaintest.Last(1))
	if err != nil || len(page.Edges) != 0 || page.PageInfo.HasNextPage || page.PageInfo.HasPreviousPage {
		t.Errorf("from the other end: %+v, %v", page, err)
	}
}

// The row of an ended paste has no content, and is removed a day later.
func TestExpiry_RemovesThePaste(t *testing.T) {
	h := newPastes(t)
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	in := titled("a")
	in.ExpiresAt, in.Body = &end, long
	id := h.create(in).Paste.ID
	for _, c := range []struct {
		what          string
		at            clock.Instant
		rows, entries int
		bodies        int
	}{
		{"before", end - 1, 1, 1, 1},
		{"at the expiry", end, 1, 0, 0},
		{"just before a day later", end.Add(24*time.Hour) - 1, 1, 0, 0},
		{"a day later", end.Add(24 * time.Hour), 0, 0, 0},
		{"much later", end.Add(240 * time.Hour), 0, 0, 0},
	} {
		h.expire(c.at)
		rows, err := h.Store.Pastes.ScanRows(t.Context(), "", 10)
		bodies, err2 := h.Store.Pastes.ListBodies(t.Context(), id)
		if err != nil || err2 != nil || len(rows) != c.rows || len(bodies) != c.bodies || len(h.entries()) != c.entries {
			t.Errorf("%s: %d rows, %d bodies, %d entries; want %d, %d, %d; %v, %v",
				c.what, len(rows), len(bodies), len(h.entries()), c.rows, c.bodies, c.entries, err, err2)
		}
		if c.what == "at the expiry" && len(rows) == 1 && len(rows[0].Data) > 150 {
			t.Errorf("the row of the ended paste has %d bytes", len(rows[0].Data))
		}
	}
	if remaining, err := h.Store.Journal.DueReminders(t.Context(), clock.Max, 10); err != nil || len(remaining) != 0 {
		t.Errorf("remaining reminders: %v, %v", remaining, err)
	}
}

// setBack is the real runtime with a wall clock that goes back by a microsecond whenever it is
// read.
type setBack struct {
	*sched.Real
	at *atomic.Int64
}

func (s setBack) Now() time.Time { return clock.Instant(s.at.Add(-1)).Time() }

// If the clock is set back while a reminder is handled that is just due, the paste has not expired,
// so the reminder is still needed.
func TestExpiry_KeepsTheReminderIfTheClockIsSetBack(t *testing.T) {
	h := newPastes(t)
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	in := titled("a")
	in.ExpiresAt = &end
	made := h.create(in)
	rt := setBack{h.Runtime, &atomic.Int64{}}
	rt.at.Store(int64(end))
	services := domaintest.Open(t, domain.Config{Store: h.Store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	rt.at.Store(int64(end) + 1) // the first reading of the clock is end
	done, err := services.Background().Expire(t.Context(), commit.Reminder{At: end, Kind: commit.Paste, Key: string(made.Paste.ID),
		MTS: made.Paste.MTS})
	if err != nil || done {
		t.Errorf("done: %t, %v", done, err)
	}
	h.wantLatest(h.at(end-1).Pastes, "a")
}

// expire handles the reminders that are due at an instant.
func (h pastes) expire(at clock.Instant) {
	h.T.Helper()
	services := h.at(at)
	for range 10 {
		dues, err := h.Store.Journal.DueReminders(h.T.Context(), at, 100)
		if err != nil {
			h.T.Fatal(err)
		}
		for _, d := range dues {
			done, err := services.Background().Expire(h.T.Context(), d)
			if err != nil {
				h.T.Fatalf("the reminder %v: %v", d, err)
			}
			if !done {
				continue
			}
			if err := h.Store.Journal.DropReminder(h.T.Context(), d); err != nil {
				h.T.Fatal(err)
			}
		}
	}
	h.Quiet()
}

// After the expiry was extended or cleared, earlier reminders remove nothing.
func TestExpiry_CanBeChanged(t *testing.T) {
	h := newPastes(t)
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	later := end.Add(time.Hour)
	in := titled("extended")
	in.ExpiresAt, in.Body = &end, long
	extended := h.create(in)
	in.Title = domaintest.Ptr("cleared")
	cleared := h.create(in)
	for _, u := range []paste.Update{
		{ID: string(extended.Paste.ID), Secret: extended.Secret, ExpiresAt: input.Some(&later)},
		{ID: string(cleared.Paste.ID), Secret: cleared.Secret, ClearExpiry: true},
	} {
		if _, err := h.Pastes.Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	h.expire(end)
	h.wantLatest(h.at(end).Pastes, "cleared", "extended")
	h.wantBody(h.at(end).Pastes, extended.Paste.ID, long)
	h.expire(later)
	h.wantLatest(h.at(later).Pastes, "cleared")
	h.wantBody(h.at(later).Pastes, cleared.Paste.ID, long)
}

// A former body is kept for readers that have read the row, and removed within minutes.
func TestUpdate_RemovesTheFormerBodyLater(t *testing.T) {
	h := newPastes(t)
	made := h.create(paste.Create{Body: long})
	p, err := h.Pastes.Update(t.Context(), paste.Update{ID: string(made.Paste.ID), Secret: made.Secret,
		Body: input.Some(domaintest.Ptr("short"))})
	if err != nil {
		t.Fatal(err)
	}
	if bodies, err := h.Pastes.Bodies(t.Context(), []*paste.Paste{made.Paste}); err != nil || *bodies[0] != long {
		t.Errorf("what was read before: %v", err)
	}
	h.expire(p.ModifiedAt.Add(3 * time.Minute))
	if remaining, err := h.Store.Pastes.ListBodies(t.Context(), p.ID); err != nil || len(remaining) != 0 {
		t.Errorf("remaining bodies: %v, %v", remaining, err)
	}
	// The row that was read before refers to a removed body: the current one is returned.
	if bodies, err := h.Pastes.Bodies(t.Context(), []*paste.Paste{made.Paste}); err != nil || *bodies[0] != "short" {
		t.Errorf("what was read long before: %v", err)
	}
}

// Tidying a paste does not remove the body of a pending change.
func TestTidy_KeepsTheBodyOfAPendingChange(t *testing.T) {
	h := newPastes(t)
	made := h.create(paste.Create{Body: long})
	other := long[1:] + "!"
	looked := false
	h.faults.set(func() {
		h.faults.commitPaste = func(r paste.Row, next func() (paste.Row, error)) (paste.Row, error) {
			if !looked {
				looked = true
				d := commit.Reminder{At: made.Paste.CreatedAt, Kind: commit.Paste, Key: string(made.Paste.ID), MTS: made.Paste.MTS}
				if done, err := h.at(made.Paste.CreatedAt.Add(time.Minute)).Background().Expire(t.Context(), d); err != nil || !done {
					t.Errorf("tidying: %t, %v", done, err)
				}
			}
			return next()
		}
	})
	if _, err := h.Pastes.Update(t.Context(), paste.Update{ID: string(made.Paste.ID), Secret: made.Secret,
		Body: input.Some(&other)}); err != nil {
		t.Fatal(err)
	}
	h.wantBody(h.Pastes, made.Paste.ID, other)
}

// crossing is a store on which a clock reaches an instant while a reminder or a body is stored.
type crossing struct {
	commit.JournalStore
	cross func()
}

func (c crossing) PutReminder(ctx context.Context, d commit.Reminder) error {
	c.cross()
	return c.JournalStore.PutReminder(ctx, d)
}

// movable is the real runtime with a wall clock that a test sets.
type movable struct {
	*sched.Real
	at atomic.Int64
}

func (m *movable) Now() time.Time { return clock.Instant(m.at.Load()).Time() }

// An update that was planned before the paste expired, and is written afterwards, changes nothing.
func TestExpiry_UpdatesOfBeforeDoNotBringAPasteBack(t *testing.T) {
	later := clock.Of(time.Now().Add(5 * time.Hour))
	for name, update := range map[string]paste.Update{
		"a later expiry": {ExpiresAt: input.Some(&later)},
		"no expiry":      {ClearExpiry: true, Body: input.Some(domaintest.Ptr(long))},
	} {
		h := newPastes(t)
		end := clock.Of(h.Runtime.Now().Add(time.Hour))
		in := titled("a")
		in.ExpiresAt = &end
		made := h.create(in)
		rt := &movable{Real: h.Runtime}
		rt.at.Store(int64(end - 1))
		store := h.Store
		store.Journal = crossing{store.Journal, func() { rt.at.Store(int64(end)) }}
		slow := domaintest.Open(t, domain.Config{
			Store: store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{},
		})
		update.ID, update.Secret = string(made.Paste.ID), made.Secret
		_, err := slow.Pastes.Update(t.Context(), update)
		domaintest.WantFaults(t, err, "NOT_FOUND id")
		if p, err := h.at(end).Pastes.Paste(t.Context(), update.ID); err != nil || p != nil {
			t.Errorf("%s: the paste is back: %+v, %v", name, p, err)
		}
	}
}

// The key of an anonymous caller is long; a repetition gets the same paste without its secret.
func TestCreate_AnonymousRepetitionsGetTheSamePaste(t *testing.T) {
	h := newPastes(t)
	in := titled("a")
	in.IdempotencyKey = domaintest.Ptr("0123456789abcdefghijkl")
	first := h.create(in)
	in.IdempotencyKey = domaintest.Ptr("0123456789abcdefghijkl")
	if again := h.create(in); again.Paste.ID != first.Paste.ID || again.Secret != "" {
		t.Errorf("the repetition got %s and the secret %q, the first attempt %s", again.Paste.ID, again.Secret, first.Paste.ID)
	}
}
