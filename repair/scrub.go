package repair

import (
	"context"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// scrubLook is how many members or entries are checked at once, and scrubLooks how many in one
// step, plus or minus one such page: every process makes a step every few seconds, while it
// serves requests.
const (
	scrubLook  = 100
	scrubLooks = 200
)

// scrubItems is how many items or principals one step checks.
const scrubItems = 50

// Scrub walks through all rows once, and repairs what interrupted changes have left behind. It walks
// through the items, and finishes those that have unsettled positions or that a member's library or
// record shows wrongly, if no change of theirs is in flight. Items that have expired get their reminder
// again. Then it walks through the principals, removes from their libraries what no header justifies,
// and updates memberships from the groups and the directory from their names; then the directory; then
// the claims, of which it removes those without an owner; then the leases, for which it makes missing
// claims; then the texts of pages, of which it removes those that no row refers to; then the pastes,
// whose entries in the feed it corrects. For leases and pastes whose reminders were lost it does what
// the reminders would have caused.
//
// It calls rest after each step. A step that has failed is made again, in the context that rest
// returns. An error of rest ends the walk.
func (s *Service) Scrub(ctx context.Context, rest func(commit.ScrubStep) (context.Context, error)) error {
	c := &scrubbing{s: s, ctx: ctx, rest: rest}
	for _, walk := range []func() error{c.contents, c.owners, c.directory, c.claims, c.leases, c.texts, c.pastes} {
		if err := walk(); err != nil {
			return err
		}
	}
	return nil
}

// ScrubAll is Scrub without rests. It ends at the first error, and returns what all steps have found.
func (s *Service) ScrubAll(ctx context.Context) (finished, mismatches int, err error) {
	err = s.Scrub(ctx, func(step commit.ScrubStep) (context.Context, error) {
		finished, mismatches = finished+step.Finished, mismatches+step.Mismatches
		return ctx, step.Err
	})
	return finished, mismatches, err
}

// scrubbing is a walk of the scrubber.
type scrubbing struct {
	s    *Service
	rest func(commit.ScrubStep) (context.Context, error)
	// Of the running step:
	ctx    context.Context
	looked int // members and entries
	lists  *library.OpenLists
	found  commit.ScrubStep
}

// each calls next until it reports that there is no more, and again if it has failed: next continues where
// it was. A step ends at an error, and when enough was looked at.
func (c *scrubbing) each(next func() (more bool, err error)) error {
	for more := true; more; {
		left, err := next()
		if err == nil {
			more = left
		}
		if err != nil || c.looked >= scrubLooks {
			if err := c.endStep(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// endStep ends a step, with the error by which it has failed, and begins the next one.
func (c *scrubbing) endStep(failed error) (err error) {
	c.found.Err = failed
	c.ctx, err = c.rest(c.found)
	c.looked, c.lists, c.found = 0, nil, commit.ScrubStep{}
	return err
}

// scrubTable calls check for all rows of a table. A step ends with each page.
func scrubTable[Row, Key any](c *scrubbing, scan func(ctx context.Context, after Key, limit int) ([]Row, error),
	key func(Row) Key, check func(Row) error) error {
	var after Key
	return c.each(func() (more bool, err error) {
		rows, err := scan(c.ctx, after, scrubItems)
		if err != nil {
			return false, err
		}
		for _, row := range rows {
			if err := check(row); err != nil {
				return false, err
			}
			after = key(row)
		}
		c.looked = scrubLooks
		return len(rows) == scrubItems, nil
	})
}

// contents scrubs all items.
func (c *scrubbing) contents() error {
	return scrubTable(c, c.s.contents.ScanContents, func(id library.ContentID) library.ContentID { return id }, c.content)
}

// content scrubs an item.
func (c *scrubbing) content(id library.ContentID) error {
	var after principal.ID
	return c.each(func() (more bool, err error) {
		last, err := c.contentMembers(id, after)
		if err == nil {
			after = last
		}
		return last != "", err
	})
}

// contentMembers scrubs an item with its next members after one. It returns the last of them if
// there may be more.
func (c *scrubbing) contentMembers(id library.ContentID, after principal.ID) (last principal.ID, err error) {
	s, ctx := c.s, c.ctx
	if c.lists == nil {
		if c.lists, err = s.library.OpenLists(ctx); err != nil {
			return "", err
		}
	}
	if c.lists.Contents[id] {
		return "", nil
	}
	page, wrong, err := c.compareContent(id, after)
	if err != nil {
		return "", err
	}
	c.looked += 1 + len(page.Members)
	if len(page.Members) == scrubLook {
		last = page.Members[len(page.Members)-1].Principal
	}
	h := &page.Header
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
	c.found.Mismatches += len(wrong)
	c.found.Finished++
	return last, s.library.Upkeep.RepeatWalk(ctx, id, h.Seq-1)
}

// compareContent is compare. It also makes the claim of the item's URL and its entry in the feed, if
// they are missing, and takes out members that are deleted.
func (c *scrubbing) compareContent(id library.ContentID, after principal.ID) (page *library.ContentRows, wrong []principal.ID, err error) {
	s, ctx := c.s, c.ctx
	if page, wrong, err = s.compare(ctx, id, after); err != nil {
		return nil, nil, err
	}
	if after == "" {
		made, err := s.makeClaim(ctx, urlOf(&page.Header), string(id))
		if c.found.Mismatches += made; err != nil {
			return nil, nil, err
		}
		unlisted, err := s.library.Upkeep.RepairFeed(ctx, &page.Header)
		if unlisted {
			c.found.Mismatches++
		}
		if err != nil {
			return nil, nil, err
		}
	}
	taken, err := s.takeOutDeleted(ctx, &page.Header, page.Members)
	c.found.Mismatches += taken
	return page, wrong, err
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
