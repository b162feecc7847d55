package repair

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// auditGroups checks the groups' own rows and counts the memberships that they require.
func (s *Service) auditGroups(ctx context.Context, r *AuditReport, must ledger) error {
	return s.eachPrincipal(ctx, func(p principal.ID) error {
		r.Principals++
		if !p.IsGroup() {
			return nil
		}
		var after principal.ID
		members, managers := 0, 0
		for {
			page, err := s.principals.GroupMembersPage(ctx, p, after, rebuildPage, false)
			if err != nil {
				return err
			}
			for _, m := range page.Members {
				after = m.Principal
				if m.Leaving {
					r.Leaving++
					continue
				}
				if members++; m.Role == principal.GroupManager {
					managers++
				}
				must.of(m.Principal).groups++
			}
			if len(page.Members) < rebuildPage {
				if h := &page.Header; h.Members != members || h.Managers != managers {
					r.mismatch("%s counts %d members and %d managers but has %d and %d", p, h.Members, h.Managers, members, managers)
				}
				return nil
			}
		}
	})
}

// auditLibraries checks every derived row, and compares their numbers with those required, so that
// it finds missing rows too.
func (s *Service) auditLibraries(ctx context.Context, r *AuditReport, must ledger) error {
	return s.eachPrincipal(ctx, func(p principal.ID) error {
		holds := must[p]
		if holds == nil {
			holds = &holdings{}
		}
		for _, o := range library.AllOrders {
			if o == library.ByTitle { // a store from before there was this order gets it library by library
				if built, err := s.libraries.Built(ctx, p, o); err != nil {
					return err
				} else if !built {
					continue
				}
			}
			for _, b := range library.AllBuckets {
				if err := s.auditBucket(ctx, r, p, o, b, holds.entries[b]); err != nil {
					return err
				}
			}
		}
		if err := s.auditShared(ctx, r, p, holds.shared); err != nil {
			return err
		}
		return s.auditMemberships(ctx, r, p, holds.groups)
	})
}

func (s *Service) auditBucket(ctx context.Context, r *AuditReport, p principal.ID, o library.Order, b library.Bucket, want int) error {
	found := 0
	err := s.walkBucket(ctx, p, o, b, func(entries []library.Entry, rows []library.ContentRows) error {
		for i, e := range entries {
			r.Entries++
			if !justified(e, b, p, &rows[i]) {
				r.mismatch("the %s bucket of %s shows %s at %s without justification", b, p, e.Content, placeOf(e))
				continue
			}
			found++
			if role := rows[i].Members[0].Role; e.Role != role {
				r.mismatch("the %s bucket of %s has the role %s on %s, which is %s", b, p, e.Role, e.Content, role)
			}
		}
		return nil
	})
	if err == nil && found != want {
		r.mismatch("the %s bucket of %s shows %d items %s and must show %d", b, p, found, o, want)
	}
	return err
}

// placeOf returns the place of an entry, for a message.
func placeOf(e library.Entry) string {
	if e.Title != "" {
		return fmt.Sprintf("the title key %x", e.Title)
	}
	return e.Position.String()
}

func (s *Service) auditShared(ctx context.Context, r *AuditReport, p principal.ID, want int) error {
	var after library.ContentID
	found := 0
	for {
		shared, err := s.libraries.SharedWith(ctx, p, after, rebuildPage)
		if err != nil {
			return err
		}
		ids := make([]library.ContentID, len(shared))
		for i, sh := range shared {
			ids[i], after = sh.Content, sh.Content
		}
		rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{p})
		if err != nil {
			return err
		}
		for i, sh := range shared {
			if m := rows[i].Members[0]; rows[i].Header.State != commit.Live || !m.Active() || m.Role != sh.Role {
				r.mismatch("%s is recorded to have the role %s on %s without justification", p, sh.Role, sh.Content)
				continue
			}
			found++
		}
		if len(shared) < rebuildPage {
			break
		}
	}
	if found != want {
		r.mismatch("%s is recorded to have a role on %d items and has one on %d", p, found, want)
	}
	return nil
}

func (s *Service) auditMemberships(ctx context.Context, r *AuditReport, p principal.ID, want int) error {
	var after principal.ID
	found := 0
	for {
		groups, err := s.principals.Memberships(ctx, p, after, rebuildPage)
		if err != nil {
			return err
		}
		claims := make([]principal.MemberOf, len(groups))
		for i, m := range groups {
			claims[i], after = principal.MemberOf{Group: m.Group, Member: p}, m.Group
		}
		rows, err := s.principals.Confirm(ctx, claims)
		if err != nil {
			return err
		}
		for i, m := range groups {
			r.Memberships++
			if !rows[i].Active() || rows[i].Role != m.Role {
				r.mismatch("%s is recorded as a %s of %s without justification", p, m.Role, m.Group)
				continue
			}
			found++
		}
		if len(groups) < rebuildPage {
			break
		}
	}
	if found != want {
		r.mismatch("%s is recorded as a member of %d groups and is one of %d", p, found, want)
	}
	return nil
}

// eachPrincipal calls see for all users and groups, deleted ones too, each once.
func (s *Service) eachPrincipal(ctx context.Context, see func(principal.ID) error) error {
	var after principal.ID
	for {
		ids, err := s.principals.ScanPrincipals(ctx, after, rebuildPage)
		if err != nil {
			return err
		}
		for _, id := range ids {
			after = id
			if err := see(id); err != nil {
				return err
			}
		}
		if len(ids) < rebuildPage {
			return nil
		}
	}
}
