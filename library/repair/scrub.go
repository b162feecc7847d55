package repair

import (
	"context"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/lease"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// ScrubReport is what a step of the scrubber found.
type ScrubReport struct {
	Next ScrubPlace // where the next step begins
	// Settled counts items whose positions were left unsettled by nobody in
	// flight, or that some library or record showed otherwise.
	Settled int
	// Mismatches counts derived rows that were wrong or missing.
	Mismatches int
}

// ScrubPlace is how far the scrubber has got; the zero one is the beginning.
type ScrubPlace struct {
	// Content is the item reached; with Member, its members up to that one.
	Content library.ContentID
	Member  principal.ID

	// Owners: all items are done. Owner is the principal reached: with Member, the
	// members of a group up to that one; with Record, what is recorded as shared up
	// to Content; with Bucket, the entries of its library up to From.
	Owners bool
	Owner  principal.ID
	Record bool
	Bucket library.Bucket
	From   *library.EntryKey

	// Directory: all principals are done too. Row is the place that ScanDirectory
	// has got to; empty: the beginning.
	Directory bool
	Row       string

	// Claims: the directory is done too. Claim is the key reached.
	Claims bool
	Claim  claim.Key

	// Leases: the claims are done too. Lease is the lease reached.
	Leases bool
	Lease  lease.ID

	// Texts: the leases are done too. Text is the text reached.
	Texts bool
	Text  [16]byte

	// Pastes: the texts are done too. Paste is the paste reached.
	Pastes bool
	Paste  paste.ID
}

// scrubLook is how many members or entries are looked at once, and scrubLooks
// how many in one step, give or take one such page: a step comes every few
// seconds, in every process, beside what is served.
const (
	scrubLook  = 100
	scrubLooks = 200
)

// scrubItems is how many items or principals one step looks at.
const scrubItems = 50

// Scrub makes the next step of the scrubber of this process, which begins again
// when it has seen everything. It returns how many items it has settled, and how many
// derived rows were wrong. Steps must not run beside each other.
func (s *Service) Scrub(ctx context.Context) (settled, mismatches int, err error) {
	r, err := s.ScrubFrom(ctx, s.scrubbed, scrubItems)
	if err == nil {
		s.scrubbed = r.Next
	}
	return r.Settled, r.Mismatches, err
}

// ScrubFrom is one step of the scrubber. It walks over the items and finishes those
// that have unsettled positions though no change of theirs is in flight, or that
// a member's library or record shows otherwise than the header has it; then over
// the principals, and takes out of their libraries what no header justifies, and
// has memberships follow the groups and the directory their names; then over the
// directory; then over the claims, of which it removes those that nobody holds; then over
// the leases, which get the claims and the sweeping that they lack; then over the texts of
// pages, of which it removes those that no row refers to; then over the pastes, which get
// their entries in the feed and the tidying that they lack. All of that is nothing but what
// interrupted changes have left: what it finds is counted and told. Items whose time has
// come get their hint again.
func (s *Service) ScrubFrom(ctx context.Context, from ScrubPlace, limit int) (ScrubReport, error) {
	c := &scrubbing{s: s, at: from, left: scrubLooks}
	var err error
	switch {
	case from.Pastes:
		err = c.pastes(ctx, limit)
	case from.Texts:
		err = c.texts(ctx, limit)
	case from.Leases:
		err = c.leases(ctx, limit)
	case from.Claims:
		err = c.claims(ctx, limit)
	case from.Directory:
		err = c.directory(ctx)
	case from.Owners:
		err = c.owners(ctx, limit)
	default:
		err = c.contents(ctx, limit)
	}
	return c.report, err
}

// scrubbing is one step under way.
type scrubbing struct {
	s      *Service
	at     ScrubPlace
	left   int // members and entries that may still be looked at
	lists  *library.OpenLists
	report ScrubReport
}

// contents scrubs items from the place on.
func (c *scrubbing) contents(ctx context.Context, limit int) (err error) {
	ids, err := c.s.contents.ScanContents(ctx, c.at.Content, limit)
	if err != nil {
		return err
	}
	if c.lists, err = c.s.OpenLists(ctx); err != nil {
		return err
	}
	if c.at.Member != "" {
		ids = append([]library.ContentID{c.at.Content}, ids...)
		limit++
	}
	after := c.at.Member
	for _, id := range ids {
		if c.left <= 0 {
			return nil
		}
		if after, err = c.content(ctx, id, after); err != nil {
			return err
		}
		if after != "" {
			c.report.Next = ScrubPlace{Content: id, Member: after}
			return nil
		}
		c.report.Next = ScrubPlace{Content: id}
	}
	if len(ids) < limit {
		c.report.Next = ScrubPlace{Owners: true}
	}
	return nil
}

// content scrubs an item with its next members after one. It gives the last of
// them where there may be more.
func (c *scrubbing) content(ctx context.Context, id library.ContentID, after principal.ID) (last principal.ID, err error) {
	if c.lists.Contents[id] {
		return "", nil
	}
	s := c.s
	page, wrong, err := s.compare(ctx, id, after)
	if err != nil {
		return "", err
	}
	c.left -= 1 + len(page.Members)
	if len(page.Members) == scrubLook {
		last = page.Members[len(page.Members)-1].Principal
	}
	h := &page.Header
	if after == "" {
		adopted, err := s.adoptClaim(ctx, urlOf(h), string(id))
		if c.report.Mismatches += adopted; err != nil {
			return "", err
		}
		if err := c.feed(ctx, h); err != nil {
			return "", err
		}
	}
	if h.State == commit.Live && h.ExpiresAt != nil && *h.ExpiresAt <= s.Now() {
		// Newer than the state, so that no removal by an earlier version hides it.
		if err := s.inFlightLists.PutDue(ctx, commit.Due{At: *h.ExpiresAt, Kind: commit.Content, Key: string(id), MTS: s.MTS(h.MTS)}); err != nil {
			return "", err
		}
	}
	if len(wrong) == 0 && len(h.Unsettled) == 0 {
		return last, nil
	}
	// A change that has begun meanwhile is no mistake: that is what is found
	// twice, of one state, with nothing in flight between.
	if lists, err := s.OpenLists(ctx); err != nil || lists.MayHold(id, h.MTS, s.Now()) {
		return last, err
	}
	seq := h.Seq
	if page, wrong, err = s.compare(ctx, id, after); err != nil {
		return "", err
	}
	h = &page.Header
	if h.Seq != seq || len(wrong) == 0 && len(h.Unsettled) == 0 {
		return last, nil
	}
	c.report.Mismatches += len(wrong)
	c.report.Settled++
	err = s.Resettle(ctx, id, h.Seq-1)
	for _, p := range wrong {
		if err == nil {
			err = s.mend(ctx, p, id)
		}
	}
	return last, err
}

// compare reads some members of an item, and tells whose libraries or records
// show it otherwise than the header has it.
func (s *Service) compare(ctx context.Context, id library.ContentID, after principal.ID) (page *library.ContentRows, wrong []principal.ID, err error) {
	page, err = s.contents.MembersPage(ctx, id, after, scrubLook, false)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range page.Members {
		differs, err := s.differs(ctx, &page.Header, m)
		if err != nil {
			return nil, nil, err
		}
		if differs {
			wrong = append(wrong, m.Principal)
		}
	}
	return page, wrong, nil
}
