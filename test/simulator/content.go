package simulator

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func byMember(m library.Member, p principal.ID) int { return cmp.Compare(m.Principal, p) }

// read returns what one read of a partition returns.
func (p *contentPart) read(id library.ContentID, members []principal.ID, key *commit.RequestKey,
	further ...library.RowKey) library.ContentRows {
	r := library.ContentRows{Header: library.Header{}}
	if len(members) > 0 {
		r.Members = make([]library.Member, len(members))
	}
	for i, m := range members {
		r.Members[i].Principal = m
	}
	for _, k := range further {
		r.Rows = append(r.Rows, library.Row{RowKey: k})
	}
	if p == nil {
		return r
	}
	r.Header = p.header
	for i, m := range members {
		if j, ok := find(p.members, m, byMember); ok {
			r.Members[i] = p.members[j]
		}
	}
	r.Request = requestRow(p.requests, key)
	for i, k := range further {
		r.Rows[i].Value = at(p.rows, k, compareRow).Value
	}
	return r
}

func requestRow(rows []commit.RequestRow, key *commit.RequestKey) *commit.RequestRow {
	if key == nil {
		return nil
	}
	return copied(first(rows, func(r commit.RequestRow) bool { return r.Key == *key }))
}

// contents implements library.ContentStore.
type contents struct{ *Client }

// Read reads a content partition.
func (c contents) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	return look(ctx, c.Client, "Read", func() *library.ContentRows {
		p := c.part
		if q.Serial {
			p = c.serialPart
		}
		r := p(id).read(id, q.Members, q.Request, q.Rows...)
		return &r
	})
}

// ReadMany reads several partitions, each in its own step.
func (c contents) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	return look(ctx, c.Client, "ReadMany", func() []library.ContentRows {
		rows := make([]library.ContentRows, len(ids))
		for i, id := range ids {
			if i > 0 && c.a != nil {
				c.st.s.giveWay(c.st.s.current)
			}
			rows[i] = c.part(id).read(id, members, nil)
			rows[i].Trim()
		}
		return rows
	})
}

// MembersPage reads a page of member rows.
func (c contents) MembersPage(ctx context.Context, id library.ContentID, from principal.ID, limit int,
	serial bool) (*library.ContentRows, error) {
	return look(ctx, c.Client, "MembersPage", func() *library.ContentRows {
		read := c.part
		if serial {
			read = c.serialPart
		}
		p := read(id)
		if p == nil {
			return new(library.ContentRows)
		}
		return &library.ContentRows{Header: p.header, Members: after(p.members, from, byMember, limit)}
	})
}

// Commit is the conditional write of a content partition.
func (c contents) Commit(ctx context.Context, cm *library.ContentCommit) (commit.Verdict, error) {
	var v commit.Verdict
	mine := *cm
	mine.Members, mine.Rows = slices.Clone(cm.Members), slices.Clone(cm.Rows)
	by := c.running()
	err := c.writeContent(ctx, "Commit", cm.ID, func() bool { return v.Applied }, func() { v = c.st.commit(&mine, by) }, nil)
	if err != nil {
		return commit.Verdict{}, err
	}
	return v, nil
}

// running returns the operation that makes the call.
func (c *Client) running() *Operation {
	if c.a == nil || c.a.s.current == nil {
		return nil
	}
	return c.a.s.current.op
}

// commit applies a conditional write, or refuses it.
func (st *Store) commit(cm *library.ContentCommit, by *Operation) commit.Verdict {
	p := st.makeContent(cm.ID)
	if p.header.Seq != cm.Base {
		st.tracef("  refused: seq %d, base %d", p.header.Seq, cm.Base)
		return commit.Verdict{Seq: p.header.Seq, Writers: p.header.Writers}
	}
	st.decided++
	h := cm.Header
	h.Unsettled = slices.Clip(p.header.Unsettled)
	if cm.Supersede != nil {
		h.Unsettled = addSuperseded(cm.Header.Unsettled, *cm.Supersede)
	}
	h.UnsettledTitles = slices.Clip(p.header.UnsettledTitles)
	if cm.SupersedeTitle != nil {
		h.UnsettledTitles = library.WithSupersededTitle(cm.Header.UnsettledTitles, *cm.SupersedeTitle)
	}
	h.Writers = addWriter(p.header.Writers, commit.Writer{Seq: h.Seq, Entry: cm.Writer})
	p.header = h
	p.members = putMembers(p.members, cm.Members)
	p.rows = putFurther(p.rows, cm.Rows)
	if cm.Request != nil {
		p.requests = putRequest(p.requests, *cm.Request)
	}
	if st.Trace != nil {
		st.tracef("  applied: seq %d mts %d position %d modified %d %v state %d %q unsettled %v members %v",
			h.Seq, h.MTS, h.Position, h.LastModified, h.Visibility, h.State, h.Title, h.Unsettled, p.members)
	}
	if st.history != nil {
		st.history.content(p, by)
		st.checkURL(p)
	}
	return commit.Verdict{Applied: true, Seq: h.Seq, Writers: h.Writers}
}

