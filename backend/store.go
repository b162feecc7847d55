package backend

import (
	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/lease"
	"carrel/library"
	"carrel/page"
	"carrel/principal"
)

// Store is what the domains need of a kind of store. Each domain declares its own part.
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
}
