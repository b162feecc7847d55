package simulator

import (
	"bytes"
	"cmp"
	"context"
	"slices"

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
	if i, ok := find(st.pastes, id, comparePaste); ok {
		return copyPaste(st.pastes[i])
	}
	return paste.Row{}
}

// copyPaste returns a row that shares nothing with r.
func copyPaste(r paste.Row) paste.Row {
	r.Data = bytes.Clone(r.Data)
	return r
}

// putPaste stores a row unconditionally.
func (st *Store) putPaste(r paste.Row) {
	i, found := find(st.pastes, r.ID, comparePaste)
	if found {
		st.pastes[i] = copyPaste(r)
		return
	}
	st.pastes = slices.Insert(st.pastes, i, copyPaste(r))
}

// putBody stores a long body unconditionally.
func (st *Store) putBody(b bodyRow) {
	i, found := find(st.bodies, b.ref, compareBody)
	if found {
		st.bodies[i] = b
		return
	}
	st.bodies = slices.Insert(st.bodies, i, b)
}

// pastes implements paste.Store.
type pastes struct{ *Client }

// ReadPaste reads a paste serially.
func (c pastes) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	var current paste.Row
	err := c.read(ctx, "ReadPaste", func() {
		if c.a != nil {
			c.st.decide(pasteGroup(id))
		}
		current = c.st.pasteAt(id)
	})
	return current, err
}

// ReadPastes reads pastes as they are decided.
func (c pastes) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	rows := make([]paste.Row, len(refs))
	err := c.read(ctx, "ReadPastes", func() {
		for i, ref := range refs {
			rows[i] = c.st.pasteAt(ref.ID)
		}
	})
	return rows, err
}

// CommitPaste stores a paste, and replaces the one with the Seq before.
func (c pastes) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	var current paste.Row
	mine, by := copyPaste(r), c.running()
	err := c.write(ctx, "CommitPaste", pasteGroup(r.ID), func() {
		if c.st.pasteAt(mine.ID).Seq == mine.Seq-1 {
			c.st.putPaste(mine)
			c.st.pasteChanged(mine, by)
		}
		current = c.st.pasteAt(mine.ID)
	}, nil)
	return current, err
}

// DropPaste removes a paste with this Seq.
func (c pastes) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	return c.write(ctx, "DropPaste", pasteGroup(id), func() {
		if i, found := find(c.st.pastes, id, comparePaste); found && c.st.pastes[i].Seq == seq {
			c.st.pastes = slices.Delete(c.st.pastes, i, i+1)
			c.st.pasteChanged(paste.Row{ID: id}, nil)
		}
	}, nil)
}

// ScanPastes lists pastes in order of their ids.
func (c pastes) ScanPastes(ctx context.Context, after paste.ID, limit int) ([]paste.Row, error) {
	var page []paste.Row
	err := c.read(ctx, "ScanPastes", func() {
		i, found := find(c.st.pastes, after, comparePaste)
		if found {
			i++
		}
		for _, r := range c.st.pastes[i:min(len(c.st.pastes), i+max(limit, 0))] {
			page = append(page, copyPaste(r))
		}
	})
	return page, err
}

// PutBody stores a long body.
func (c pastes) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	return c.write(ctx, "PutBody", "", func() { c.st.putBody(bodyRow{ref, body}) }, nil)
}

// ReadBodies reads long bodies.
func (c pastes) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	bodies := make([]*string, len(refs))
	err := c.read(ctx, "ReadBodies", func() {
		for n, ref := range refs {
			if i, found := find(c.st.bodies, ref, compareBody); found {
				text := c.st.bodies[i].text
				bodies[n] = &text
			}
		}
	})
	return bodies, err
}

// ListBodies lists the long bodies of a paste.
func (c pastes) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	var all []paste.BodyID
	err := c.read(ctx, "ListBodies", func() {
		for _, b := range c.st.bodies {
			if b.ref.Paste == id {
				all = append(all, b.ref.Body)
			}
		}
	})
	return all, err
}

// DropBodies removes long bodies, the second half of them perhaps late or never.
func (c pastes) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	mine := slices.Clone(refs)
	drop := func(refs []paste.BodyRef) func() {
		return func() {
			for _, ref := range refs {
				if i, found := find(c.st.bodies, ref, compareBody); found {
					c.st.bodies = slices.Delete(c.st.bodies, i, i+1)
				}
			}
		}
	}
	half := len(mine) / 2
	return c.write(ctx, "DropBodies", "", drop(mine[:half]), drop(mine[half:]))
}
