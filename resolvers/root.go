// Package resolvers answers the fields of the schema: the viewer in, one call
// of the domain, its result out. There is one file for each noun.
//
// It must not hold a rule: who may see or change what is the domain's, how an
// error is shown is graph's and the edge's. It does decide which pages are
// prefetched, and which are written by their plan.
package resolvers

import (
	"carrel/dataloader"
	"carrel/graph"
	"carrel/lease"
	"carrel/library"
	"carrel/page"
	"carrel/paste"
)

// Services are those of the domains.
type Services struct {
	Library library.API
	Leases  *lease.Service
	Pages   page.API
	Pastes  *paste.Service
}

// Root is what resolvers use.
type Root struct {
	Services
	// Limits are told by the query of that name; the edge enforces them.
	Limits graph.Limits
	// Schema is told to composers.
	Schema *graph.Subgraph
	// Loaded is told of the calls of loaders; nil: nobody is.
	Loaded dataloader.Observe
}

// The types whose fields need more than their Go value. Each is the Root, but
// for subscriptions, which have a stream.
type (
	queries     struct{ *Root }
	mutations   struct{ *Root }
	users       struct{ *Root }
	groups      struct{ *Root }
	contents    struct{ *Root }
	connections struct{ *Root }
	branches    struct{ *Root }
	revisions   struct{ *Root }
	drafts      struct{ *Root }
	suggestions struct{ *Root }
	pastes      struct{ *Root }
)

// Query answers the root fields of queries.
func (r *Root) Query() graph.QueryResolver { return queries{r} }

// Mutation answers the root fields of mutations.
func (r *Root) Mutation() graph.MutationResolver { return mutations{r} }

// User answers fields of users.
func (r *Root) User() graph.UserResolver { return users{r} }

// Group answers fields of groups.
func (r *Root) Group() graph.GroupResolver { return groups{r} }

// Content answers fields of content.
func (r *Root) Content() graph.ContentResolver { return contents{r} }

// Branch answers fields of branches.
func (r *Root) Branch() graph.BranchResolver { return branches{r} }

// Revision answers fields of revisions.
func (r *Root) Revision() graph.RevisionResolver { return revisions{r} }

// Draft answers fields of drafts.
func (r *Root) Draft() graph.DraftResolver { return drafts{r} }

// Suggestion answers fields of suggestions.
func (r *Root) Suggestion() graph.SuggestionResolver { return suggestions{r} }

// Paste answers fields of pastes.
func (r *Root) Paste() graph.PasteResolver { return pastes{r} }

// LibraryConnection answers fields of a page of a library.
func (r *Root) LibraryConnection() graph.LibraryConnectionResolver { return connections{r} }
