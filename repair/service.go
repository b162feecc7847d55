package repair

import (
	"log/slog"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/lease"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// Service restores derived rows from the authoritative ones: rows that a reader has found to be
// wrong, libraries that are missing, the whole store step by step, and what an operator
// requests. It contains the Service of libraries.
type Service struct {
	engine        *commit.Engine
	people        *principal.Service
	library       *library.Service
	contents      library.ContentStore
	libraries     library.LibraryStore
	principals    principal.Store
	directory     principal.DirectoryStore
	inFlightLists commit.JournalStore
	claims        *claim.Claims
	leases        *lease.Service
	pastes        *paste.Service
	pages         Pages
	rt            sched.Runtime
	log           *slog.Logger

	rebuilds rebuildTable
	// rebuildTurns are for the rebuilds that readers and rebuildLibrary have started.
	rebuildTurns *sched.Permits
}

// Config contains what the Service of repairs needs.
type Config struct {
	Engine        *commit.Engine
	People        *principal.Service
	Library       *library.Service
	Contents      library.ContentStore
	Libraries     library.LibraryStore
	Principals    principal.Store
	Directory     principal.DirectoryStore
	InFlightLists commit.JournalStore
	Claims        *claim.Claims
	Leases        *lease.Service
	Pastes        *paste.Service
	Pages         Pages
	Runtime       sched.Runtime
	Log           *slog.Logger
}

// New returns the Service of repairs.
func New(c Config) *Service {
	s := &Service{
		engine: c.Engine, people: c.People, library: c.Library, contents: c.Contents, libraries: c.Libraries,
		principals: c.Principals, directory: c.Directory, inFlightLists: c.InFlightLists, claims: c.Claims,
		leases: c.Leases, pastes: c.Pastes, pages: c.Pages, rt: c.Runtime, log: c.Log,
		rebuilds:     rebuildTable{running: map[principal.ID]*rebuildRun{}, done: map[principal.ID]*rebuildRun{}},
		rebuildTurns: sched.NewPermits(c.Runtime, rebuildsAtOnce),
	}
	return s
}
