package paste_test

import (
	"strings"
	"testing"
	"time"

	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/paste"
	"carrel/principal"
)

// A paste that a gateway has written which was stopped for minutes, wherever between two calls of the
// store, and which was acknowledged nevertheless, has its body, although the body was tidied meanwhile.
func TestBodies_OfAStoppedGatewayAreThere(t *testing.T) {
	later := strings.Repeat("later ", 2000)
	for how, clocks := range map[string]func(stopped, other *domaintest.GatewayClock){
		"a suspended machine": func(stopped, other *domaintest.GatewayClock) {
			stopped.Set(stopped.Now().Add(10 * time.Minute))
			other.Set(stopped.Now())
		},
		"a stopped process whose wall clock was set back": func(stopped, other *domaintest.GatewayClock) {
			stopped.Later.Add(int64(10 * time.Minute))
			other.Set(stopped.Now().Add(10 * time.Minute))
		},
	} {
		for _, private := range []bool{false, true} {
			for _, creates := range []bool{false, true} {
				var made *paste.Created
				var id paste.ID
				var failed error
				create := func(h *domaintest.Fixture, body string) (*paste.Created, error) {
					return h.Pastes.Create(h.T.Context(), &principal.Viewer{}, paste.Create{Body: body, IsPrivate: private})
				}
				t.Run(how, domaintest.Between{
					Clocks: clocks,
					Prepare: func(h *domaintest.Fixture) {
						if made, failed = create(h, long); failed != nil {
							h.T.Fatal(failed)
						}
						id = made.Paste.ID
					},
					Act: func(h *domaintest.Fixture) {
						if creates {
							if made, failed = create(h, later); failed == nil {
								id = made.Paste.ID
							}
							return
						}
						_, failed = h.Pastes.Update(h.T.Context(), paste.Update{ID: string(id), Secret: made.Secret, Body: input.Some(&later)})
					},
					Meanwhile: tidyAll,
					Check: func(h *domaintest.Fixture) {
						want := later
						if failed != nil {
							domaintest.WantFaults(h.T, failed, "UNAVAILABLE")
							want = long
						}
						if body, err := h.Pastes.Text(h.T.Context(), string(id)); err != nil || body == nil || *body != want {
							h.T.Errorf("the paste has the body %v, %v, and its write ended with %v", body, err, failed)
						}
					},
				}.Everywhere)
			}
		}
	}
}

// tidyAll handles all reminders that are due.
func tidyAll(h *domaintest.Fixture) {
	h.T.Helper()
	for range 3 {
		dues, err := h.Store.Journal.DueReminders(h.T.Context(), h.Engine.Now(), 100)
		if err != nil {
			h.T.Fatal(err)
		}
		for _, d := range dues {
			done, err := h.Background().Expire(h.T.Context(), d)
			if err == nil && done {
				err = h.Store.Journal.DropReminder(h.T.Context(), d)
			}
			if err != nil {
				h.T.Fatal(err)
			}
		}
	}
}

// A gateway whose clock is behind stores bodies that are not older for others.
func TestBodies_OfAGatewayThatIsBehindAreKept(t *testing.T) {
	g := domaintest.NewGateways(t)
	other, _ := g.Open(0, true)
	behind, _ := g.Open(-5*time.Minute, true)
	made, err := other.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Body: long})
	if err != nil {
		t.Fatal(err)
	}
	ref := paste.BodyRef{Paste: made.Paste.ID, Body: behind.Pastes.NewBodyID()}
	if err := g.Store.Pastes.PutBody(t.Context(), ref, long); err != nil {
		t.Fatal(err)
	}
	if err := other.Pastes.DropBodies(t.Context(), made.Paste); err != nil {
		t.Fatal(err)
	}
	if bodies, err := g.Store.Pastes.ListBodies(t.Context(), made.Paste.ID); err != nil || len(bodies) != 2 {
		t.Errorf("the body of a change that may be under way was removed: %v, %v", bodies, err)
	}
}
