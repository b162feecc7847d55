package library_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/core/fault"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// bulkFaults are the faults of each item, "ok" for those that were changed.
func bulkFaults(outs []library.BulkOutcome) []string {
	got := make([]string, len(outs))
	for i, o := range outs {
		got[i] = "ok"
		if o.Err != nil {
			got[i] = strings.Join(domaintest.Faults(o.Err), ", ")
		}
		if o.Err == nil != (o.Out != nil) {
			got[i] += ", but Out and Err do not fit together"
		}
	}
	return got
}

func wantBulk(t *testing.T, outs []library.BulkOutcome, err error, want ...string) {
	t.Helper()
	if got := bulkFaults(outs); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
}

func deletions(ids ...string) (items []library.ContentDeletion) {
	for _, id := range ids {
		items = append(items, library.ContentDeletion{ID: id})
	}
	return items
}

func TestBulk_EachItemIsASeparateChange(t *testing.T) {
	h := domaintest.Town(t)
	h.Note("a", principal.Private)
	h.Note("b", principal.Private, "u:acme:ben=MANAGER")
	h.Note("c", principal.Private, "u:acme:ben=VIEWER")
	h.Note("d", principal.Private, "u:acme:ben=MANAGER")
	ben := domaintest.As("u:acme:ben")
	outs, err := h.Library.ShareContents(t.Context(), ben, library.ShareContents{
		Contents: []string{"c:acme:b", "c:acme:a", "nothing", "c:acme:c", "c:acme:b", "c:acme:d"}, Principals: []string{"u:acme:dora"},
		Role: library.Editing})
	wantBulk(t, outs, err, "ok", "NOT_FOUND contentIds.1", "INVALID contentIds.2", "FORBIDDEN contentIds.3", "INVALID contentIds.4", "ok")
	if outs[0].Out.ID != "c:acme:b" || outs[5].Out.ID != "c:acme:d" || outs[0].Out.FanOut.Libraries != 1 {
		t.Errorf("%+v, %+v", outs[0].Out, outs[5].Out)
	}
	h.WantTitles(domaintest.As("u:acme:dora"), "u:acme:dora", "b", "d")

	items := deletions("c:acme:d", "c:acme:b", "c:acme:c", "", "c:acme:d", "c:acme:a")
	items[1].ExpectedVersion = domaintest.Ptr(9)
	outs, err = h.Library.DeleteContents(t.Context(), ben, library.DeleteContents{Items: items})
	wantBulk(t, outs, err, "ok", "CONFLICT items.1.expectedVersion", "FORBIDDEN items.2.id", "INVALID items.3.id",
		"INVALID items.4.id", "NOT_FOUND items.5.id")
	if outs[0].Out.ID != "c:acme:d" || currentVersion(outs[1].Err) != 1 {
		t.Errorf("%+v, %v", outs[0].Out, outs[1].Err)
	}
	h.WantTitles(domaintest.As("u:acme:dora"), "u:acme:dora", "b")
	h.WantClean()
}

