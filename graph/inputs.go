package graph

import (
	"github.com/99designs/gqlgen/graphql"

	"carrel/core/clock"
	"carrel/lease"
	"carrel/library"
	"carrel/principal"
)

// Inputs of mutations as clients send them. A field is Omittable if leaving it out and null differ;
// resolvers convert it to an input.Optional. Ids are strings: the Service checks them, so that a
// malformed one is a fault like any other, with its path.

// LibraryOrder specifies the order of a library.
type LibraryOrder struct {
	Field      library.Order
	Descending bool
}

// CreateUserInput describes a new user.
type CreateUserInput struct {
	Tenant           string
	Name             string
	DisplayName      string
	Email            string
	Visibility       *principal.Visibility
	IdempotencyKey   *string
	ClientMutationID *string
}

// UpdateUserInput describes a change of a user.
type UpdateUserInput struct {
	ID               string
	DisplayName      graphql.Omittable[*string]
	Email            graphql.Omittable[*string]
	Visibility       graphql.Omittable[*principal.Visibility]
	IdempotencyKey   *string
	ClientMutationID *string
}

// CreateGroupInput describes a new group.
type CreateGroupInput struct {
	Tenant           string
	Name             string
	DisplayName      string
	Visibility       *principal.Visibility
	IdempotencyKey   *string
	ClientMutationID *string
}

// UpdateGroupInput describes a change of a group.
type UpdateGroupInput struct {
	ID               string
	DisplayName      graphql.Omittable[*string]
	Visibility       graphql.Omittable[*principal.Visibility]
	IdempotencyKey   *string
	ClientMutationID *string
}

// SetGroupMembersInput describes changes of the members of a group.
type SetGroupMembersInput struct {
	GroupID          string
	Members          []principal.GroupMemberChange
	IdempotencyKey   *string
	ClientMutationID *string
}

// DeleteUserInput names the user to delete.
type DeleteUserInput struct {
	ID               string
	IdempotencyKey   *string
	ClientMutationID *string
}

// DeleteGroupInput names the group to delete.
type DeleteGroupInput struct {
	ID               string
	IdempotencyKey   *string
	ClientMutationID *string
}

// CreateContentInput describes a new item.
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

// MoveContentInput names an item and its new URL.
type MoveContentInput struct {
	ID               string
	URL              graphql.Omittable[*string]
	ExpectedVersion  *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// AcquireLeaseInput lists the keys of a lease with their values.
type AcquireLeaseInput struct {
	Documents        []lease.Document
	TTLMs            *int
	WaitMs           *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// ConfirmLeaseInput names a lease, with its token.
type ConfirmLeaseInput struct {
	ID               string
	Token            string
	ClientMutationID *string
}

// CancelLeaseInput names a lease, with its token unless an administrator cancels it.
type CancelLeaseInput struct {
	ID               string
	Token            *string
	ClientMutationID *string
}

// CreatePasteInput describes a new paste.
type CreatePasteInput struct {
	Title            *string
	Body             string
	IsPrivate        *bool
	ExpiresAt        *clock.Instant
	IdempotencyKey   *string
	ClientMutationID *string
}

// UpdatePasteInput describes a change of a paste.
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

// DeletePasteInput names a paste, with its secret.
type DeletePasteInput struct {
	ID               string
	Secret           string
	ClientMutationID *string
}

// UpdateContentInput describes a change of an item.
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

// ShareContentInput names an item and the principals to share it with.
type ShareContentInput struct {
	ContentID        string
	PrincipalIds     []string
	Role             *library.ContentRole
	IdempotencyKey   *string
	ClientMutationID *string
}

// SetContentMembersInput describes changes of the members of an item.
type SetContentMembersInput struct {
	ContentID        string
	Members          []library.ContentMemberChange
	IdempotencyKey   *string
	ClientMutationID *string
}

// RemoveFromLibraryInput names a library and the item to remove from it.
type RemoveFromLibraryInput struct {
	PrincipalID      string
	ContentID        string
	IdempotencyKey   *string
	ClientMutationID *string
}

// DeleteContentInput names the item to delete.
type DeleteContentInput struct {
	ID               string
	ExpectedVersion  *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// RebuildLibraryInput names the library to rebuild.
type RebuildLibraryInput struct {
	PrincipalID      string
	ClientMutationID *string
}
