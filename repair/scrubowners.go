package repair

import (
	"context"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// owners scrubs principals, starting at the position of the step.
func (c *scrubbing) owners(ctx context.Context, limit int) error {
	if c.at.Bucket != 0 || c.at.Member != "" || c.at.Record {
		if done, err := c.owner(ctx, c.at); err != nil || !done {
			return err
		}
		c.report.Next = ScrubPosition{Owners: true, Owner: c.at.Owner}
	}
	ids, err := c.s.principals.ScanPrincipals(ctx, c.at.Owner, limit)
	if err != nil {
		return err
	}
	for _, p := range ids {
		if c.budget <= 0 {
			return nil
		}
		if done, err := c.owner(ctx, ScrubPosition{Owners: true, Owner: p}); err != nil || !done {
			return err
		}
		c.report.Next = ScrubPosition{Owners: true, Owner: p}
	}
	if len(ids) < limit {
		c.report.Next = ScrubPosition{Directory: true}
	}
	return nil
}

// owner scrubs a principal, starting at a position: its rows in the directory, its memberships,
// those of its members if it is a group, the record of what was shared with it, and its library. It
// reports whether it is done; if not, the next position is in the report.
func (c *scrubbing) owner(ctx context.Context, from ScrubPosition) (done bool, err error) {
	p := from.Owner
	if from.Bucket != 0 {
		return c.library(ctx, p, from.Order, from.Bucket, from.From)
	}
	if !from.Record {
		deleted, left, err := c.s.removeDeleted(ctx, p)
		if c.report.Mismatches += left; err != nil || deleted {
			return deleted, err
		}
		if done, err := c.memberships(ctx, from); err != nil || !done {
			return false, err
		}
		from = ScrubPosition{Owners: true, Owner: p, Record: true}
	}
	for more := true; more; {
		if c.budget <= 0 {
			c.report.Next = from
			return false, nil
		}
		if from.Content, more, err = c.record(ctx, p, from.Content); err != nil {
			return false, err
		}
	}
	return c.library(ctx, p, library.ByChange, principal.Private, nil)
}

// memberships repairs the memberships of a principal, and of its members if it is a group, from
// the groups' own rows, and its rows in the directory from its header.
func (c *scrubbing) memberships(ctx context.Context, from ScrubPosition) (done bool, err error) {
	s, p, repaired := c.s, from.Owner, 0
	if from.Member == "" {
		repaired, err = s.repairIfMissing(ctx, p)
		if c.report.Mismatches += repaired; err != nil {
			return false, err
		}
		repaired, err = s.repairMemberships(ctx, p)
		if c.report.Mismatches += repaired; err != nil {
			return false, err
		}
		repaired, err = s.makeEmailClaim(ctx, p)
		if c.report.Mismatches += repaired; err != nil {
			return false, err
		}
	}
	for more := p.IsGroup(); more; more = from.Member != "" {
		if c.budget <= 0 {
			c.report.Next = from
			return false, nil
		}
		looked := 0
		from.Member, looked, repaired, err = s.repairMembers(ctx, p, from.Member)
		c.budget -= 1 + looked
		if c.report.Mismatches += repaired; err != nil {
			return false, err
		}
	}
	return true, nil
}

// record repairs what is wrongly recorded as shared with p, after an item.
func (c *scrubbing) record(ctx context.Context, p principal.ID, after library.ContentID) (last library.ContentID, more bool, err error) {
	s := c.s
	shared, err := s.libraries.SharedWith(ctx, p, after, scrubLook)
	c.budget -= 1 + len(shared)
	if err != nil || len(shared) == 0 {
		return "", false, err
	}
	ids := make([]library.ContentID, len(shared))
	for i := range shared {
		ids[i] = shared[i].Content
	}
	rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{p})
	if err != nil {
		return "", false, err
	}
	for i, sh := range shared {
		if m := rows[i].Members[0]; rows[i].Header.State == commit.Live && m.Active() && m.Role == sh.Role {
			continue
		}
		if err := c.unjustified(ctx, p, sh.Content); err != nil {
			return "", false, err
		}
	}
	return ids[len(ids)-1], len(shared) == scrubLook, nil
}

// unjustified repairs an item in p's record that differs from the item's state, if no change in
// flight would do so.
func (c *scrubbing) unjustified(ctx context.Context, p principal.ID, id library.ContentID) error {
	lists, err := c.s.library.OpenLists(ctx)
	if err != nil || lists.Contents[id] {
		return err
	}
	rows, err := c.s.contents.Read(ctx, id, library.ContentQuery{Members: []principal.ID{p}, Serial: true})
	if err != nil || lists.MayHide(rows.Header.MTS, c.s.engine.Now()) {
		return err
	}
	differs, err := c.s.differs(ctx, &rows.Header, rows.Members[0], true)
	if err != nil || !differs {
		return err
	}
	c.report.Mismatches++
	return c.s.repairItem(ctx, p, id)
}

// library checks entries of a library, starting after one in a bucket of an order. It reports whether it is
// done; if not, the next position is in the report.
func (c *scrubbing) library(ctx context.Context, p principal.ID, order library.Order, from library.Bucket,
	after *library.EntryKey) (done bool, err error) {
	for _, o := range library.AllOrders {
		for _, b := range library.AllBuckets {
			if o < order || o == order && b < from {
				continue
			}
			for more := true; more; {
				if c.budget <= 0 {
					c.report.Next = ScrubPosition{Owners: true, Owner: p, Order: o, Bucket: b, From: after}
					return false, nil
				}
				if after, more, err = c.entries(ctx, p, o, b, after); err != nil {
					return false, err
				}
			}
			after = nil
		}
	}
	return true, nil
}

// entries checks some entries of a bucket after one, and drops those that no header justifies
// and no change in flight explains.
func (c *scrubbing) entries(ctx context.Context, p principal.ID, o library.Order, b library.Bucket,
	after *library.EntryKey) (last *library.EntryKey, more bool, err error) {
	s := c.s
	es, err := s.libraries.PageLibrary(ctx, library.Slice{Owner: p, Bucket: b, Order: o, Ascending: true, From: after, Limit: scrubLook})
	c.budget -= 1 + len(es)
	if err != nil || len(es) == 0 {
		return nil, false, err
	}
	ids := make([]library.ContentID, len(es))
	for i := range es {
		ids[i] = es[i].Content
	}
	rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{p})
	if err != nil {
		return nil, false, err
	}
	for i, e := range es {
		if justified(e, b, p, &rows[i]) {
			continue
		}
		if err := c.stray(ctx, p, b, e.EntryKey, rows[i].Header.Seq); err != nil {
			return nil, false, err
		}
	}
	return &es[len(es)-1].EntryKey, len(es) == scrubLook, nil
}

// stray drops an entry that the state of seq does not justify, if that state is still current
// and nothing is in flight that would drop it.
func (c *scrubbing) stray(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey, seq int64) error {
	s := c.s
	lists, err := s.library.OpenLists(ctx)
	if err != nil || lists.Contents[at.Content] {
		return err
	}
	rows, err := s.contents.Read(ctx, at.Content, library.ContentQuery{Serial: true})
	if err != nil || rows.Header.Seq != seq || lists.MayHide(rows.Header.MTS, s.engine.Now()) {
		return err
	}
	if _, found, err := s.entryAt(ctx, p, b, at); err != nil || !found {
		return err
	}
	c.report.Mismatches++
	return s.dropStray(ctx, p, b, at)
}
