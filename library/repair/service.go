package repair

import (
	"log/slog"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/lease"
	"carrel/library"
	"carrel/library/exchange"
	"carrel/library/feed"
	"carrel/paste"
	"carrel/principal"
)

// Service restores derived rows from the authoritative ones: rows that a reader has found to be
// wrong, libraries that are missing, the whole store step by step, and what an operator
// requests. It contains the Service of libraries.
type Service struct {
	*feed.Service
	contents      library.ContentStore
	libraries     library.LibraryStore
	people        principal.Store
	directory     principal.DirectoryStore
	inFlightLists commit.JournalStore
	claims        *claim.Claims
	leases        *lease.Service
	pastes        *paste.Service
	pages         Pages
	exports       *exchange.Exporter
	rt            sched.Runtime
	log           *slog.Logger

	rebuilds rebuildTable
	// rebuildTurns are for the rebuilds that readers and rebuildLibrary have started.
	rebuildTurns *sched.Permits
	// scrubbed is the position of the scrubber.
	scrubbed ScrubPosition
}

var _ library.API = (*Service)(nil)

// Config contains what the Service of repairs needs.
type Config struct {
	Feed          *feed.Service
	Contents      library.ContentStore
	Libraries     library.LibraryStore
	People        principal.Store
	Directory     principal.DirectoryStore
	InFlightLists commit.JournalStore
	Claims        *claim.Claims
	Leases        *lease.Service
	Pastes        *paste.Service
	Pages         Pages
	Exports       *exchange.Exporter
	Runtime       sched.Runtime
	Log           *slog.Logger
}

// New returns the Service of repairs, and registers it with the Services that it contains,
// which call it for what they find to be missing or wrong.
func New(c Config) *Service {
	s := &Service{
		Service: c.Feed, contents: c.Contents, libraries: c.Libraries, people: c.People, directory: c.Directory, inFlightLists: c.InFlightLists, claims: c.Claims,
		leases: c.Leases, pastes: c.Pastes, pages: c.Pages, exports: c.Exports, rt: c.Runtime, log: c.Log,
		rebuilds:     rebuildTable{running: map[principal.ID]*rebuildRun{}, done: map[principal.ID]*rebuildRun{}},
		rebuildTurns: sched.NewPermits(c.Runtime, rebuildsAtOnce),
	}
	s.OnMissing(s.rebuildMissing)
	s.Repairs(commit.Content, s.repair)
	return s
}
