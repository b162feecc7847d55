package note_test

import (
	"strings"
	"testing"
	"time"

	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// stops are the ways in which a gateway can be stopped for a while, with the clocks of the gateway and of
// another one.
var stops = map[string]func(stopped, other *domaintest.GatewayClock){
	"a suspended machine": func(stopped, other *domaintest.GatewayClock) {
		stopped.Set(stopped.Now().Add(2 * time.Hour))
		other.Set(stopped.Now())
	},
	"a stopped process whose wall clock was set back": func(stopped, other *domaintest.GatewayClock) {
		stopped.Later.Add(int64(2 * time.Hour))
		other.Set(stopped.Now().Add(2 * time.Hour))
	},
}

// A write of a gateway that was stopped for hours, wherever between two calls of the store, and was
// acknowledged nevertheless, has its text, although the scrubber has removed it meanwhile.
func TestTexts_OfAStoppedGatewayAreThere(t *testing.T) {
	const id = library.ContentID("c:acme:n")
	ann, bob := domaintest.Ann(), domaintest.Bob()
	wantBody := func(h *domaintest.Fixture, v *principal.Viewer, q note.TextQuery) {
		rs, err := h.Notes.Texts(h.T.Context(), v, []library.ContentID{id}, q)
		if err != nil || rs[0] == nil {
			h.T.Fatalf("the revision %v, %v", rs, err)
		}
		if bodies, err := h.Notes.Bodies(h.T.Context(), rs); err != nil || bodies[0] != long {
			h.T.Errorf("a body of %d bytes, %v", len(bodies), err)
		}
	}
	writes := map[string]struct {
		do   func(h *domaintest.Fixture) error
		want func(h *domaintest.Fixture)
	}{
		"a revision": {
			func(h *domaintest.Fixture) error {
				_, err := h.Notes.SaveRevision(h.T.Context(), ann, note.SaveRevision{ContentID: string(id), Title: "t", Body: long})
				return err
			},
			func(h *domaintest.Fixture) { wantBody(h, ann, note.TextQuery{Working: true}) },
		},
		"a revision after a race": {
			func(h *domaintest.Fixture) error {
				_, err := h.Notes.SaveRevision(h.T.Context(), ann, note.SaveRevision{ContentID: string(id), Title: "t", Body: long, Publish: true})
				return err
			},
			func(h *domaintest.Fixture) { wantBody(h, bob, note.TextQuery{}) },
		},
		"a suggestion": {
			func(h *domaintest.Fixture) error {
				_, err := h.Notes.SuggestRevision(h.T.Context(), bob, note.SuggestRevision{ContentID: string(id), Title: "t", Body: long})
				return err
			},
			func(h *domaintest.Fixture) {
				texts, err := h.Store.Texts.ScanTexts(h.T.Context(), note.TextID{}, 100)
				if err != nil || len(texts) != 1 {
					h.T.Errorf("the texts of one suggestion are %v, %v", texts, err)
				}
			},
		},
		"a draft": {
			func(h *domaintest.Fixture) error {
				_, err := h.Notes.SaveDraft(h.T.Context(), ann, note.SaveDraft{ContentID: string(id), Title: "t", Body: long})
				return err
			},
			func(h *domaintest.Fixture) { wantDraft(h, id) },
		},
		"an imported revision": {
			func(h *domaintest.Fixture) error {
				_, err := h.Notes.Upkeep.ImportRevision(h.T.Context(), exchange.ImportRevision{Content: string(id), Branch: 1,
					Title: "t", Body: long, Author: "u:acme:ann"})
				return err
			},
			func(h *domaintest.Fixture) { wantBody(h, ann, note.TextQuery{Working: true}) },
		},
		"an imported draft": {
			func(h *domaintest.Fixture) error {
				_, err := h.Notes.Upkeep.ImportDraft(h.T.Context(), exchange.ImportDraft{Content: string(id), Branch: 1, Title: "t",
					Body: long, Author: "u:acme:ann"})
				return err
			},
			func(h *domaintest.Fixture) { wantDraft(h, id) },
		},
	}
	for how, clocks := range stops {
		for name, write := range writes {
			t.Run(how+"/"+name, func(t *testing.T) {
				var failed error
				domaintest.Between{
					Clocks: clocks,
					Prepare: func(h *domaintest.Fixture) {
						h.User("u:acme:ann", principal.Public)
						h.User("u:acme:bob", principal.Public)
						h.Note("n", principal.Public)
						h.Quiet()
					},
					Act: func(h *domaintest.Fixture) { failed = write.do(h) },
					Meanwhile: func(h *domaintest.Fixture) {
						if strings.HasSuffix(name, "race") {
							h.Update(id, "other", principal.Public)
							h.Quiet()
						}
						scrubAll(h)
					},
					Check: func(h *domaintest.Fixture) {
						if failed == nil {
							write.want(h)
						} else {
							domaintest.WantFaults(h.T, failed, "UNAVAILABLE")
						}
					},
				}.Everywhere(t)
			})
		}
	}
}

// wantDraft fails the test unless ann has a draft with the body long.
func wantDraft(h *domaintest.Fixture, id library.ContentID) {
	h.T.Helper()
	d, err := h.Notes.Draft(h.T.Context(), domaintest.Ann(), id, 1, "")
	if err != nil || d == nil {
		h.T.Fatalf("draft %v, %v", d, err)
	}
	if body, err := h.Notes.Body(h.T.Context(), d); err != nil || body != long {
		h.T.Errorf("the draft has a body of %d bytes, %v", len(body), err)
	}
}

// scrubAll runs the scrubber over everything.
func scrubAll(h *domaintest.Fixture) {
	h.T.Helper()
	if _, _, err := h.Repair.ScrubAll(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
}

// A gateway that notices that it was stopped sends no compare-and-set.
func TestTexts_AStoppedGatewaySendsNoRow(t *testing.T) {
	g := domaintest.NewGateways(t)
	var stop func()
	sent := false
	g.Through = g.Store.Hooked(func(call string, done bool) {
		if call == "PutText" && done {
			stop()
		}
		sent = sent || stop != nil && (call == "Commit" || call == "PutDraft")
	}).Store
	h, clock := g.Open(0, true)
	h.User("u:acme:ann", principal.Public)
	id := h.Note("n", principal.Public)
	h.Quiet()
	for name, write := range map[string]func() error{
		"a revision": func() error {
			_, err := h.Notes.SaveRevision(t.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Title: "t", Body: long})
			return err
		},
		"a draft": func() error {
			_, err := h.Notes.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Title: "t", Body: long})
			return err
		},
	} {
		sent, stop = false, func() { clock.Set(clock.Now().Add(time.Minute)) }
		err := write()
		stop = nil
		domaintest.WantFaults(t, err, "UNAVAILABLE")
		if sent {
			t.Errorf("%s: its row was sent", name)
		}
	}
}
