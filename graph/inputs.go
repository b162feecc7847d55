package graph

import (
	"github.com/99designs/gqlgen/graphql"

	"carrel/core/clock"
	"carrel/lease"
	"carrel/library"
	"carrel/principal"
)

// Inputs of mutations as they are sent. Where it matters whether a field was
// left out or was null it is Omittable; resolvers turn it into a
// library.Optional. Ids stay strings: the Service checks them, so that a
// malformed one is a fault like any other, with its path.

// LibraryOrder is the order of a library.
type LibraryOrder struct {
	Field      LibraryOrderField
	Descending bool
}

// CreateUserInput is a new user.
type CreateUserInput struct {
	Tenant           string
	Name             string
	DisplayName      string
	Email            string
	Visibility       *principal.Visibility
	IdempotencyKey   *string
	ClientMutationID *string
}

// UpdateUserInput is what changes of a user.
type UpdateUserInput struct {
	ID               string
	DisplayName      graphql.Omittable[*string]
	Email            graphql.Omittable[*string]
	Visibility       graphql.Omittable[*principal.Visibility]
	IdempotencyKey   *string
	ClientMutationID *string
}

// CreateGroupInput is a new group.
type CreateGroupInput struct {
	Tenant           string
	Name             string
	DisplayName      string
	Visibility       *principal.Visibility
	IdempotencyKey   *string
	ClientMutationID *string
}

// UpdateGroupInput is what changes of a group.
type UpdateGroupInput struct {
	ID               string
	DisplayName      graphql.Omittable[*string]
	Visibility       graphql.Omittable[*principal.Visibility]
	IdempotencyKey   *string
	ClientMutationID *string
}

// SetGroupMembersInput is changes of the members of a group.
type SetGroupMembersInput struct {
	GroupID          string
	Members          []principal.GroupMemberChange
	IdempotencyKey   *string
	ClientMutationID *string
}

// CreateContentInput is a new item.
type CreateContentInput struct {
	Tenant           *string
	Name             *string
	Kind             library.ContentKind
	Title            string
	Description      *string
	Link             *string
	Visibility       *principal.Visibility
	ExpiresAt        *clock.Instant
	URL              *string
	Body             *string
	Locale           *string
	Members          []library.ContentMemberChange
	IdempotencyKey   *string
	ClientMutationID *string
}

// MoveContentInput is an item and the URL that names it from now on.
type MoveContentInput struct {
	ID               string
	URL              graphql.Omittable[*string]
	ExpectedVersion  *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// AcquireLeaseInput is the keys of a lease with their values.
type AcquireLeaseInput struct {
	Documents        []lease.Document
	TTLMs            *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// ConfirmLeaseInput is a lease with its token.
type ConfirmLeaseInput struct {
	ID               string
	Token            string
	ClientMutationID *string
}

// CancelLeaseInput is a lease with its token.
type CancelLeaseInput struct {
	ID               string
	Token            string
	ClientMutationID *string
}

// CreatePasteInput is a new paste.
type CreatePasteInput struct {
	Title            *string
	Body             string
	IsPrivate        *bool
	ExpiresAt        *clock.Instant
	IdempotencyKey   *string
	ClientMutationID *string
}

// UpdatePasteInput is what changes of a paste.
type UpdatePasteInput struct {
	ID               string
	Secret           string
	Title            graphql.Omittable[*string]
	Body             graphql.Omittable[*string]
	IsPrivate        graphql.Omittable[*bool]
	ExpiresAt        graphql.Omittable[*clock.Instant]
	ClearExpiry      *bool
	ExpectedVersion  *int
	ClientMutationID *string
}

// DeletePasteInput is a paste with its secret.
type DeletePasteInput struct {
	ID               string
	Secret           string
	ClientMutationID *string
}

// UpdateContentInput is what changes of an item.
type UpdateContentInput struct {
	ID               string
	Title            graphql.Omittable[*string]
	Description      graphql.Omittable[*string]
	Link             graphql.Omittable[*string]
	Visibility       graphql.Omittable[*principal.Visibility]
	ExpiresAt        graphql.Omittable[*clock.Instant]
	ExpectedVersion  *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// ShareContentInput is an item and those it is shared with.
type ShareContentInput struct {
	ContentID        string
	PrincipalIds     []string
	Role             *library.ContentRole
	IdempotencyKey   *string
	ClientMutationID *string
}

// SetContentMembersInput is changes of the members of an item.
type SetContentMembersInput struct {
	ContentID        string
	Members          []library.ContentMemberChange
	IdempotencyKey   *string
	ClientMutationID *string
}

// RemoveFromLibraryInput is a library and the item to take out of it.
type RemoveFromLibraryInput struct {
	PrincipalID      string
	ContentID        string
	IdempotencyKey   *string
	ClientMutationID *string
}

// DeleteContentInput is the item to delete.
type DeleteContentInput struct {
	ID               string
	ExpectedVersion  *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// RebuildLibraryInput is the library to rebuild.
type RebuildLibraryInput struct {
	PrincipalID      string
	ClientMutationID *string
}
