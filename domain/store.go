package domain

import (
	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
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
	Texts      note.Store
	Pastes     paste.Store
	Feeds      feed.Store
	Leases     lease.Store
}
