package backend

import (
	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/timeline"
	"carrel/lease"
	"carrel/library"
	"carrel/page"
	"carrel/paste"
	"carrel/principal"
)

// Store is the interface of a store for all domains. Each domain declares its own part.
type Store interface {
	commit.JournalStore
	commit.RegisterStore
	claim.Store
	lease.Store
	principal.Store
	principal.DirectoryStore
	library.ContentStore
	library.LibraryStore
	page.Store
	paste.Store
	timeline.Store
}
