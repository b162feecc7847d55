package resolvers

import (
	"context"
	"slices"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/graph"
	"carrel/library"
	"carrel/paste"
)

// Paste returns a paste, public or private.
func (q queries) Paste(ctx context.Context, id string) (*paste.Paste, error) {
	return q.Pastes.Paste(ctx, id)
}

// LatestPastes returns a page of the public pastes.
func (q queries) LatestPastes(ctx context.Context, first *int, after *string, last *int, before *string) (*paste.Connection, error) {
	found, err := q.Pastes.Latest(ctx, cursor.PageArgs{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	for _, e := range found.Edges {
		hold(ctx, len(e.Node.Body.Text))
	}
	if !slices.ContainsFunc(found.Edges, isNotLoaded) || !graph.SelectsBodies(ctx) {
		return found, nil
	}
	// All are read before any is written: a paste that has ended meanwhile is left out, and does not
	// make the page fail.
	answer := graph.ExecutionOf(ctx).Body
	for _, e := range found.Edges {
		if isNotLoaded(e) {
			answer.Hold(e.Node.Body.Size)
		}
	}
	if err := answer.Err(); err != nil {
		return nil, err
	}
	return found, q.Pastes.LoadBodies(ctx, found)
}

// isNotLoaded reports whether the body of a paste must be read.
func isNotLoaded(e *paste.Edge) bool { return !e.Node.Body.Loaded() }

// LatestContent returns a page of the public content of a tenant.
func (q queries) LatestContent(ctx context.Context, tenant string, first *int, after *string, last *int,
	before *string) (*library.FeedConnection, error) {
	found, err := q.Library.LatestContent(ctx, viewer(ctx), tenant, cursor.PageArgs{First: first, After: after,
		Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	for _, e := range found.Edges {
		hold(ctx, e.Node.Bytes())
	}
	loaders(ctx).Items(found.Nodes()...)
	return found, nil
}

// pastes adds the pastes among the ids to the nodes.
func (q queries) pastes(ctx context.Context, ids []string, nodes []library.Node) error {
	var requested []paste.ID
	var at []int
	for i, globalID := range ids {
		if id.KindOf(globalID) == id.Paste {
			requested, at = append(requested, paste.ID(globalID)), append(at, i)
		}
	}
	if len(requested) == 0 {
		return nil
	}
	found, err := q.Pastes.Pastes(ctx, requested)
	for n, p := range found {
		if p != nil {
			nodes[at[n]] = p
		}
	}
	return err
}

// Body returns the text of a paste. The memory for a long text is reserved before the text is read.
func (r pastes) Body(ctx context.Context, p *paste.Paste) (string, error) {
	if p.Body.Loaded() {
		return p.Body.Text, nil
	}
	answer := graph.ExecutionOf(ctx).Body
	answer.Hold(p.Body.Size)
	if err := answer.Err(); err != nil {
		return "", err
	}
	bodies, err := r.Pastes.Bodies(ctx, []*paste.Paste{p})
	switch {
	case err != nil:
		return "", err
	case bodies[0] == nil:
		return "", fault.Contendedf("the paste has expired or was changed while it was read; try again")
	}
	return *bodies[0], nil
}

// CreatePaste stores a paste.
func (m mutations) CreatePaste(ctx context.Context, in graph.CreatePasteInput) (*graph.CreatePastePayload, error) {
	made, err := m.Pastes.Create(ctx, m.begin(ctx), paste.Create{
		Title: in.Title, Body: in.Body, IsPrivate: given(in.IsPrivate), ExpiresAt: in.ExpiresAt, IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	payload := &graph.CreatePastePayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if made != nil {
		payload.Paste = made.Paste
		if made.Secret != "" {
			payload.Secret = &made.Secret
		}
	}
	return payload, err
}

// UpdatePaste changes a paste.
func (m mutations) UpdatePaste(ctx context.Context, in graph.UpdatePasteInput) (*graph.UpdatePastePayload, error) {
	p, err := m.Pastes.Update(ctx, paste.Update{
		ID: in.ID, Secret: in.Secret, Title: optional(in.Title), Body: optional(in.Body), IsPrivate: optional(in.IsPrivate),
		ExpiresAt: optional(in.ExpiresAt), ClearExpiry: given(in.ClearExpiry), ExpectedVersion: in.ExpectedVersion,
	})
	faults, err := userErrors(ctx, err)
	return &graph.UpdatePastePayload{Paste: p, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// DeletePaste removes a paste.
func (m mutations) DeletePaste(ctx context.Context, in graph.DeletePasteInput) (*graph.DeletePastePayload, error) {
	deleted, err := m.Pastes.Delete(ctx, paste.Delete{ID: in.ID, Secret: in.Secret})
	faults, err := userErrors(ctx, err)
	payload := &graph.DeletePastePayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if err == nil && faults == nil {
		payload.DeletedPasteID = &deleted
	}
	return payload, err
}
