package paste

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/fault"
	"carrel/core/id"
)

// Paste returns a public or private paste, or nil if there is none.
//
// Errors: BAD_USER_INPUT if globalID is not an id; those of the store.
func (s *Service) Paste(ctx context.Context, globalID string) (*Paste, error) {
	switch id.KindOf(globalID) {
	case id.Malformed:
		return nil, fault.BadInputf("paste: not an id; that of a paste has the form p:<%d digits of 0-9 and a-f>", id.RandomDigits)
	case id.Paste:
	default:
		return nil, nil
	}
	found, err := s.Pastes(ctx, []ID{ID(globalID)})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Text returns the body of a paste, or nil if there is none. The id may be passed without its
// letter.
//
// Errors: those of Paste.
func (s *Service) Text(ctx context.Context, globalID string) (*string, error) {
	if id.KindOf("p:"+globalID) == id.Paste {
		globalID = "p:" + globalID
	}
	p, err := s.Paste(ctx, globalID)
	if err != nil || p == nil {
		return nil, err
	}
	bodies, err := s.Bodies(ctx, []*Paste{p})
	if err != nil {
		return nil, err
	}
	return bodies[0], nil
}

// Pastes returns pastes in the order of ids, with nil for those that do not exist.
func (s *Service) Pastes(ctx context.Context, ids []ID) ([]*Paste, error) {
	refs := make([]Ref, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	return s.readPastes(ctx, refs)
}

// readPastes returns the pastes that are visible to readers, and nil for others.
func (s *Service) readPastes(ctx context.Context, refs []Ref) ([]*Paste, error) {
	found := make([]*Paste, 0, len(refs))
	for part := range slices.Chunk(refs, MaxRows) {
		rows, err := s.store.ReadPastes(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("reading pastes: %w", err)
		}
		now := s.engine.Now()
		for _, row := range rows {
			p, err := pasteOf(row)
			if err != nil {
				return nil, err
			}
			if !p.readable(now) {
				p = nil
			}
			found = append(found, p)
		}
	}
	return found, nil
}

// Bodies returns the bodies of pastes that were read before, in their order. If a paste has been
// changed since, its current body may be returned; nil if it has ended.
func (s *Service) Bodies(ctx context.Context, ps []*Paste) ([]*string, error) {
	bodies, err := s.readBodies(ctx, ps)
	if err != nil {
		return nil, err
	}
	for i, body := range bodies {
		if body != nil && !ps[i].expired(s.engine.Now()) {
			continue
		}
		now, err := s.readPastes(ctx, []Ref{{ps[i].ID, ps[i].CreatedAt}})
		if err != nil {
			return nil, err
		}
		if bodies[i] = nil; now[0] == nil {
			continue
		}
		again, err := s.readBodies(ctx, now)
		if err != nil {
			return nil, err
		}
		bodies[i] = again[0]
	}
	return bodies, nil
}

// readBodies returns the bodies that pastes refer to, and nil for missing ones.
func (s *Service) readBodies(ctx context.Context, ps []*Paste) ([]*string, error) {
	bodies := make([]*string, len(ps))
	var refs []BodyRef
	var at []int
	for i, p := range ps {
		if !p.Body.IsLong() {
			bodies[i] = &p.Body.Text
			continue
		}
		refs, at = append(refs, BodyRef{p.ID, p.Body.Long}), append(at, i)
	}
	for begin := 0; begin < len(refs); begin += MaxRows {
		end := min(begin+MaxRows, len(refs))
		read, err := s.store.ReadBodies(ctx, refs[begin:end])
		if err != nil {
			return nil, fmt.Errorf("reading the bodies of pastes: %w", err)
		}
		for i, body := range read {
			bodies[at[begin+i]] = body
		}
	}
	return bodies, nil
}

// hasBody reports whether a body is nil or equal to the body of a paste.
func (s *Service) hasBody(ctx context.Context, p *Paste, body *string) (bool, error) {
	if body == nil || len(*body) != p.Body.Size {
		return body == nil, nil
	}
	have, err := s.readBodies(ctx, []*Paste{p})
	return err == nil && have[0] != nil && *have[0] == *body, err
}