func TestBulk_RefusesFaultsOfTheWholeInput(t *testing.T) {
	h := domaintest.Town(t)
	h.Note("a", principal.Public)
	ids := make([]string, 101)
	for i := range ids {
		ids[i] = fmt.Sprint("c:acme:", i)
	}
	ann, dora := domaintest.As("u:acme:ann"), []string{"u:acme:dora"}
	for name, c := range map[string]struct {
		v    *principal.Viewer
		in   library.ShareContents
		want string
	}{
		"no item":   {ann, library.ShareContents{Principals: dora, Role: library.Viewing}, "INVALID contentIds"},
		"101 items": {ann, library.ShareContents{Contents: ids, Principals: dora, Role: library.Viewing}, "TOO_MANY contentIds"},
		"nobody":    {ann, library.ShareContents{Contents: ids[:1], Role: library.Viewing}, "INVALID principalIds"},
		"a malformed id": {ann, library.ShareContents{Contents: ids[:1], Principals: []string{"x"}, Role: library.Viewing},
			"INVALID principalIds.0"},
		"101 principals": {ann, library.ShareContents{Contents: ids[:1], Principals: ids, Role: library.Viewing}, "TOO_MANY principalIds"},
		"no role":        {ann, library.ShareContents{Contents: ids[:1], Principals: dora}, "INVALID role"},
		"an empty key": {ann, library.ShareContents{Contents: ids[:1], Principals: dora, Role: library.Viewing,
			IdempotencyKey: domaintest.Ptr("")}, "INVALID idempotencyKey"},
		"nobody signed in": {domaintest.Anonymous(), library.ShareContents{Contents: ids[:1], Principals: dora, Role: library.Viewing},
			"UNAUTHENTICATED"},
	} {
		t.Run(name, func(t *testing.T) {
			outs, err := h.Library.ShareContents(t.Context(), c.v, c.in)
			if domaintest.WantFaults(t, err, c.want); outs != nil {
				t.Errorf("outcomes %+v", outs)
			}
		})
	}
	outs, err := h.Library.DeleteContents(t.Context(), ann, library.DeleteContents{Items: deletions(ids...)})
	if domaintest.WantFaults(t, err, "TOO_MANY items"); outs != nil {
		t.Errorf("outcomes %+v", outs)
	}
	if outs, err = h.Library.DeleteContents(t.Context(), ann, library.DeleteContents{Items: deletions(ids[:100]...)}); err != nil ||
		len(outs) != 100 {
		t.Errorf("100 items: %d outcomes, %v", len(outs), err)
	}
}

// TestBulk_RepetitionFinishesTheRest: the idempotency key applies to each item separately. Items
// that were changed are answered as before, and the others are changed.
func TestBulk_RepetitionFinishesTheRest(t *testing.T) {
	h := domaintest.Town(t)
	for _, name := range []string{"a", "b", "c"} {
		h.Note(name, principal.Public)
	}
	ann := domaintest.As("u:acme:ann")
	share := func(role library.ContentRole, ids ...string) ([]library.BulkOutcome, error) {
		return h.Library.ShareContents(t.Context(), ann, library.ShareContents{Contents: ids, Principals: []string{"u:acme:dora"},
			Role: role, IdempotencyKey: domaintest.Ptr("k")})
	}
	outs, err := share(library.Editing, "c:acme:a", "c:acme:b")
	wantBulk(t, outs, err, "ok", "ok")
	h.TakeOut("c:acme:a", "u:acme:dora")
	outs, err = share(library.Editing, "c:acme:c", "c:acme:a", "c:acme:b")
	wantBulk(t, outs, err, "ok", "ok", "ok")
	if n := outs[1].Out.FanOut.Libraries; n != 1 {
		t.Errorf("the repetition has changed %d libraries, want that of the first time", n)
	}
	h.WantTitles(domaintest.As("u:acme:dora"), "u:acme:dora", "b", "c")
	outs, err = share(library.Viewing, "c:acme:a")
	wantBulk(t, outs, err, "IDEMPOTENCY_MISMATCH")

	remove := func(ids ...string) ([]library.BulkOutcome, error) {
		return h.Library.DeleteContents(t.Context(), ann, library.DeleteContents{Items: deletions(ids...), IdempotencyKey: domaintest.Ptr("k")})
	}
	outs, err = remove("c:acme:a")
	wantBulk(t, outs, err, "ok")
	outs, err = remove("c:acme:b", "c:acme:a")
	wantBulk(t, outs, err, "ok", "ok")
	h.WantClean()
}

// TestBulk_ReportsItemsNotReachedInTime: items that are not reached in time are not changed, and
// each of them has an error in the answer.
func TestBulk_ReportsItemsNotReachedInTime(t *testing.T) {
	h := domaintest.Town(t)
	h.Note("a", principal.Public)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outs, err := h.Library.DeleteContents(ctx, domaintest.As("u:acme:ann"),
		library.DeleteContents{Items: deletions("c:acme:a", "x", "c:acme:a")})
	if err != nil || len(outs) != 3 {
		t.Fatalf("%d outcomes, %v", len(outs), err)
	}
	for i, want := range []fault.Code{fault.Unavailable, fault.Unavailable, fault.Invalid} {
		if got := fault.CodeOf(outs[i].Err); got != want {
			t.Errorf("item %d: %v", i, outs[i].Err)
		}
	}
	h.WantTitles(domaintest.As("u:acme:ann"), "u:acme:ann", "a")
}
