package repair

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// auditList is how many mismatches a report describes; all are counted.
const auditList = 100

// AuditReport is the result of an audit. While nobody writes and nothing is in flight, all of
// Mismatches, Unsettled, Leaving and InFlight must be 0, and UnreadableLists empty.
type AuditReport struct {
	Principals  int `json:"principals"`
	Deleted     int `json:"deleted"`  // of the principals
	Contents    int `json:"contents"` // live ones
	Entries     int `json:"entries"`  // of all buckets
	Memberships int `json:"memberships"`
	Directory   int `json:"directory"` // rows by which principals are found
	Claims      int `json:"claims"`    // of unique names
	Leases      int `json:"leases"`    // that hold keys
	Revisions   int `json:"revisions"` // of the texts of items
	Drafts      int `json:"drafts"`
	Pastes      int `json:"pastes"` // that have not ended
	// StaleClaims are claims of interrupted changes. They keep no name from others, and the
	// scrubber removes them.
	StaleClaims int `json:"staleClaims"`
	// Mismatches counts entries that no header justifies, entries that are missing, rows of the
	// reverse indexes that are wrong, unique names without a claim, and pages whose rows or texts
	// are missing.
	Mismatches int `json:"mismatches"`
	Unsettled  int `json:"unsettled"` // positions and titles
	Leaving    int `json:"leaving"`   // rows
	InFlight   int `json:"inFlight"`  // entries that are not deferred to a later time
	Deferred   int `json:"deferred"`  // moves not yet due
	// UnreadableLists are in-flight lists that cannot be read. Their entries are not in InFlight,
	// and may be among the mismatches.
	UnreadableLists []commit.ListID `json:"unreadableLists,omitempty"`
	// Details describes the first mismatches.
	Details []string `json:"details,omitempty"`
}

// Clean reports whether nothing is wrong and nothing remains to be done.
func (r *AuditReport) Clean() bool {
	return r.Mismatches == 0 && r.Unsettled == 0 && r.Leaving == 0 && r.InFlight == 0 && len(r.UnreadableLists) == 0
}

func (r *AuditReport) mismatch(format string, args ...any) {
	r.Mismatches++
	if len(r.Details) < auditList {
		r.Details = append(r.Details, fmt.Sprintf(format, args...))
	}
}

// holdings counts what one principal must have, according to the authoritative rows.
type holdings struct {
	entries [principal.Public + 1]int // by bucket
	shared  int
	groups  int
}

// ledger has the counts of all principals.
type ledger map[principal.ID]*holdings

func (l ledger) of(p principal.ID) *holdings {
	if l[p] == nil {
		l[p] = &holdings{}
	}
	return l[p]
}

// add counts an item that owner has a role on.
func (o *holdings) add(h *library.Header, owner principal.ID) {
	o.shared++
	for _, b := range library.AllBuckets {
		if library.InBucket(b, h.Visibility, h.ID, owner) {
			o.entries[b]++
		}
	}
}

// Audit checks that every library has, in each bucket, the entries that the headers justify, and no
// others. It does the same with the records of what was shared with whom, the memberships of
// groups, and the directory. It reads everything and changes nothing.
//
// It works in two passes with one counter for each bucket: the first, over the items, counts
// what each library must contain; the second, over the libraries, checks each entry against its
// header. Entries differ in their keys, so if there are as many justified entries as there must
// be, they are the right ones.
func (s *Service) Audit(ctx context.Context) (*AuditReport, error) {
	r := &AuditReport{}
	must := ledger{}
	moving, err := s.auditInFlightLists(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("auditing the changes in flight: %w", err)
	}
	if err := s.auditContents(ctx, r, must, moving); err != nil {
		return nil, fmt.Errorf("auditing the items: %w", err)
	}
	if err := s.auditGroups(ctx, r, must); err != nil {
		return nil, fmt.Errorf("auditing the groups: %w", err)
	}
	if err := s.auditLibraries(ctx, r, must); err != nil {
		return nil, fmt.Errorf("auditing the libraries: %w", err)
	}
	if err := s.auditDeleted(ctx, r, must); err != nil {
		return nil, fmt.Errorf("auditing deleted users and groups: %w", err)
	}
	if err := s.auditDirectory(ctx, r); err != nil {
		return nil, fmt.Errorf("auditing the directory: %w", err)
	}
	if err := s.auditEmails(ctx, r); err != nil {
		return nil, fmt.Errorf("auditing e-mail addresses: %w", err)
	}
	if err := s.auditDrafts(ctx, r); err != nil {
		return nil, fmt.Errorf("auditing drafts: %w", err)
	}
	if err := s.auditLeases(ctx, r); err != nil {
		return nil, fmt.Errorf("auditing leases: %w", err)
	}
	if err := s.auditPastes(ctx, r); err != nil {
		return nil, fmt.Errorf("auditing pastes: %w", err)
	}
	if err := s.auditClaims(ctx, r); err != nil {
		return nil, fmt.Errorf("auditing claims: %w", err)
	}
	return r, nil
}

