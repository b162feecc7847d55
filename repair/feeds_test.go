package repair_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/feed"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// feeds returns the feeds of a fixture's store as another process has them.
func feeds(h *domaintest.Fixture) *feed.Timelines {
	return feed.New(feed.Config{Store: h.Store.Feeds, Runtime: h.Runtime})
}

// wantNewest compares the titles of the newest content of a tenant.
func wantNewest(t *testing.T, svc *domain.Services, want ...string) {
	t.Helper()
	page, err := svc.Library.LatestContent(t.Context(), &principal.Viewer{}, "acme", domaintest.First(10))
	if err != nil {
		t.Fatalf("the newest content: %v", err)
	}
	var got []string
	for _, c := range page.Nodes() {
		got = append(got, c.Title)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the newest content (-want +got):\n%s", diff)
	}
}

// damage makes feeds that differ from items and pastes: an entry of each kind is missing, and
// there are others without justification.
func damage(t *testing.T, h *domaintest.Fixture) {
	t.Helper()
	public := h.Content("c:acme:public")
	made, err := h.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Body: "public"})
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := h.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Body: "hidden", IsPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	all := feeds(h)
	for _, err := range []error{
		all.Drop(t.Context(), "content:acme", feed.Entry{Created: public.CreatedAt, ID: string(public.ID)}, public.MTS),
		all.Drop(t.Context(), "pastes", feed.Entry{Created: made.Paste.CreatedAt, ID: string(made.Paste.ID)}, made.Paste.MTS),
		all.Put(t.Context(), "pastes", feed.Entry{Created: hidden.Paste.CreatedAt, ID: string(hidden.Paste.ID)}, hidden.Paste.MTS),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFeeds_AreRepaired: the audit finds what is missing in a feed and what is unjustified, and
// both a rebuild and the scrubber repair it.
func TestFeeds_AreRepaired(t *testing.T) {
	for name, repairAll := range map[string]func(t *testing.T, h *domaintest.Fixture){
		"by a rebuild": func(t *testing.T, h *domaintest.Fixture) {
			r, err := h.After(0).Repair.RebuildAll(t.Context(), func(int, int) {})
			if err != nil || r.Repaired != 3 {
				t.Errorf("rebuilt: %+v, %v; want 3 repaired", r, err)
			}
		},
		"by the scrubber of the same process": func(t *testing.T, h *domaintest.Fixture) { scrubEverything(t, h.Services) },
		"by the scrubber":                     func(t *testing.T, h *domaintest.Fixture) { scrubEverything(t, h.After(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.User("u:acme:ann", principal.Public)
			h.Note("public", principal.Public)
			h.Note("private", principal.Private)
			h.Quiet()
			wantNewest(t, h.Services, "public")
			h.WantAudited()
			damage(t, h)
			h.WantNothingInFlight()
			r, err := h.Repair.Audit(t.Context())
			// The entry of the private paste is reported twice: for the paste and for the feed.
			if err != nil || r.Mismatches != 4 || r.Pastes != 2 {
				t.Errorf("the audit: %+v, %v; want 4 mismatches", r, err)
			}
			repairAll(t, h)
			h.WantAudited()
			wantNewest(t, h.Services, "public")
			page, err := h.Pastes.Latest(t.Context(), domaintest.First(10))
			if err != nil || len(page.Edges) != 1 {
				t.Errorf("the newest pastes: %+v, %v", page, err)
			}
		})
	}
}

// TestFeeds_ReadersRemoveWhatWasDeleted: readers remove the entry of a deleted item, and keep
// that of a private one.
func TestFeeds_ReadersRemoveWhatWasDeleted(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	id := h.Note("hidden", principal.Public)
	h.Update(id, "hidden", principal.Private)
	h.Update(h.Note("signed-in", principal.Public), "signed-in", principal.LoggedIn)
	deleted := h.Note("deleted", principal.Public)
	h.Delete(deleted)
	h.Quiet()
	item := h.Content(deleted)
	if err := feeds(h).Put(t.Context(), "content:acme", feed.Entry{Created: item.CreatedAt, ID: string(item.ID)}, item.MTS); err != nil {
		t.Fatal(err)
	}
	wantNewest(t, h.After(0)) // this process does not know the day
	if err := h.Journal.DoDue(t.Context(), h.Services.Background()); err != nil {
		t.Fatal(err)
	}
	left, err := feeds(h).Since(t.Context(), "content:acme", feed.Entry{Created: clock.Min}, 10)
	if err != nil || len(left) != 2 || left[0].ID != string(id) {
		t.Errorf("the feed has %v, %v; want %s and one more", left, err, id)
	}
}

// TestFeeds_LeaveOutWhatHasExpired checks that feeds omit an item from the instant at which it
// expires.
func TestFeeds_LeaveOutWhatHasExpired(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	in := library.UpdateContent{ID: string(h.Note("ends", principal.Public)), ExpiresAt: input.Some(&end)}
	if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"), in); err != nil {
		t.Fatal(err)
	}
	wantNewest(t, h.Services, "ends")
	wantNewest(t, h.After(59*time.Minute), "ends")
	wantNewest(t, h.After(time.Hour))
}

// TestScrub_RemovesPastesWithoutReminders: the scrubber ends a paste that has expired and whose reminder
// was lost, and removes it a day later.
func TestScrub_RemovesPastesWithoutReminders(t *testing.T) {
	h := domaintest.New(t, nil)
	end := clock.Of(h.Runtime.Now().Add(time.Hour))
	if _, err := h.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Body: "x", ExpiresAt: &end}); err != nil {
		t.Fatal(err)
	}
	dues, err := h.Store.Journal.DueReminders(t.Context(), end, 10)
	if err != nil || len(dues) != 1 {
		t.Fatalf("reminders: %v, %v", dues, err)
	}
	if err := h.Store.Journal.DropReminder(t.Context(), dues[0]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		rows  int
		seq   int64
	}{{0, 1, 1}, {time.Hour + 30*time.Second, 1, 1}, {time.Hour + 2*time.Minute, 1, 2}, {26 * time.Hour, 0, 0}} {
		scrubEverything(t, h.After(c.after))
		rows, err := h.Store.Pastes.ScanRows(t.Context(), "", 10)
		if err != nil || len(rows) != c.rows || c.rows > 0 && rows[0].Seq != c.seq {
			t.Errorf("after %s: %v, %v; want %d rows, of state %d", c.after, rows, err, c.rows, c.seq)
		}
	}
}
