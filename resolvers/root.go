// Package resolvers resolves the fields of the schema. A resolver takes the viewer, makes one call
// of the domain and returns its result. There is one file for each noun.
//
// The package has no rules of its own: the domain decides who may see or change what, and graph and
// edge decide how errors are shown. It does decide which pages are begun early, and which are
// written by their plan.
package resolvers

import (
	"carrel/dataloader"
	"carrel/graph"
)

// Root is the root of the resolvers.
type Root struct {
	Services
	// Limits is the result of the query limits. The edge enforces the limits.
	Limits graph.Limits
	// Schema is the schema for composers.
	Schema *graph.Subgraph
	// Loaded is called for each call of a loader, unless it is nil.
	Loaded dataloader.Observe
}

// The types with fields that need a resolver. Each contains the Root.
type (
	queries     struct{ *Root }
	mutations   struct{ *Root }
	users       struct{ *Root }
	groups      struct{ *Root }
	contents    struct{ *Root }
	connections struct{ *Root }
	placed      struct{ *Root }
	removed     struct{ *Root }
	branches    struct{ *Root }
	revisions   struct{ *Root }
	drafts      struct{ *Root }
	suggestions struct{ *Root }
	pastes      struct{ *Root }
)

// Query returns the resolver of the root fields of queries.
func (r *Root) Query() graph.QueryResolver { return queries{r} }

// Mutation returns the resolver of the root fields of mutations.
func (r *Root) Mutation() graph.MutationResolver { return mutations{r} }

// User returns the resolver of users.
func (r *Root) User() graph.UserResolver { return users{r} }

// Group returns the resolver of groups.
func (r *Root) Group() graph.GroupResolver { return groups{r} }

// Content returns the resolver of content.
func (r *Root) Content() graph.ContentResolver { return contents{r} }

// Branch returns the resolver of branches.
func (r *Root) Branch() graph.BranchResolver { return branches{r} }

// Revision returns the resolver of revisions.
func (r *Root) Revision() graph.RevisionResolver { return revisions{r} }

// Draft returns the resolver of drafts.
func (r *Root) Draft() graph.DraftResolver { return drafts{r} }

// Suggestion returns the resolver of suggestions.
func (r *Root) Suggestion() graph.SuggestionResolver { return suggestions{r} }

// Paste returns the resolver of pastes.
func (r *Root) Paste() graph.PasteResolver { return pastes{r} }

// LibraryConnection returns the resolver of pages of libraries.
func (r *Root) LibraryConnection() graph.LibraryConnectionResolver { return connections{r} }

// Subscription returns nil: subscriptions are started by LibraryChanged and PasteCreated.
func (r *Root) Subscription() graph.SubscriptionResolver { return nil }

// LibraryEntryPlaced returns the resolver of events about placed entries.
func (r *Root) LibraryEntryPlaced() graph.LibraryEntryPlacedResolver { return placed{r} }

// LibraryEntryRemoved returns the resolver of events about removed entries.
func (r *Root) LibraryEntryRemoved() graph.LibraryEntryRemovedResolver { return removed{r} }
