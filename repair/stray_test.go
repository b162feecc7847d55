package repair_test

import (
	"context"
	"slices"
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// stale is a store whose plain readings of items return an earlier state: the last one has not reached most replicas.
type stale struct {
	library.ContentStore
	earlier *library.ContentRows
}

func (s stale) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	if q.Serial {
		return s.ContentStore.Read(ctx, id, q)
	}
	return s.earlier, nil
}

// TestRepairEntry_KeepsAnEntryOfAStateThatFewReplicasKnow: only a serial reading returns the state that justifies the
// entry.
func TestRepairEntry_KeepsAnEntryOfAStateThatFewReplicasKnow(t *testing.T) {
	const ben, id = principal.ID("u:acme:ben"), library.ContentID("c:acme:a")
	r := domaintest.NewRows(t)
	r.Principals(ben)
	r.Item(id, 1, principal.Public)
	earlier, err := r.Store.Contents.Read(t.Context(), id, library.ContentQuery{Members: []principal.ID{ben}})
	r.Must(err)
	r.Item(id, 1, principal.Public, domaintest.ContentMember(ben, library.Viewing))
	entries := func() []library.Entry {
		es, err := r.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: ben, Bucket: principal.Public, Limit: 10})
		r.Must(err)
		return es
	}
	right, store := entries(), r.Store.Store
	store.Contents = stale{store.Contents, earlier}
	r.Must(r.OpenProcess(store).Repair.RepairEntry(t.Context(), ben, library.BucketEntry{Bucket: principal.Public, Entry: right[0]}))
	if got := entries(); !slices.Equal(got, right) {
		t.Errorf("after the repair it has %v, want %v", got, right)
	}
}
