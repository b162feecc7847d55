package simulator

import (
	"bytes"
	"cmp"
	"context"

	"carrel/paste"
)

// comparePaste orders pastes by their ids.
func comparePaste(r paste.Row, id paste.ID) int { return cmp.Compare(r.ID, id) }

// pasteGroup is the Paxos group of a paste.
func pasteGroup(id paste.ID) string { return "paste " + string(id) }

// bodyRow is a long body of a paste.
type bodyRow struct {
	ref  paste.BodyRef
	text string
}

// compareBody orders long bodies by their pastes, then by their ids.
func compareBody(b bodyRow, ref paste.BodyRef) int {
	return cmp.Or(cmp.Compare(b.ref.Paste, ref.Paste), bytes.Compare(b.ref.Body[:], ref.Body[:]))
}

// pasteAt returns the row of a paste, or the zero row.
func (st *Store) pasteAt(id paste.ID) paste.Row {
	return copyPaste(at(st.pastes, id, comparePaste))
}

// copyPaste returns a row that shares nothing with r.
func copyPaste(r paste.Row) paste.Row {
	r.Data = bytes.Clone(r.Data)
	return r
}

// putPaste stores a row unconditionally.
func (st *Store) putPaste(r paste.Row) {
	st.pastes = put(st.pastes, r.ID, comparePaste, copyPaste(r))
}

// putBody stores a long body unconditionally.
func (st *Store) putBody(b bodyRow) {
	st.bodies = put(st.bodies, b.ref, compareBody, b)
}

// pastes implements paste.Store.
type pastes struct{ *Client }

// ReadPaste reads a paste serially.
func (c pastes) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	return look(ctx, c.Client, "ReadPaste", func() paste.Row {
		c.decide(pasteGroup(id))
		return c.st.pasteAt(id)
	})
}

// ReadPastes reads pastes as they are decided.
func (c pastes) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	return look(ctx, c.Client, "ReadPastes", func() []paste.Row {
		rows := make([]paste.Row, len(refs))
		for i, ref := range refs {
			rows[i] = c.st.pasteAt(ref.ID)
		}
		return rows
	})
}

// CommitPaste stores a paste, and replaces the one with the Seq before.
func (c pastes) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	mine, by := copyPaste(r), c.running()
	return change(ctx, c.Client, "CommitPaste", pasteGroup(r.ID), func() paste.Row {
		if c.st.pasteAt(mine.ID).Seq == mine.Seq-1 {
			c.st.putPaste(mine)
			c.st.pasteChanged(mine, by)
		}
		return c.st.pasteAt(mine.ID)
	})
}

// DropPaste removes a paste with this Seq.
func (c pastes) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	return c.write(ctx, "DropPaste", pasteGroup(id), func() {
		if now := c.st.pasteAt(id); now.Seq == seq && seq != 0 {
			c.st.pastes = drop(c.st.pastes, id, comparePaste)
			c.st.pasteChanged(paste.Row{ID: id}, nil)
		}
	}, nil)
}

// ScanPastes lists pastes in order of their ids.
func (c pastes) ScanPastes(ctx context.Context, from paste.ID, limit int) ([]paste.Row, error) {
	return look(ctx, c.Client, "ScanPastes", func() []paste.Row {
		page := after(c.st.pastes, from, comparePaste, limit)
		for i := range page {
			page[i] = copyPaste(page[i])
		}
		return page
	})
}

// PutBody stores a long body.
func (c pastes) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	return c.write(ctx, "PutBody", "", func() { c.st.putBody(bodyRow{ref, body}) }, nil)
}

// ReadBodies reads long bodies.
func (c pastes) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	return look(ctx, c.Client, "ReadBodies", func() []*string {
		bodies := make([]*string, len(refs))
		for n, ref := range refs {
			if i, found := find(c.st.bodies, ref, compareBody); found {
				text := c.st.bodies[i].text
				bodies[n] = &text
			}
		}
		return bodies
	})
}

// ListBodies lists the long bodies of a paste.
func (c pastes) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	return look(ctx, c.Client, "ListBodies", func() (all []paste.BodyID) {
		for _, b := range c.st.bodies {
			if b.ref.Paste == id {
				all = append(all, b.ref.Body)
			}
		}
		return all
	})
}

// DropBodies removes long bodies, the second half of them perhaps late or never.
func (c pastes) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	return halves(ctx, c.Client, "DropBodies", refs, func(ref paste.BodyRef) {
		c.st.bodies = drop(c.st.bodies, ref, compareBody)
	})
}