// addSuperseded keeps the list ascending; lists are replaced, never changed.
func addSuperseded(list []library.Superseded, s library.Superseded) []library.Superseded {
	return slices.Clip(put(slices.Clone(list), s.Position,
		func(a library.Superseded, at clock.Instant) int { return cmp.Compare(a.Position, at) }, s))
}

func addWriter(list []commit.Writer, w commit.Writer) []commit.Writer {
	list = append(slices.Clip(list), w)
	if len(list) > commit.MaxWriters {
		list = list[len(list)-commit.MaxWriters:]
	}
	return slices.Clip(list)
}

func putMembers(list, rows []library.Member) []library.Member {
	if len(rows) == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, m := range rows {
		list = put(list, m.Principal, byMember, m)
	}
	return slices.Clip(list)
}

// putRequest adds a row in the order of the keys, whatever the order of the calls.
func putRequest(list []commit.RequestRow, row commit.RequestRow) []commit.RequestRow {
	return put(slices.Clone(list), row.Key, func(r commit.RequestRow, key commit.RequestKey) int {
		return bytes.Compare(r.Key[:], key[:])
	}, row)
}

// CleanUp removes positions and rows, each in its own conditional write.
func (c contents) CleanUp(ctx context.Context, s *library.Cleanup) error {
	mine := *s
	mine.Positions = slices.Clone(s.Positions)
	mine.Leaving, mine.Rows = slices.Clone(s.Leaving), slices.Clone(s.Rows)
	return c.writeContent(ctx, "CleanUp", s.ID, func() bool { return true },
		func() { c.st.cleanUpRows(&mine) },
		func() { c.st.cleanUpHeader(&mine) })
}

func (st *Store) cleanUpRows(s *library.Cleanup) {
	p := st.content(s.ID)
	if p == nil || s.Purge && p.header.State != commit.Deleted {
		return
	}
	kept := make([]library.Member, 0, len(p.members))
	for _, m := range p.members {
		i := slices.IndexFunc(s.Leaving, func(l library.Member) bool { return l.Principal == m.Principal })
		gone := i >= 0 && (s.Purge || m.Leaving && m.Seq == s.Leaving[i].Seq)
		if !gone {
			kept = append(kept, m)
		}
	}
	p.members = kept
	if s.Purge {
		var gone []library.Row
		for _, k := range s.Rows {
			gone = append(gone, library.Row{RowKey: k})
		}
		p.rows = putFurther(p.rows, gone)
	}
	st.tracef("  removed rows %v; left %v", s.Leaving, kept)
}

func (st *Store) cleanUpHeader(s *library.Cleanup) {
	p := st.content(s.ID)
	if p == nil || p.header.Seq == 0 {
		return
	}
	if len(s.Positions) > 0 {
		p.header.Unsettled = slices.DeleteFunc(slices.Clone(p.header.Unsettled), func(u library.Superseded) bool {
			return slices.Contains(s.Positions, u.Position)
		})
		st.tracef("  removed %v; left %v", s.Positions, p.header.Unsettled)
	}
	if len(s.Titles) > 0 {
		p.header.UnsettledTitles = slices.DeleteFunc(slices.Clone(p.header.UnsettledTitles), func(u library.SupersededTitle) bool {
			return slices.Contains(s.Titles, u.At)
		})
		st.tracef("  removed titles %v; left %v", s.Titles, p.header.UnsettledTitles)
	}
	if s.Final && p.header.State == commit.Deleted {
		h := p.header
		p.header = library.Header{State: commit.Deleted, Seq: h.Seq, MTS: h.MTS, Writers: h.Writers}
		p.header.ID = h.ID
		st.tracef("  purged")
	}
}

// ScanContents lists ids.
func (c contents) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	return look(ctx, c.Client, "ScanContents", func() (ids []library.ContentID) {
		for _, p := range c.st.contents {
			if p.id > after && p.header.Seq != 0 && len(ids) < limit {
				ids = append(ids, p.id)
			}
		}
		return ids
	})
}
