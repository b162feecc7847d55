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

// ScrubReport is the result of a step of the scrubber.
type ScrubReport struct {
	Next ScrubPosition // where the next step starts
	// Finished counts what interrupted changes have left behind: items with unsettled positions or
	// wrong entries, claims that have expired, leases and pastes whose reminders were lost, and texts
	// that no row refers to.
	Finished int
	// Mismatches counts derived rows that were wrong or missing.
	Mismatches int
}

// ScrubPosition is the position of the scrubber; the zero one is the beginning.
type ScrubPosition struct {
	// Content is the item reached; with Member, its members up to that one are done.
	Content library.ContentID
	Member  principal.ID

	// Owners: all items are done. Owner is the principal reached: with Member, the members of a
	// group up to that one are done; with Record, the record of what was shared up to Content;
	// with Order and Bucket, the entries of its library up to From.
	Owners bool
	Owner  principal.ID
	Record bool
	Order  library.Order
	Bucket library.Bucket
	From   *library.EntryKey

	// Directory: all principals are done too. Row is the position that ScanDirectory has reached;
	// empty: the beginning.
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

// scrubLook is how many members or entries are checked at once, and scrubLooks how many in one
// step, plus or minus one such page: every process makes a step every few seconds, while it
// serves requests.
const (
	scrubLook  = 100
	scrubLooks = 200
)

// scrubItems is how many items or principals one step checks.
const scrubItems = 50

// Scrub makes the next step of the scrubber of this process, which starts again at the end. It
// returns the counts of the report: Finished and Mismatches. Steps must not run concurrently.
func (s *Service) Scrub(ctx context.Context) (finished, mismatches int, err error) {
	r, err := s.ScrubFrom(ctx, s.scrubbed, scrubItems)
	if err == nil {
		s.scrubbed = r.Next
	}
	return r.Finished, r.Mismatches, err
}

// ScrubFrom makes one step of the scrubber, which repairs what interrupted changes have left
// behind. It walks through the items, and finishes those that have unsettled positions or that
// a member's library or record shows wrongly, if no change of theirs is in flight. Items that
// have expired get their reminder again. Then it walks through the principals, removes from their
// libraries what no header justifies, and updates memberships from the groups and the directory
// from their names; then the directory; then the claims, of which it removes those without an
// owner; then the leases, for which it makes missing claims; then the texts of pages, of which it
// removes those that no row refers to; then the pastes, whose entries in the feed it corrects. For
// leases and pastes whose reminders were lost it does what the reminders would have caused. The report
// counts what it finds.
func (s *Service) ScrubFrom(ctx context.Context, from ScrubPosition, limit int) (ScrubReport, error) {
	c := &scrubbing{s: s, at: from, budget: scrubLooks}
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

// scrubbing is one running step.
type scrubbing struct {
	s      *Service
	at     ScrubPosition
	budget int // members and entries that may still be checked
	lists  *library.OpenLists
	report ScrubReport
}

// contents scrubs items, starting at the position of the step.
func (c *scrubbing) contents(ctx context.Context, limit int) (err error) {
	ids, err := c.s.contents.ScanContents(ctx, c.at.Content, limit)
	if err != nil {
		return err
	}
	if c.lists, err = c.s.library.OpenLists(ctx); err != nil {
		return err
	}
	if c.at.Member != "" {
		ids = append([]library.ContentID{c.at.Content}, ids...)
		limit++
	}
	after := c.at.Member
	for _, id := range ids {
		if c.budget <= 0 {
			return nil
		}
		if after, err = c.content(ctx, id, after); err != nil {
			return err
		}
		if after != "" {
			c.report.Next = ScrubPosition{Content: id, Member: after}
			return nil
		}
		c.report.Next = ScrubPosition{Content: id}
	}
	if len(ids) < limit {
		c.report.Next = ScrubPosition{Owners: true}
	}
	return nil
}

// content scrubs an item with its next members after one. It returns the last of them if there
// may be more.
func (c *scrubbing) content(ctx context.Context, id library.ContentID, after principal.ID) (last principal.ID, err error) {
	if c.lists.Contents[id] {
		return "", nil
	}
	s := c.s
	page, wrong, err := s.compare(ctx, id, after)
	if err != nil {
		return "", err
	}
	c.budget -= 1 + len(page.Members)
	if len(page.Members) == scrubLook {
		last = page.Members[len(page.Members)-1].Principal
	}
	h := &page.Header
	if after == "" {
		made, err := s.makeClaim(ctx, urlOf(h), string(id))
		if c.report.Mismatches += made; err != nil {
			return "", err
		}
		if err := c.feed(ctx, h); err != nil {
			return "", err
		}
	}
	taken, err := s.takeOutDeleted(ctx, h, page.Members)
	if c.report.Mismatches += taken; err != nil {
		return "", err
	}
	if h.State == commit.Live && h.ExpiresAt != nil && *h.ExpiresAt <= s.engine.Now() {
		// The reminder gets a timestamp newer than the state, so that no removal of the reminder hides it.
		if err := s.inFlightLists.PutReminder(ctx, commit.Reminder{At: *h.ExpiresAt, Kind: commit.Content, Key: string(id),
			MTS: s.engine.MTS(h.MTS)}); err != nil {
			return "", err
		}
	}
	if len(wrong) == 0 && h.Settled() {
		return last, nil
	}
	// What a change has not finished yet is no mismatch. A mismatch is found twice, for the same
	// state, with nothing in flight in between.
	if lists, err := s.library.OpenLists(ctx); err != nil || lists.MayHold(id, h.MTS, s.engine.Now()) {
		return last, err
	}
	seq := h.Seq
	if page, wrong, err = s.compare(ctx, id, after); err != nil {
		return "", err
	}
	h = &page.Header
	if h.Seq != seq || len(wrong) == 0 && h.Settled() {
		return last, nil
	}
	c.report.Mismatches += len(wrong)
	c.report.Finished++
	return last, s.library.Upkeep.RepeatWalk(ctx, id, h.Seq-1)
}

// compare reads some members of an item, and returns those whose libraries or records differ
// from the header.
func (s *Service) compare(ctx context.Context, id library.ContentID, after principal.ID) (page *library.ContentRows,
	wrong []principal.ID, err error) {
	page, err = s.contents.MembersPage(ctx, id, after, scrubLook, false)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range page.Members {
		differs, err := s.differs(ctx, &page.Header, m, true)
		if err != nil {
			return nil, nil, err
		}
		if differs {
			wrong = append(wrong, m.Principal)
		}
	}
	return page, wrong, nil
}
