package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/library"
)

// ShareContents adds several items to libraries.
func (m mutations) ShareContents(ctx context.Context, in graph.ShareContentsInput) (*graph.ShareContentsPayload, error) {
	outs, err := m.Library.ShareContents(ctx, m.begin(ctx), library.ShareContents{
		Contents: in.ContentIds, Principals: in.PrincipalIds, Role: given(in.Role), IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	return &graph.ShareContentsPayload{Items: bulkResults(ctx, outs), UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// DeleteContents permanently deletes several items.
func (m mutations) DeleteContents(ctx context.Context, in graph.DeleteContentsInput) (*graph.DeleteContentsPayload, error) {
	outs, err := m.Library.DeleteContents(ctx, m.begin(ctx), library.DeleteContents{Items: in.Items, IdempotencyKey: in.IdempotencyKey})
	faults, err := userErrors(ctx, err)
	return &graph.DeleteContentsPayload{Items: bulkResults(ctx, outs), UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// bulkResults converts the outcomes of items for a payload. It returns nil if outs is nil.
func bulkResults(ctx context.Context, outs []library.BulkOutcome) []graph.BulkResult {
	if outs == nil {
		return nil
	}
	results := make([]graph.BulkResult, len(outs))
	for i, one := range outs {
		out, err := outcomeOf(ctx, one.Out, one.Err)
		results[i] = graph.BulkResult{Content: out.content, DeletedContentID: out.id, FanOut: out.fanOut, UserErrors: out.faults, Err: err}
	}
	return results
}
