package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/principal"
)

// Nodes returns the nodes of global ids of any kind, in their order. An element is nil if its
// id is malformed, or its node does not exist or may not be seen.
func (s *Service) Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]Node, error) {
	if len(ids) > input.MaxList {
		return nil, fault.BadInputf("%d ids: at most %d can be requested at once", len(ids), input.MaxList)
	}
	var (
		principals []principal.ID
		contents   []ContentID
	)
	kinds := make([]id.Kind, len(ids))
	for i, globalID := range ids {
		switch kinds[i] = id.KindOf(globalID); kinds[i] {
		case id.Content:
			contents = append(contents, ContentID(globalID))
		case id.User, id.Group:
			p, err := principal.ParseID(globalID)
			if err != nil {
				return nil, fmt.Errorf("read nodes: %w", err)
			}
			principals = append(principals, p)
		}
	}
	ps, err := s.people.Principals(ctx, v, principals)
	if err != nil {
		return nil, err
	}
	cs, err := s.Contents(ctx, v, contents)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(ids))
	for i, kind := range kinds {
		switch kind {
		case id.Content:
			if cs[0] != nil {
				nodes[i] = cs[0]
			}
			cs = cs[1:]
		case id.User, id.Group:
			if ps[0] != nil {
				nodes[i] = ps[0]
			}
			ps = ps[1:]
		}
	}
	return nodes, nil
}

// Contents returns items in the order of ids, nil for those that v may not see.
func (s *Service) Contents(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Content, error) {
	rows, err := s.readContents(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	sees, err := s.seesEach(ctx, v, ids, rows)
	if err != nil {
		return nil, err
	}
	cs := make([]*Content, len(ids))
	for i := range rows {
		if sees[i] {
			cs[i] = &rows[i].Header.Content
		}
	}
	return cs, nil
}

// readContents reads items, with v's own member row if v is signed in.
func (s *Service) readContents(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]ContentRows, error) {
	var own []principal.ID
	if v.SignedIn() {
		own = []principal.ID{v.User}
	}
	var rows []ContentRows
	for list := range slices.Chunk(ids, input.MaxList) {
		some, err := s.contents.ReadMany(ctx, list, own)
		if err != nil {
			return nil, fmt.Errorf("read contents: %w", err)
		}
		if rows == nil {
			rows = some
		} else {
			rows = append(rows, some...)
		}
	}
	return rows, nil
}
