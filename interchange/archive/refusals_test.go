package archive_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
	"carrel/storetest"
)

func TestCopy_RefusesUnusableStores(t *testing.T) {
	refused := func(t *testing.T, h *domaintest.Fixture, to archive.Store, says string) {
		t.Helper()
		_, err := archive.Copy(t.Context(), h.Runtime, source(h.Embedded), to, noProgress)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error does not contain %q: %v", says, err)
		}
	}
	half := func(t *testing.T, from *domaintest.Fixture, to *pebblestore.Store) {
		t.Helper()
		// The principals are copied, and the progress says so; the contents are not.
		if _, err := archive.Copy(t.Context(), from.Runtime, source(from.Embedded), &stumbling{Store: to, failAt: 19},
			noProgress); !errors.Is(err, errStumbled) {
			t.Fatalf("a copy that should have been interrupted: %v", err)
		}
	}
	t.Run("a source with changes in flight", func(t *testing.T) {
		h, to := domaintest.Town(t), newStore(t)
		defer closeStore(t, to)
		h.Quiet()
		inFlightList := commit.InFlightList{ID: "another", Stamp: 1,
			Block: storetest.Block(commit.Entry{Kind: commit.Content, Key: "c:acme:x", Due: 1})}
		if err := h.Store.Journal.PutInFlightList(t.Context(), inFlightList); err != nil {
			t.Fatal(err)
		}
		refused(t, h, to, "changes in flight")
	})
	t.Run("a target that is not empty", func(t *testing.T) {
		h, other := domaintest.Town(t), domaintest.Town(t)
		h.Quiet()
		refused(t, h, other.Embedded, "the target is not empty: it has settings")
	})
	t.Run("a target that another source is copied to", func(t *testing.T) {
		h, other, to := domaintest.Town(t), domaintest.Town(t), newStore(t)
		defer closeStore(t, to)
		h.Quiet()
		other.Quiet()
		half(t, other, to)
		refused(t, h, to, "the unfinished copy of another store")
	})
	t.Run("a source that was changed meanwhile", func(t *testing.T) {
		h, to := domaintest.Town(t), newStore(t)
		defer closeStore(t, to)
		h.Note("a", principal.Public)
		h.Quiet()
		half(t, h, to)
		if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: "c:acme:a", Title: input.Some(domaintest.Ptr("b"))}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:ann"),
			principal.UpdateUser{ID: "u:acme:ann", DisplayName: input.Some(domaintest.Ptr("b"))}); err != nil {
			t.Fatal(err)
		}
		h.Quiet()
		// The item was copied only after it had changed.
		refused(t, h, to, "the target differs from the source in principals:")
	})
	t.Run("an incomplete target is not served", func(t *testing.T) {
		h, to := domaintest.Town(t), newStore(t)
		defer closeStore(t, to)
		h.Quiet()
		if err := archive.RefuseHalfCopied(t.Context(), to); err != nil {
			t.Errorf("an empty store: %v", err)
		}
		half(t, h, to)
		if err := archive.RefuseHalfCopied(t.Context(), to); err == nil || !strings.Contains(err.Error(), "run the same carrel copy again") {
			t.Errorf("half a copy: %v", err)
		}
		if _, err := archive.Copy(t.Context(), h.Runtime, source(h.Embedded), to, noProgress); err != nil {
			t.Fatal(err)
		}
		if err := archive.RefuseHalfCopied(t.Context(), to); err == nil {
			t.Error("a store without libraries can be served")
		}
		complete(t, to)
		if err := archive.RefuseHalfCopied(t.Context(), to); err != nil {
			t.Errorf("a complete copy: %v", err)
		}
	})
}

// forgetful is an archive without answered requests.
type forgetful struct{ *pebblestore.Store }

func (f forgetful) ReadRows(ctx context.Context, c archive.Chapter, after []byte, limit int) ([]archive.Row, []byte, error) {
	rows, next, err := f.Store.ReadRows(ctx, c, after, limit)
	var kept []archive.Row
	for _, r := range rows {
		if r.Request == nil {
			kept = append(kept, r)
		}
	}
	return kept, next, err
}

// Answered requests expire, even while a store is being copied.
func TestCopy_IgnoresExpiredRows(t *testing.T) {
	h := domaintest.Town(t)
	if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:ann"), principal.UpdateUser{ID: "u:acme:ann",
		DisplayName: input.Some(domaintest.Ptr("b")), IdempotencyKey: domaintest.Ptr("k")}); err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	for _, tc := range []struct {
		name string
		in   time.Duration
		ok   bool
	}{{"a moment later", 0, false}, {"two days later", 48 * time.Hour, true}} {
		t.Run(tc.name, func(t *testing.T) {
			to := newStore(t)
			defer closeStore(t, to)
			_, err := archive.Copy(t.Context(), domaintest.Later{Real: h.Runtime, By: tc.in}, source(h.Embedded), forgetful{to}, noProgress)
			if (err == nil) != tc.ok {
				t.Errorf("the copy: %v", err)
			}
		})
	}
}
