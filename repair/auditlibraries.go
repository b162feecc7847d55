package repair

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/sched"
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
		var h principal.Header
		members, managers := 0, 0
		err := s.eachGroupPage(ctx, p, func(page *principal.Rows) error {
			h = page.Header
			for _, m := range page.Members {
				if m.Leaving {
					r.Leaving++
					continue
				}
				if members++; m.Role == principal.GroupManager {
					managers++
				}
				must.of(m.Principal).groups++
			}
			return nil
		})
		if err == nil && (h.Members != members || h.Managers != managers) {
			r.mismatch("%s counts %d members and %d managers but has %d and %d", p, h.Members, h.Managers, members, managers)
		}
		return err
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
	found := 0
	var right []bool
	read := func(ctx context.Context, after library.ContentID, limit int) (shared []library.Shared, err error) {
		shared, right, err = s.sharedPage(ctx, p, after, limit)
		return shared, err
	}
	key := func(sh library.Shared) library.ContentID { return sh.Content }
	err := sched.Pages(ctx, rebuildPage, read, key, func(shared []library.Shared) error {
		for i, sh := range shared {
			if !right[i] {
				r.mismatch("%s is recorded to have the role %s on %s without justification", p, sh.Role, sh.Content)
				continue
			}
			found++
		}
		return nil
	})
	if err == nil && found != want {
		r.mismatch("%s is recorded to have a role on %d items and has one on %d", p, found, want)
	}
	return err
}

// sharedPage reads some records of what was shared with p, and then the items. right says which records
// are those of p's roles.
func (s *Service) sharedPage(ctx context.Context, p principal.ID, after library.ContentID, limit int) (shared []library.Shared,
	right []bool, err error) {
	if shared, err = s.libraries.SharedWith(ctx, p, after, limit); err != nil {
		return nil, nil, err
	}
	ids := make([]library.ContentID, len(shared))
	for i := range shared {
		ids[i] = shared[i].Content
	}
	rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{p})
	for i := range rows {
		m := rows[i].Members[0]
		right = append(right, rows[i].Header.State == commit.Live && m.Active() && m.Role == shared[i].Role)
	}
	return shared, right, err
}

func (s *Service) auditMemberships(ctx context.Context, r *AuditReport, p principal.ID, want int) error {
	found := 0
	err := s.eachConfirmed(ctx, p, func(m principal.Membership, row principal.GroupMemberRow) error {
		r.Memberships++
		if !row.Active() || row.Role != m.Role {
			r.mismatch("%s is recorded as a %s of %s without justification", p, m.Role, m.Group)
			return nil
		}
		found++
		return nil
	})
	if err == nil && found != want {
		r.mismatch("%s is recorded as a member of %d groups and is one of %d", p, found, want)
	}
	return err
}