// auditInFlightLists counts what is in flight, and returns which items have a deferred move.
func (s *Service) auditInFlightLists(ctx context.Context, r *AuditReport) (map[library.ContentID]bool, error) {
	lists, err := s.library.OpenLists(ctx)
	if err != nil {
		return nil, err
	}
	r.UnreadableLists = lists.Unreadable
	moving := map[library.ContentID]bool{}
	for _, e := range lists.Entries {
		moving[library.ContentID(e.Key)] = moving[library.ContentID(e.Key)] || e.Due != 0
		if e.Due > s.engine.Now() {
			r.Deferred++
		} else {
			r.InFlight++
		}
	}
	return moving, nil
}

// auditAtOnce is how many items an audit reads at once. It holds one page of members of each in
// memory.
const auditAtOnce = 32

func (s *Service) auditContents(ctx context.Context, r *AuditReport, must ledger, moving map[library.ContentID]bool) error {
	return s.eachContents(ctx, func(ids []library.ContentID) error {
		for some := range slices.Chunk(ids, auditAtOnce) {
			first := make([]*library.ContentRows, len(some))
			err := sched.ForEach(ctx, s.rt, len(some), auditAtOnce, func(i int) (err error) {
				first[i], err = s.contents.MembersPage(ctx, some[i], "", rebuildPage, false)
				return err
			})
			if err != nil {
				return err
			}
			for i, id := range some {
				if err := s.auditContent(ctx, r, must, first[i], id, moving[id]); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
			}
		}
		return nil
	})
}

// auditContent checks an item's own rows and counts the derived rows that they require. page is
// the first one of its member rows. moving reports that it has a deferred move: otherwise its
// position is that of its last change.
func (s *Service) auditContent(ctx context.Context, r *AuditReport, must ledger, page *library.ContentRows,
	id library.ContentID, moving bool) (err error) {
	var after principal.ID
	members, managers := 0, 0
	for {
		h := &page.Header
		if after == "" {
			r.Unsettled += len(h.Unsettled) + len(h.UnsettledTitles)
			if err := s.auditClaim(ctx, r, urlOf(h), string(id), "a URL"); err != nil {
				return err
			}
			if err := s.auditFeed(ctx, r, h); err != nil {
				return err
			}
			if h.State == commit.Live {
				if err := s.auditPage(ctx, r, h); err != nil {
					return err
				}
				r.Contents++
				if h.Position != h.LastModified && !moving {
					r.mismatch("%s has the position %s, was changed at %s, and nothing in flight will move it", id, h.Position, h.LastModified)
				}
			}
		}
		for _, m := range page.Members {
			after = m.Principal
			if m.Leaving {
				r.Leaving++
				continue
			}
			if h.State != commit.Live {
				r.mismatch("%s is not live but has the member %s", id, m.Principal)
				continue
			}
			if members++; m.Role == library.Manages {
				managers++
			}
			must.of(m.Principal).add(h, m.Principal)
		}
		if len(page.Members) < rebuildPage {
			if h.State == commit.Live && (h.Members != members || h.Managers != managers) {
				r.mismatch("%s counts %d members and %d managers but has %d and %d", id, h.Members, h.Managers, members, managers)
			}
			return nil
		}
		if page, err = s.contents.MembersPage(ctx, id, after, rebuildPage, false); err != nil {
			return err
		}
	}
}
