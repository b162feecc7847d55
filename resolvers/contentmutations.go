package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/library"
)

// outcome is what the payload of a mutation of an item needs. All fields are nil if the mutation
// was refused.
type outcome struct {
	id      *library.ContentID
	content *library.Content
	edge    *library.LibraryEdge
	edges   []*library.LibraryEdge
	fanOut  *library.FanOut
	faults  []graph.UserError
}

// outcomeOf converts a result of the domain for payloads. It returns errors that are not user
// errors.
func outcomeOf(ctx context.Context, out *library.ContentOutcome, err error) (outcome, error) {
	faults, err := userErrors(ctx, err)
	if err != nil || faults != nil || out == nil {
		return outcome{faults: faults}, err
	}
	concerns(ctx, out.FanOut.Libraries)
	if out.Content != nil {
		loaders(ctx).Items(out.Content)
	}
	return outcome{id: &out.ID, content: out.Content, edge: out.Edge, edges: out.Edges, fanOut: &out.FanOut}, nil
}

// CreateContent creates an item.
func (m mutations) CreateContent(ctx context.Context, in graph.CreateContentInput) (*graph.CreateContentPayload, error) {
	answer, err := m.Library.CreateContent(ctx, m.begin(ctx), library.CreateContent{
		Tenant: in.Tenant, Name: in.Name, Kind: in.Kind, Title: in.Title, Description: in.Description,
		Link: in.Link, Visibility: given(in.Visibility), ExpiresAt: in.ExpiresAt,
		URL: in.URL, Body: in.Body, Locale: in.Locale, Members: in.Members, IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	return &graph.CreateContentPayload{Content: out.content, LibraryEdge: out.edge, FanOut: out.fanOut, UserErrors: out.faults,
		ClientMutationID: in.ClientMutationID}, err
}

// UpdateContent changes an item.
func (m mutations) UpdateContent(ctx context.Context, in graph.UpdateContentInput) (*graph.UpdateContentPayload, error) {
	answer, err := m.Library.UpdateContent(ctx, m.begin(ctx), library.UpdateContent{
		ID: in.ID, Title: optional(in.Title), Description: optional(in.Description), Link: optional(in.Link),
		Visibility: optional(in.Visibility), ExpiresAt: optional(in.ExpiresAt),
		ExpectedVersion: in.ExpectedVersion, IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	return &graph.UpdateContentPayload{Content: out.content, LibraryEdge: out.edge, FanOut: out.fanOut, UserErrors: out.faults,
		ClientMutationID: in.ClientMutationID}, err
}

// ShareContent adds an item to libraries.
func (m mutations) ShareContent(ctx context.Context, in graph.ShareContentInput) (*graph.ShareContentPayload, error) {
	answer, err := m.Library.ShareContent(ctx, m.begin(ctx), library.ShareContent{
		Content: in.ContentID, Principals: in.PrincipalIds, Role: given(in.Role), IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	return &graph.ShareContentPayload{Content: out.content, Edges: out.edges, FanOut: out.fanOut, UserErrors: out.faults,
		ClientMutationID: in.ClientMutationID}, err
}

// SetContentMembers changes the members of an item.
func (m mutations) SetContentMembers(ctx context.Context, in graph.SetContentMembersInput) (*graph.SetContentMembersPayload, error) {
	answer, err := m.Library.SetContentMembers(ctx, m.begin(ctx), library.SetContentMembers{
		Content: in.ContentID, Members: in.Members, IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	return &graph.SetContentMembersPayload{Content: out.content, FanOut: out.fanOut, UserErrors: out.faults,
		ClientMutationID: in.ClientMutationID}, err
}

// RemoveFromLibrary removes an item from a library. The owner is loaded afterwards, as the viewer
// sees it then.
func (m mutations) RemoveFromLibrary(ctx context.Context, in graph.RemoveFromLibraryInput) (*graph.RemoveFromLibraryPayload, error) {
	answer, err := m.Library.RemoveFromLibrary(ctx, m.begin(ctx), library.RemoveFromLibrary{
		Principal: in.PrincipalID, Content: in.ContentID, IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	payload := &graph.RemoveFromLibraryPayload{RemovedContentID: out.id, FanOut: out.fanOut, UserErrors: out.faults,
		ClientMutationID: in.ClientMutationID}
	if err == nil && out.id != nil {
		payload.Principal, err = queries(m).principalOf(ctx, in.PrincipalID)
	}
	return payload, err
}

// DeleteContent deletes an item permanently.
func (m mutations) DeleteContent(ctx context.Context, in graph.DeleteContentInput) (*graph.DeleteContentPayload, error) {
	answer, err := m.Library.DeleteContent(ctx, m.begin(ctx), library.DeleteContent{
		ID: in.ID, ExpectedVersion: in.ExpectedVersion, IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	return &graph.DeleteContentPayload{DeletedContentID: out.id, FanOut: out.fanOut, UserErrors: out.faults,
		ClientMutationID: in.ClientMutationID}, err
}

// MoveContent changes the URL of an item.
func (m mutations) MoveContent(ctx context.Context, in graph.MoveContentInput) (*graph.MoveContentPayload, error) {
	answer, err := m.Library.MoveContent(ctx, m.begin(ctx), library.MoveContent{
		ID: in.ID, URL: optional(in.URL), ExpectedVersion: in.ExpectedVersion, IdempotencyKey: in.IdempotencyKey,
	})
	out, err := outcomeOf(ctx, answer, err)
	return &graph.MoveContentPayload{Content: out.content, UserErrors: out.faults, ClientMutationID: in.ClientMutationID}, err
}
