package simulator

import (
	"context"
	"slices"
	"strconv"

	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// Client implements archive.Store, so that a copy can be interrupted at any of its steps.
var _ archive.Store = (*Client)(nil)

// ReadRows reads rows of a chapter. A position is the number of rows before it.
func (c *Client) ReadRows(ctx context.Context, chapter archive.Chapter, after []byte, limit int) (rows []archive.Row,
	next []byte, err error) {
	from := 0
	if after != nil {
		if from, err = strconv.Atoi(string(after)); err != nil {
			return nil, nil, err
		}
	}
	err = c.read(ctx, "ReadRows", func() {
		all := c.st.archived(chapter)
		end := min(len(all), from+limit)
		rows = all[min(from, end):end]
		if end < len(all) {
			next = strconv.AppendInt(nil, int64(end), 10)
		}
	})
	return rows, next, err
}

// archived returns all rows of a chapter, always in the same order.
func (st *Store) archived(chapter archive.Chapter) (rows []archive.Row) {
	switch chapter {
	case archive.ChapterSettings:
		return rowsOf(st.settings, func(s setting) archive.Row {
			return archive.Row{Setting: &archive.SettingRow{Name: s.name, Value: slices.Clone(s.value)}}
		})
	case archive.ChapterBlocks:
		return rowsOf(st.blocks, func(b archive.BlockRow) archive.Row { return archive.Row{Block: &b} })
	case archive.ChapterCreations:
		return rowsOf(st.creations, func(cr commit.Creation) archive.Row { return archive.Row{Creation: &cr} })
	case archive.ChapterPrincipals:
		for _, p := range st.principals {
			p.archive(func(r archive.Row) { rows = append(rows, r) })
		}
	case archive.ChapterContents:
		for _, p := range st.contents {
			p.archive(func(r archive.Row) { rows = append(rows, r) })
		}
	case archive.ChapterDues:
		return rowsOf(st.currentDues(), func(d commit.Reminder) archive.Row { return archive.Row{Due: &d} })
	case archive.ChapterTexts:
		return rowsOf(st.texts, func(t note.Text) archive.Row { return archive.Row{Text: &t} })
	case archive.ChapterDrafts:
		return rowsOf(st.drafts, func(d note.DraftRow) archive.Row {
			d.Value = slices.Clone(d.Value)
			return archive.Row{Draft: &d}
		})
	case archive.ChapterLeases:
		return rowsOf(st.leases, func(l lease.Row) archive.Row { return archive.Row{Lease: &l} })
	case archive.ChapterPastes:
		return rowsOf(st.pastes, func(p paste.Row) archive.Row { return archive.Row{Paste: &p} })
	case archive.ChapterBodies:
		return rowsOf(st.bodies, func(b bodyRow) archive.Row { return archive.Row{Body: &archive.BodyRow{BodyRef: b.ref, Text: b.text}} })
	}
	return rows
}

// rowsOf returns the row of each value of a list.
func rowsOf[T any](list []T, row func(T) archive.Row) []archive.Row {
	rows := make([]archive.Row, len(list))
	for i, v := range list {
		rows[i] = row(v)
	}
	return rows
}

// archive adds the rows of a partition, its header first.
func (p *principalPart) archive(add func(archive.Row)) {
	if p.header.Seq == 0 {
		return
	}
	add(archive.Row{Principal: copied(&p.header)})
	for _, m := range p.members {
		add(archive.Row{GroupMember: &archive.GroupMemberAt{Group: p.id, GroupMemberRow: m}})
	}
	for _, q := range p.requests {
		add(archive.Row{Request: &archive.RequestAt{Principal: p.id, RequestRow: q}})
	}
}

// archive adds the rows of a partition, its header first.
func (p *contentPart) archive(add func(archive.Row)) {
	if p.header.Seq == 0 {
		return
	}
	add(archive.Row{Content: copied(&p.header)})
	for _, m := range p.members {
		add(archive.Row{Member: &archive.MemberAt{Content: p.id, Member: m}})
	}
	for _, r := range p.rows {
		add(archive.Row{ContentRow: &archive.RowAt{Content: p.id, Row: r}})
	}
	for _, q := range p.requests {
		add(archive.Row{Request: &archive.RequestAt{Content: p.id, RequestRow: q}})
	}
}

// PutRows stores rows unchanged; the second half of them may arrive late or never. Late rows are
// older than anything decided since, and do not replace it.
func (c *Client) PutRows(ctx context.Context, rows []archive.Row) error {
	decided := c.st.decided
	return halves(ctx, c, "PutRows", rows, func(r archive.Row) {
		if c.st.decided == decided {
			c.st.putRow(&r)
		}
	})
}

func (st *Store) putRow(r *archive.Row) {
	switch {
	case r.Setting != nil:
		i := slices.IndexFunc(st.settings, func(s setting) bool { return s.name == r.Setting.Name })
		st.settings = putAt(st.settings, i, setting{r.Setting.Name, slices.Clone(r.Setting.Value)})
	case r.Block != nil:
		i := slices.IndexFunc(st.blocks, func(b archive.BlockRow) bool { return b.Host == r.Block.Host })
		st.blocks = putAt(st.blocks, i, *r.Block)
	case r.Creation != nil:
		i := slices.IndexFunc(st.creations, func(cr commit.Creation) bool { return cr.Key == r.Creation.Key })
		st.creations = putAt(st.creations, i, *r.Creation)
	case r.Principal != nil:
		st.makePrincipal(r.Principal.ID).header = *r.Principal
	case r.GroupMember != nil:
		p := st.makePrincipal(r.GroupMember.Group)
		p.members = putGroupMembers(p.members, []principal.GroupMemberRow{r.GroupMember.GroupMemberRow})
	case r.Content != nil:
		st.makeContent(r.Content.ID).header = *r.Content
	case r.Member != nil:
		p := st.makeContent(r.Member.Content)
		p.members = putMembers(p.members, []library.Member{r.Member.Member})
	case r.ContentRow != nil:
		p := st.makeContent(r.ContentRow.Content)
		p.rows = putFurther(p.rows, []library.Row{r.ContentRow.Row})
	case r.Request != nil && r.Request.Content != "":
		p := st.makeContent(r.Request.Content)
		p.requests = putRequest(p.requests, r.Request.RequestRow)
	case r.Request != nil:
		p := st.makePrincipal(r.Request.Principal)
		p.requests = putRequest(p.requests, r.Request.RequestRow)
	case r.Due != nil:
		st.due(*r.Due).put(int64(r.Due.MTS))
	case r.Text != nil:
		st.putText(*r.Text)
	case r.Draft != nil:
		st.putDraft(*r.Draft)
	case r.Lease != nil:
		st.leases = putSeqRow(st.leases, *r.Lease)
	case r.Paste != nil:
		st.pastes = putSeqRow(st.pastes, *r.Paste)
	case r.Body != nil:
		st.putBody(bodyRow{r.Body.BodyRef, r.Body.Text})
	}
}

// putAt replaces the i-th value of a list; i < 0 appends.
func putAt[T any](list []T, i int, v T) []T {
	if i < 0 {
		return append(list, v)
	}
	list[i] = v
	return list
}

// CopyNote returns the progress of a copy into this store.
func (c *Client) CopyNote(ctx context.Context) ([]byte, error) {
	return look(ctx, c, "CopyNote", func() []byte { return slices.Clone(c.st.copyNote) })
}

// PutCopyNote stores the progress of a copy, unless a later one is stored.
func (c *Client) PutCopyNote(ctx context.Context, note []byte) error {
	mine := slices.Clone(note)
	c.st.notes++
	at := c.st.notes
	return c.write(ctx, "PutCopyNote", "", func() {
		if at > c.st.noted {
			c.st.copyNote, c.st.noted = mine, at
		}
	}, nil)
}

// ReserveBlock reserves a block of numbers for a host.
func (c *Client) ReserveBlock(ctx context.Context, host string, size int64) (int64, error) {
	return change(ctx, c, "ReserveBlock", "block "+host, func() int64 {
		first := int64(1)
		i := slices.IndexFunc(c.st.blocks, func(b archive.BlockRow) bool { return b.Host == host })
		if i >= 0 {
			first = c.st.blocks[i].Next
		}
		c.st.blocks = putAt(c.st.blocks, i, archive.BlockRow{Host: host, Next: first + size})
		return first
	})
}
