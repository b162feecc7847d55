package repair

import (
	"context"

	"carrel/library"
	"carrel/principal"
)

// owners scrubs all principals.
func (c *scrubbing) owners() error {
	return scrubTable(c, c.s.principals.ScanPrincipals, func(p principal.ID) principal.ID { return p }, c.owner)
}

// owner scrubs a principal: its rows in the directory, its memberships, those of its members if it is
// a group, the record of what was shared with it, and its library.
func (c *scrubbing) owner(p principal.ID) error {
	deleted := false
	err := c.each(func() (more bool, err error) {
		deleted, err = c.ownRows(p)
		return false, err
	})
	if err != nil || deleted {
		return err
	}
	if p.IsGroup() {
		if err := c.groupMembers(p); err != nil {
			return err
		}
	}
	if err := c.record(p); err != nil {
		return err
	}
	for _, o := range library.AllOrders {
		for _, b := range library.AllBuckets {
			if err := c.bucket(p, o, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownRows repairs the memberships of a principal from the groups' own rows, its rows in the
// directory and the claim of its address from its header; if it is deleted, it removes what is left.
func (c *scrubbing) ownRows(p principal.ID) (deleted bool, err error) {
	s, repaired := c.s, 0
	deleted, repaired, err = s.removeDeleted(c.ctx, p)
	if c.found.Mismatches += repaired; err != nil || deleted {
		return deleted, err
	}
	for _, repair := range []func(context.Context, principal.ID) (int, error){s.repairIfMissing, s.repairMemberships, s.makeEmailClaim} {
		repaired, err := repair(c.ctx, p)
		if c.found.Mismatches += repaired; err != nil {
			return false, err
		}
	}
	return false, nil
}

// groupMembers repairs the recorded memberships of a group's members.
func (c *scrubbing) groupMembers(group principal.ID) error {
	var after principal.ID
	return c.each(func() (more bool, err error) {
		last, members, repaired, err := c.s.repairMembers(c.ctx, group, after)
		c.looked += 1 + members
		c.found.Mismatches += repaired
		if err == nil {
			after = last
		}
		return last != "", err
	})
}

// record repairs what is wrongly recorded as shared with p.
func (c *scrubbing) record(p principal.ID) error {
	var after library.ContentID
	return c.each(func() (more bool, err error) {
		shared, right, err := c.s.sharedPage(c.ctx, p, after, scrubLook)
		c.looked += 1 + len(shared)
		if err != nil {
			return false, err
		}
		for i, sh := range shared {
			if !right[i] {
				if err := c.unjustified(p, sh.Content); err != nil {
					return false, err
				}
			}
			after = sh.Content
		}
		return len(shared) == scrubLook, nil
	})
}

// unjustified repairs an item in p's record that differs from the item's state, if no change in
// flight would do so.
func (c *scrubbing) unjustified(p principal.ID, id library.ContentID) error {
	ctx := c.ctx
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
	c.found.Mismatches++
	return c.s.repairItem(ctx, p, id)
}

// bucket checks the entries of a bucket of p's library in one order, and drops those that no header
// justifies and no change in flight explains.
func (c *scrubbing) bucket(p principal.ID, o library.Order, b library.Bucket) error {
	slice := library.Slice{Owner: p, Bucket: b, Order: o, Ascending: true, Limit: scrubLook}
	return c.each(func() (more bool, err error) {
		es, rows, err := c.s.bucketPage(c.ctx, slice)
		c.looked += 1 + len(es)
		if err != nil || len(es) == 0 {
			return false, err
		}
		for i, e := range es {
			if justified(e, b, p, &rows[i]) {
				continue
			}
			if err := c.stray(p, b, e.EntryKey, rows[i].Header.Seq); err != nil {
				return false, err
			}
		}
		slice.From = &es[len(es)-1].EntryKey
		return len(es) == scrubLook, nil
	})
}

// stray drops an entry that the state of seq does not justify, if that state is still current
// and nothing is in flight that would drop it.
func (c *scrubbing) stray(p principal.ID, b library.Bucket, at library.EntryKey, seq int64) error {
	s, ctx := c.s, c.ctx
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
	c.found.Mismatches++
	return s.dropStray(ctx, p, b, at)
}
