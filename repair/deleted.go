package repair

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// remains returns what is left of a deleted principal.
func (s *Service) remains(ctx context.Context, h *principal.Header) (left []string, err error) {
	p := h.ID
	found := func(what string, some bool, failed error) {
		if some {
			left = append(left, what)
		}
		if err == nil && failed != nil {
			err = fmt.Errorf("looking for %s of %s: %w", what, p, failed)
		}
	}
	found("its name or e-mail address", !h.Removed(), nil)
	page, failed := s.principals.GroupMembersPage(ctx, p, "", 1, false)
	found("rows of its members", page != nil && len(page.Members) > 0, failed)
	groups, failed := s.principals.Memberships(ctx, p, "", 1)
	found("memberships in groups", len(groups) > 0, failed)
	shared, failed := s.libraries.SharedWith(ctx, p, "", 1)
	found("roles on items", len(shared) > 0, failed)
	for _, o := range library.AllOrders {
		for _, b := range library.AllBuckets {
			es, failed := s.libraries.PageLibrary(ctx, library.Slice{Owner: p, Bucket: b, Order: o, Limit: 1})
			found(fmt.Sprintf("entries of its %s bucket %s", b, o), len(es) > 0, failed)
		}
		built, failed := s.libraries.Built(ctx, p, o)
		found("the mark of its library", built, failed)
	}
	if p.IsUser() {
		drafts, failed := s.pages.AuditDrafts(ctx, p, func(string, ...any) {})
		found("drafts", drafts > 0, failed)
	}
	return left, err
}

// auditDeleted looks for what is left of principals that were deleted.
func (s *Service) auditDeleted(ctx context.Context, r *AuditReport, must ledger) error {
	return s.people.Upkeep.EachDeleted(ctx, func(h *principal.Header) error {
		r.Deleted++
		left, err := s.remains(ctx, h)
		if err != nil {
			return err
		}
		if o := must[h.ID]; o != nil {
			left = append(left, fmt.Sprintf("its rows in %d items and %d groups", o.shared, o.groups))
		}
		for _, what := range left {
			r.mismatch("%s was deleted, and %s is left", h.ID, what)
		}
		return nil
	})
}

// removeDeleted removes what is left of a deleted principal, unless its removal is in flight. It
// reports whether the principal is deleted, and how many kinds of rows were left.
func (s *Service) removeDeleted(ctx context.Context, p principal.ID) (deleted bool, found int, err error) {
	headers, err := s.principals.ReadPrincipals(ctx, []principal.ID{p})
	if err != nil || headers[0].State != commit.Deleted {
		return false, 0, err
	}
	left, err := s.remains(ctx, &headers[0])
	if err != nil || len(left) == 0 {
		return true, 0, err
	}
	lists, err := s.library.OpenLists(ctx)
	if err != nil || lists.MayHoldPrincipal(p, headers[0].MTS, s.engine.Now()) {
		return true, 0, err
	}
	return true, len(left), s.people.Upkeep.RemoveDeleted(ctx, p)
}

// takeOutDeleted takes deleted members out of an item, unless their removal is in flight. It
// returns how many it has taken out.
func (s *Service) takeOutDeleted(ctx context.Context, h *library.Header, members []library.Member) (int, error) {
	if h.State != commit.Live {
		return 0, nil
	}
	var active []principal.ID
	for _, m := range members {
		if m.Active() {
			active = append(active, m.Principal)
		}
	}
	return s.eachDeleted(ctx, active, func(p principal.ID) error { return s.library.Upkeep.LeaveItem(ctx, h.ID, p) })
}

// eachDeleted calls remove with each of ps that is deleted and whose removal is not in flight. It
// returns how many there were.
func (s *Service) eachDeleted(ctx context.Context, ps []principal.ID, remove func(principal.ID) error) (n int, err error) {
	gone, err := s.people.DeletedOf(ctx, ps)
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	lists, err := s.library.OpenLists(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range gone {
		if lists.Principals[p] {
			continue
		}
		if err := remove(p); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
