package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/library"
)

// ShareContentsInput is several items and those they are shared with.
type ShareContentsInput struct {
	ContentIds       []string
	PrincipalIds     []string
	Role             *library.ContentRole
	IdempotencyKey   *string
	ClientMutationID *string
}

// DeleteContentsInput is several items to delete.
type DeleteContentsInput struct {
	Items            []library.ContentDeletion
	IdempotencyKey   *string
	ClientMutationID *string
}

// BulkResult is what a bulk mutation did with one item. Where Err is set nothing else is.
type BulkResult struct {
	Content          *library.Content
	DeletedContentID *library.ContentID
	FanOut           *library.FanOut
	UserErrors       []UserError
	// Err is one that no userError can carry: a top-level error, and the result null.
	Err error
}

// ShareContentsResult is what shareContents did with one item.
type ShareContentsResult BulkResult

// DeleteContentsResult is what deleteContents did with one item.
type DeleteContentsResult BulkResult

// ShareContentsPayload is the outcome of shareContents.
type ShareContentsPayload struct {
	Items            []BulkResult // nil where UserErrors is not empty
	UserErrors       []UserError
	ClientMutationID *string
}

// DeleteContentsPayload is the outcome of deleteContents.
type DeleteContentsPayload struct {
	Items            []BulkResult // nil where UserErrors is not empty
	UserErrors       []UserError
	ClientMutationID *string
}

// Results are those of the items, in their order. The errors of items are added to the answer.
func (p *ShareContentsPayload) Results(ctx context.Context) []*ShareContentsResult {
	return results(ctx, p.Items, func(r *BulkResult) *ShareContentsResult { return (*ShareContentsResult)(r) })
}

// Results are those of the items, in their order. The errors of items are added to the answer.
func (p *DeleteContentsPayload) Results(ctx context.Context) []*DeleteContentsResult {
	return results(ctx, p.Items, func(r *BulkResult) *DeleteContentsResult { return (*DeleteContentsResult)(r) })
}

// results are the results of items; nil for those with an error, which is added to the answer
// with the path of its item.
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

// ConcernedLibraries are the libraries that were given the items.
func (p *ShareContentsPayload) ConcernedLibraries() int { return concernedByAll(p.Items) }

// ConcernedLibraries are the libraries that held the items.
func (p *DeleteContentsPayload) ConcernedLibraries() int { return concernedByAll(p.Items) }

func concernedByAll(items []BulkResult) (n int) {
	for i := range items {
		n += concerned(items[i].FanOut)
	}
	return n
}
