package paste_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/paste"
	"carrel/principal"
)

// After 50 concurrent changes through two gateways, the feed matches the row.
func TestToggle_AfterConcurrentChangesTheFeedMatchesTheRow(t *testing.T) {
	h := newPastes(t)
	other := h.After(0).Pastes
	made := h.create(titled("a"))
	for range 4 {
		var all sync.WaitGroup
		for n := range 50 {
			all.Add(1)
			go func() {
				defer all.Done()
				svc := h.Pastes
				if n%2 == 0 {
					svc = other
				}
				_, err := svc.Update(t.Context(), paste.Update{ID: string(made.Paste.ID), Secret: made.Secret,
					IsPrivate: input.Some(domaintest.Ptr(n%3 == 0))})
				if err != nil && fault.ReasonOf(err) != fault.ReasonContention {
					t.Errorf("toggling: %v", err)
				}
			}()
		}
		all.Wait()
		h.Quiet()
		p, err := h.Pastes.Paste(t.Context(), string(made.Paste.ID))
		if err != nil {
			t.Fatal(err)
		}
		want, entries := []string{"a"}, 1
		if p.IsPrivate {
			want, entries = nil, 0
		}
		h.wantLatest(h.Pastes, want...)
		if es := h.entries(); len(es) != entries {
			t.Errorf("private: %t, and the feed has %v", p.IsPrivate, es)
		}
	}
}

// If the entry of a public state is written after a later change has made the paste private, that
// change decides: the feed has no entry.
func TestToggle_LateEntryOfAnEarlierStateIsRemoved(t *testing.T) {
	for _, way := range []string{"made public", "created and resumed"} {
		h := newPastes(t)
		in := titled("a")
		in.IsPrivate = way == "made public"
		made := h.create(in)
		h.faults.set(func() {
			h.faults.putEntry = func(_ feed.Change, next func() error) error {
				h.faults.set(func() { h.faults.putEntry = nil })
				if err := h.setPrivate(made, true); err != nil {
					t.Errorf("making the paste private: %v", err)
				}
				return next()
			}
		})
		if way == "made public" {
			if err := h.setPrivate(made, false); err != nil {
				t.Fatal(err)
			}
		} else {
			h.resume(entryOf(made.Paste.ID, 0))
		}
		if es := h.entries(); len(es) != 0 {
			t.Errorf("%s: the feed has %v", way, es)
		}
	}
}

// States that follow each other within one instant of the clock have different write timestamps,
// so the last one wins in the feed.
func TestToggle_LastStateWithinOneInstantWins(t *testing.T) {
	g := domaintest.NewGateways(t)
	one, _ := g.Open(0, true)
	h := pastes{Fixture: one, anonymous: &principal.Viewer{}}
	made := h.create(titled("a"))
	for range 3 {
		if err := errors.Join(h.setPrivate(made, true), h.setPrivate(made, false)); err != nil {
			t.Fatal(err)
		}
		h.wantLatest(h.Pastes, "a")
	}
}

// A reminder is kept while the state that it was written for may still be decided.
func TestTidy_WaitsForAPendingAttempt(t *testing.T) {
	h := newPastes(t)
	made := h.create(titled("a")).Paste
	at := clock.Of(h.Runtime.Now())
	for _, c := range []struct {
		id       paste.ID
		mts, now clock.Instant
		done     bool
	}{
		{made.ID, made.MTS, at, true}, {made.ID, made.MTS + 1, at, false}, {made.ID, made.MTS + 1, at.Add(time.Minute) - 1, false},
		{made.ID, made.MTS + 1, at.Add(time.Minute), true},
		{made.ID, made.MTS, at - 1, false},
		{"p:none", made.MTS, at, false}, {"p:none", made.MTS, at.Add(time.Minute), true},
	} {
		done, err := h.at(c.now).Background().Expire(t.Context(), commit.Reminder{At: at, Kind: commit.Paste, Key: string(c.id), MTS: c.mts})
		if err != nil || done != c.done {
			t.Errorf("a reminder of %s, %d at %s: %t, %v; want %t", c.id, c.mts-made.MTS, c.now, done, err, c.done)
		}
	}
}

