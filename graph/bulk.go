package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/library"
)

// BulkResult is the result of a bulk mutation for one item. If Err is set, no other field is.
type BulkResult struct {
	Content          *library.Content
	DeletedContentID *library.ContentID
	FanOut           *library.FanOut
	UserErrors       []UserError
	// Err is an error that no userError can represent. It becomes a top-level error, and the result
	// is null.
	Err error
}

// ShareContentsResult is the result of shareContents for one item.
type ShareContentsResult BulkResult

// DeleteContentsResult is the result of deleteContents for one item.
type DeleteContentsResult BulkResult

// ShareContentsPayload is the result of shareContents.
type ShareContentsPayload struct {
	Items            []BulkResult // nil if UserErrors is not empty
	UserErrors       []UserError
	ClientMutationID *string
}

// DeleteContentsPayload is the result of deleteContents.
type DeleteContentsPayload struct {
	Items            []BulkResult // nil if UserErrors is not empty
	UserErrors       []UserError
	ClientMutationID *string
}

// Results returns the results of the items, in their order. It adds the errors of items to the
// answer.
func (p *ShareContentsPayload) Results(ctx context.Context) []*ShareContentsResult {
	return results(ctx, p.Items, func(r *BulkResult) *ShareContentsResult { return (*ShareContentsResult)(r) })
}

// Results returns the results of the items, in their order. It adds the errors of items to the
// answer.
func (p *DeleteContentsPayload) Results(ctx context.Context) []*DeleteContentsResult {
	return results(ctx, p.Items, func(r *BulkResult) *DeleteContentsResult { return (*DeleteContentsResult)(r) })
}

// results returns the results of items. For an item with an error, it returns nil, and adds the
// error to the answer with the path of the item.
func results[T any](ctx context.Context, items []BulkResult, of func(*BulkResult) *T) []*T {
	if items == nil {
		return nil
	}
	list := make([]*T, len(items))
	for i := range items {
		if err := items[i].Err; err != nil {
			graphql.AddError(graphql.WithFieldContext(ctx, &graphql.FieldContext{Index: &i}), err)
			continue
		}
		list[i] = of(&items[i])
	}
	return list
}
