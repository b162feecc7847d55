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

// Store is an open store: for each domain the part that it declares.
type Store struct {
	Journal    commit.JournalStore
	Registers  commit.RegisterStore
	Claims     claim.Store
	Principals principal.Store
	Directory  principal.DirectoryStore
	Contents   library.ContentStore
	Libraries  library.LibraryStore
	Texts      page.Store
	Pastes     paste.Store
	Feeds      timeline.Store
	Leases     lease.Store
}