// If a change could not update the feed, the journal updates it in the background.
func TestFinish_FailedUpdateOfTheFeedIsDoneInTheBackground(t *testing.T) {
	h := newPastes(t)
	down := true
	h.faults.set(func() {
		h.faults.putEntry = func(_ feed.Change, next func() error) error {
			h.faults.mu.Lock()
			defer h.faults.mu.Unlock()
			if down {
				return domaintest.ErrDown
			}
			return next()
		}
	})
	h.create(titled("a"))
	h.wantLatest(h.Pastes)
	h.faults.set(func() { down = false })
	h.Quiet()
	h.wantLatest(h.Pastes, "a")
	h.WantNothingInFlight()
}

// resume resumes an entry as another process does after this one has died.
func (h pastes) resume(e commit.Entry) bool {
	h.T.Helper()
	fenced, err := h.After(0).Background().Resume(h.T.Context(), e)
	if err != nil {
		h.T.Fatalf("resuming %+v: %v", e, err)
	}
	return fenced
}

// entryOf returns the entry of a change of a paste.
func entryOf(id paste.ID, base int64) commit.Entry {
	return commit.Entry{ID: commit.EntryID{1}, Kind: commit.Paste, Key: string(id), Base: base, Reach: commit.Reach{Scope: commit.ScopeAll}}
}

// A creation that was resumed before it was decided can no longer happen.
func TestResume_FencesACreation(t *testing.T) {
	h := newPastes(t)
	var id paste.ID
	h.faults.set(func() {
		h.faults.commitPaste = func(r paste.Row, next func() (paste.Row, error)) (paste.Row, error) {
			if h.faults.set(func() { h.faults.commitPaste = nil }); id == "" {
				id = r.ID
				if !h.resume(entryOf(id, 0)) {
					t.Error("the creation was not fenced")
				}
			}
			return next()
		}
	})
	if _, err := h.Pastes.Create(t.Context(), h.anonymous, titled("a")); err == nil {
		t.Error("a paste was created that was fenced")
	}
	h.wantBody(h.Pastes, id, "")
	h.wantLatest(h.Pastes)
	if h.resume(entryOf(id, 0)) {
		t.Error("fenced twice")
	}
	h.expire(clock.Of(h.Runtime.Now()).Add(25 * time.Hour))
	if rows, err := h.Store.Pastes.ScanRows(t.Context(), "", 10); err != nil || len(rows) != 0 {
		t.Errorf("remaining rows: %v, %v", rows, err)
	}
}

// An entry that outlives the row of its paste is over: its process may have been suspended for a
// day before it could remove the entry.
func TestResume_ChangeOfARemovedPasteIsOver(t *testing.T) {
	h := newPastes(t)
	made := h.create(titled("a"))
	if _, err := h.Pastes.Delete(t.Context(), paste.Delete{ID: string(made.Paste.ID), Secret: made.Secret}); err != nil {
		t.Fatal(err)
	}
	h.expire(clock.Of(h.Runtime.Now()).Add(25 * time.Hour))
	if rows, err := h.Store.Pastes.ScanRows(t.Context(), "", 10); err != nil || len(rows) != 0 {
		t.Fatalf("remaining rows: %v, %v", rows, err)
	}
	for base := range int64(3) {
		if fenced := h.resume(entryOf(made.Paste.ID, base+1)); fenced {
			t.Errorf("an entry of base %d fenced something", base+1)
		}
	}
	if rows, err := h.Store.Pastes.ScanRows(t.Context(), "", 10); err != nil || len(rows) != 0 {
		t.Errorf("rows after it: %v, %v", rows, err)
	}
}

// A change that was resumed before it was decided loses the race and is retried.
func TestResume_FencesAChange(t *testing.T) {
	h := newPastes(t)
	made := h.create(titled("a"))
	h.faults.set(func() {
		h.faults.commitPaste = func(_ paste.Row, next func() (paste.Row, error)) (paste.Row, error) {
			h.faults.set(func() { h.faults.commitPaste = nil })
			if !h.resume(entryOf(made.Paste.ID, 1)) {
				t.Error("the change was not fenced")
			}
			return next()
		}
	})
	if err := h.setPrivate(made, true); err != nil {
		t.Fatal(err)
	}
	p, err := h.Pastes.Paste(t.Context(), string(made.Paste.ID))
	if err != nil || p.Version != 2 || p.Seq != 3 {
		t.Errorf("after the fence: %+v, %v", p, err)
	}
	h.wantLatest(h.Pastes)
	if es := h.entries(); len(es) != 0 {
		t.Errorf("the feed has %v", es)
	}
}

