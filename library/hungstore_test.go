package library_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// hungReads is a store whose readings of principals never end by themselves.
type hungReads struct {
	principal.Store
	hung atomic.Bool
}

func (h *hungReads) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if !h.hung.Load() {
		return h.Store.ReadPrincipals(ctx, ids)
	}
	<-ctx.Done()
	return nil, fault.Unavailablef(ctx.Err(), "the store hangs")
}

// A mutation is refused within 5 s where the store hangs before anything was
// sent, also at the very first reading.
func TestMutation_HungStoreIsRefusedInTime(t *testing.T) {
	var store *hungReads
	h := domaintest.New(t, func(s *domain.Store) {
		store = &hungReads{Store: s.Principals}
		s.Principals = store
	})
	store.hung.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := h.Library.CreateContent(ctx, &principal.Viewer{User: "u:acme:ann"},
		library.CreateContent{Kind: library.Note, Title: "x", Visibility: principal.Public})
	if ctx.Err() != nil {
		t.Error("it was not refused while the request could still wait")
	}
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.Unavailable || e.Reason != "" || e.RetryAfter == 0 {
		t.Errorf("the refusal is %v", err)
	}
}
