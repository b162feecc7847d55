package library_test

import (
	"testing"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// currentVersion is the version that an error reports, 0 for an error that reports none.
func currentVersion(err error) int {
	for _, f := range fault.ListOf(err) {
		if f.Version != nil {
			return *f.Version
		}
	}
	return 0
}

// TestVersionConflict_ReportsTheCurrentVersion to viewers who may make the change, and to nobody
// else.
func TestVersionConflict_ReportsTheCurrentVersion(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("n", principal.Private, "u:acme:ben=VIEWER")
	h.Update(id, "two", principal.Private)
	h.Update(id, "three", principal.Private)
	stale, key := domaintest.Ptr(1), domaintest.Ptr("k")
	changes := map[string]func(v *principal.Viewer) error{
		"updateContent": func(v *principal.Viewer) error {
			return errorOf(h.Library.UpdateContent(t.Context(), v, library.UpdateContent{ID: string(id),
				Title: input.Some(domaintest.Ptr("x")), ExpectedVersion: stale, IdempotencyKey: key}))
		},
		"moveContent": func(v *principal.Viewer) error {
			return errorOf(h.Library.MoveContent(t.Context(), v,
				library.MoveContent{ID: string(id), URL: input.Some(domaintest.Ptr("https://example.com/x")), ExpectedVersion: stale}))
		},
		"deleteContent": func(v *principal.Viewer) error {
			return errorOf(h.Library.DeleteContent(t.Context(), v, library.DeleteContent{ID: string(id), ExpectedVersion: stale}))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			err := change(domaintest.As("u:acme:ann"))
			domaintest.WantFaults(t, err, "CONFLICT expectedVersion")
			if got := currentVersion(err); got != 3 {
				t.Errorf("version %d is reported, want 3", got)
			}
			for user, want := range map[string]string{"u:acme:ben": "FORBIDDEN id", "u:beta:zed": "NOT_FOUND id"} {
				err := change(domaintest.As(user))
				domaintest.WantFaults(t, err, want)
				if got := currentVersion(err); got != 0 {
					t.Errorf("%s got version %d", user, got)
				}
			}
		})
	}
}

// TestVersionConflict_IsNotKept: the request that was refused is decided anew, and the one
// that was not is answered as before, whatever version there is by then.
func TestVersionConflict_IsNotKept(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("n", principal.Public)
	update := func(title string, expected int, key string) error {
		return errorOf(h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"), library.UpdateContent{
			ID: string(id), Title: input.Some(&title), ExpectedVersion: &expected, IdempotencyKey: &key}))
	}
	for version := 1; version < 3; version++ {
		if got := currentVersion(update("early", 3, "early")); got != version {
			t.Errorf("version %d is reported, want %d", got, version)
		}
		h.Update(id, "title "+string(rune('0'+version)), principal.Public)
	}
	for range 2 {
		domaintest.WantFaults(t, update("early", 3, "early"))
	}
	if got := h.Content(id); got.Version != 4 {
		t.Errorf("version %d, want 4", got.Version)
	}
}