// A change of a process that died after deciding it is finished by another process.
func TestResume_FinishesDecidedChanges(t *testing.T) {
	h := newPastes(t)
	made := h.create(titled("a"))
	born := titled("b")
	born.IsPrivate = true
	private := h.create(born)
	// Store the states of processes that died before they had written the feed.
	e := h.entries()[0]
	feeds := feed.New(feed.Config{Store: h.Store.Feeds, Runtime: h.Runtime})
	if err := feeds.Drop(t.Context(), "pastes", e, made.Paste.MTS); err != nil {
		t.Fatal(err)
	}
	other := feed.Entry{Created: private.Paste.CreatedAt, ID: string(private.Paste.ID)}
	if err := feeds.Put(t.Context(), "pastes", other, private.Paste.MTS); err != nil {
		t.Fatal(err)
	}
	h.resume(entryOf(made.Paste.ID, 0))
	h.resume(entryOf(private.Paste.ID, 0))
	if es := h.entries(); len(es) != 1 || es[0].ID != e.ID {
		t.Errorf("the feed has %v", es)
	}
	h.wantLatest(h.Pastes, "a")
}

// An entry that its paste does not justify is not shown and is removed.
func TestLatest_RemovesUnjustifiedEntries(t *testing.T) {
	h := newPastes(t)
	born := titled("private")
	born.IsPrivate = true
	private, public := h.create(born).Paste, h.create(titled("public")).Paste
	feeds := feed.New(feed.Config{Store: h.Store.Feeds, Runtime: h.Runtime})
	for _, e := range []feed.Entry{
		{Created: private.CreatedAt, ID: string(private.ID)},
		{Created: public.CreatedAt - 1, ID: string(public.ID)},
		{Created: public.CreatedAt, ID: "p:00000000000000000000000000000000"},
	} {
		if err := feeds.Put(t.Context(), "pastes", e, private.MTS); err != nil {
			t.Fatal(err)
		}
	}
	h.wantLatest(h.Pastes, "public")
	if err := h.Journal.DoDue(t.Context(), h.Services.Background()); err != nil {
		t.Fatal(err)
	}
	if es := h.entries(); len(es) != 1 || es[0].ID != string(public.ID) || es[0].Created != public.CreatedAt {
		t.Errorf("the feed has %v", es)
	}
}

// Unknown outcomes of the compare-and-set are resolved, so that exactly one paste is created.
func TestCreate_ResolvesUnknownOutcomes(t *testing.T) {
	for _, applied := range []bool{true, false} {
		h := newPastes(t)
		first := true
		h.faults.set(func() {
			h.faults.commitPaste = func(_ paste.Row, next func() (paste.Row, error)) (paste.Row, error) {
				if !first {
					return next()
				}
				first = false
				if applied {
					if _, err := next(); err != nil {
						t.Error(err)
					}
				}
				return paste.Row{}, errUnknown
			}
		})
		made := h.create(titled("a"))
		h.wantLatest(h.Pastes, "a")
		if err := h.setPrivate(made, true); err != nil {
			t.Errorf("the secret of the paste: %v", err)
		}
		h.WantNothingInFlight()
	}
}

func TestCreate_RepetitionReturnsTheFirstPaste(t *testing.T) {
	h := newPastes(t)
	key := "k"
	in := titled("a")
	in.IdempotencyKey = &key
	soon := clock.Of(h.Runtime.Now().Add(time.Hour))
	in.ExpiresAt = &soon
	create := func(svc *paste.Service) (*paste.Created, error) { return svc.Create(t.Context(), h.ann, in) }
	made, err := create(h.Pastes)
	if err != nil || made.Secret == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	again, err := create(h.Pastes)
	if err != nil || again.Paste.ID != made.Paste.ID || again.Secret != "" {
		t.Errorf("repeated: %+v, %v", again, err)
	}
	other := in
	other.Body = "another"
	_, err = h.Pastes.Create(t.Context(), h.ann, other)
	domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
	_, err = create(h.at(soon).Pastes)
	domaintest.WantFaults(t, err, "NOT_FOUND")
	h.wantLatest(h.Pastes, "a")
	if err := h.setPrivate(made, true); err != nil {
		t.Errorf("the first secret: %v", err)
	}
}
