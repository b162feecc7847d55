package simulator

import (
	"bytes"
	"cmp"
	"context"

	"carrel/paste"
)

// bodyRow is a long body of a paste.
type bodyRow struct {
	ref  paste.BodyRef
	text string
}

// compareBody orders long bodies by their pastes, then by their ids.
func compareBody(b bodyRow, ref paste.BodyRef) int {
	return cmp.Or(cmp.Compare(b.ref.Paste, ref.Paste), bytes.Compare(b.ref.Body[:], ref.Body[:]))
}

// putBody stores a long body unconditionally.
func (st *Store) putBody(b bodyRow) {
	st.bodies = put(st.bodies, b.ref, compareBody, b)
}

// pastes implements paste.Store.
type pastes struct{ rows[paste.ID] }

// ReadPastes reads pastes as they are decided.
func (c pastes) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	return look(ctx, c.Client, "ReadPastes", func() []paste.Row {
		rows := make([]paste.Row, len(refs))
		for i, ref := range refs {
			rows[i] = c.at(ref.ID)
		}
		return rows
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
