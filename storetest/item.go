package storetest

import (
	"maps"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// item is a content whose rows a subtest knows: what it committed is what the store must
// return.
type item struct {
	s    *env
	head library.Header
	rows map[principal.ID]library.Member
}

// newItem commits a new content with managers.
func (s *env) newItem(name string, v principal.Visibility, members ...principal.ID) *item {
	s.Helper()
	it := &item{s: s, rows: make(map[principal.ID]library.Member)}
	it.head.ID = s.content(name)
	it.write(func(c *library.ContentCommit) {
		h := &c.Header
		link := "https://example.com/" + name
		h.Kind, h.Title, h.Link, h.Creator = library.Link, "Title of "+name, &link, s.user("creator")
		h.State, h.Visibility, h.Widest, h.Version = commit.Live, v, v, 1
		h.CreatedAt, h.LastModified, h.Position, h.MovesSince = h.MTS, h.MTS, h.MTS, h.MTS
		h.Managers, h.Members = len(members), len(members)
		for _, p := range members {
			c.Members = append(c.Members, library.Member{Principal: p, Role: library.Manages})
		}
	})
	return it
}

// next returns the commit that follows the state of the item, modified by change.
func (it *item) next(change func(c *library.ContentCommit)) *library.ContentCommit {
	c := &library.ContentCommit{ID: it.head.ID, Base: it.head.Seq, Header: it.head, Writer: it.s.entry()}
	c.Header.Seq++
	c.Header.MTS = it.s.tick()
	c.Header.Unsettled, c.Header.UnsettledTitles = slices.Clone(it.head.Unsettled), slices.Clone(it.head.UnsettledTitles)
	// Values that a caller leaves here must not be written.
	c.Header.Writers = nil
	if change != nil {
		change(c)
	}
	for i := range c.Members {
		c.Members[i].Seq = c.Header.Seq
	}
	return c
}

// write commits a change, which must apply.
func (it *item) write(change func(c *library.ContentCommit)) {
	it.s.Helper()
	c := it.next(change)
	if v := it.s.commit(c); !v.Applied {
		it.s.Fatalf("commit of seq %d on base %d was refused: %+v", c.Header.Seq, c.Base, v)
	}
	it.applied(c)
}

// applied applies the writes of c to the expected state.
func (it *item) applied(c *library.ContentCommit) {
	unsettled, titles, writers := it.head.Unsettled, it.head.UnsettledTitles, it.head.Writers
	it.head = c.Header
	it.head.Unsettled = slices.Clone(unsettled)
	if c.Supersede != nil {
		it.head.Unsettled = append(it.head.Unsettled, *c.Supersede)
	}
	it.head.UnsettledTitles = slices.Clone(titles)
	if c.SupersedeTitle != nil {
		it.head.UnsettledTitles = library.WithSupersededTitle(titles, *c.SupersedeTitle)
	}
	it.head.Writers = append(slices.Clone(writers), commit.Writer{Seq: c.Header.Seq, Entry: c.Writer})
	if n := len(it.head.Writers); n > commit.MaxWriters {
		it.head.Writers = it.head.Writers[n-commit.MaxWriters:]
	}
	for _, m := range c.Members {
		it.rows[m.Principal] = m
	}
}

// move changes the item so that it gets a new position.
func (it *item) move() {
	it.s.Helper()
	it.write(func(c *library.ContentCommit) { moved(c, c.Header.Visibility) })
}

// moved makes c a move to a new position with visibility v.
func moved(c *library.ContentCommit, v principal.Visibility) {
	h := &c.Header
	c.Supersede = &library.Superseded{Position: h.Position, Widest: h.Widest}
	h.Position, h.LastModified, h.MovedAt, h.Version = h.MTS, h.MTS, h.MTS+1, h.Version+1
	h.Widest = v
	changeVisibility(h, v)
}

// changeVisibility sets the visibility of a header, and records which readers no longer see the
// item.
func changeVisibility(h *library.Header, v principal.Visibility) {
	if h.Visibility >= principal.LoggedIn && v < principal.LoggedIn {
		h.LoggedInUntil = h.MTS
	}
	if h.Visibility == principal.Public && v < principal.Public {
		h.PublicUntil = h.MTS
	}
	h.Visibility = v
}

// setVisibility changes the visibility without moving the item, as for a hot item.
func (it *item) setVisibility(v principal.Visibility) {
	it.s.Helper()
	it.write(func(c *library.ContentCommit) {
		c.Header.Widest = max(v, c.Header.Widest)
		changeVisibility(&c.Header, v)
	})
}

// share gives p a role.
func (it *item) share(p principal.ID, role library.ContentRole) {
	it.s.Helper()
	it.write(func(c *library.ContentCommit) {
		c.Header.Members++
		c.Members = []library.Member{{Principal: p, Role: role, Since: c.Header.MTS}}
	})
}

// remove makes p's row a leaving one. The item was in all buckets of p's library.
func (it *item) remove(p principal.ID) {
	it.s.Helper()
	it.write(func(c *library.ContentCommit) {
		c.Header.Members--
		row := it.rows[p]
		row.Leaving = true
		row.RemovedFrom = row.RemovedFrom.With(principal.Private).With(principal.LoggedIn).With(principal.Public)
		c.Members = []library.Member{row}
	})
}

// delete deletes the item.
func (it *item) delete() {
	it.s.Helper()
	it.write(func(c *library.ContentCommit) { c.Header.State = commit.Deleted })
}

// principals returns the principals with a row, in order of id.
func (it *item) principals() []principal.ID {
	return slices.Sorted(maps.Keys(it.rows))
}

// members returns the rows of principals; Seq is 0 if there is none.
func (it *item) members(principals ...principal.ID) []library.Member {
	ms := make([]library.Member, len(principals))
	for i, p := range principals {
		ms[i] = it.rows[p]
		ms[i].Principal = p
	}
	return ms
}

// snapshot returns the index update of principals for the item's present state.
func (it *item) snapshot(principals ...principal.ID) *library.IndexUpdate {
	h := it.head
	h.Unsettled, h.UnsettledTitles, h.Writers = slices.Clone(h.Unsettled), slices.Clone(h.UnsettledTitles), slices.Clone(h.Writers)
	return &library.IndexUpdate{Header: &h, Rows: it.members(principals...)}
}

// applyIndex updates the libraries of principals to the item's state.
func (it *item) applyIndex(principals ...principal.ID) {
	it.s.Helper()
	it.s.ok(it.s.Contents.ApplyIndex(it.s.ctx, it.snapshot(principals...)))
}

// cleanedUp removes positions from the item's expected Unsettled.
func (it *item) cleanedUp(positions ...clock.Instant) {
	it.head.Unsettled = slices.DeleteFunc(slices.Clone(it.head.Unsettled), func(u library.Superseded) bool {
		return slices.Contains(positions, u.Position)
	})
}

// wantStored checks that the store has the item as it was committed.
func (it *item) wantStored(what string) {
	it.s.Helper()
	all := append(it.principals(), it.s.user("no-member"))
	want := &library.ContentRows{Header: it.head, Members: it.members(all...)}
	for _, serial := range []bool{true, false} {
		it.s.same(what, it.s.read(it.head.ID, library.ContentQuery{Members: all, Serial: serial}), want)
	}
}

// entryOf returns the entry that the item's present state derives from p's row.
func (it *item) entryOf(p principal.ID) library.Entry {
	return library.Entry{EntryKey: library.EntryKey{Position: it.head.Position, Content: it.head.ID}, MTS: it.head.MTS, Role: it.rows[p].Role}
}

// wantLibrary checks that p's buckets have these entries, from old to new. Buckets that are not
// named must be empty.
func (s *env) wantLibrary(p principal.ID, want map[library.Bucket][]library.Entry) {
	s.Helper()
	for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
		got := s.page(library.Slice{Owner: p, Bucket: b, Ascending: true, Limit: 1000})
		s.same("bucket "+b.String()+" of "+string(p), got, want[b])
		slices.Reverse(got)
		s.same("bucket "+b.String()+" of "+string(p)+" from its newest end",
			s.page(library.Slice{Owner: p, Bucket: b, Limit: 1000}), got)
	}
}
