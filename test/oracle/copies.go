package oracle

import (
	"cmp"
	"sync/atomic"
	"testing"
	"time"

	"carrel/domain"
	"carrel/headercache"
	"carrel/library"
	"carrel/principal"
)

// served counts what copies of headers have served in a game, or in several.
type served struct {
	library.Unwatched
	games             int
	lingers           time.Duration // how long a change of a user or a group lingers
	items, principals atomic.Int64
	wrong             atomic.Int64 // copies that were not current
}

// Copied implements library.Watcher.
func (s *served) Copied(hits, _, _ int) { s.items.Add(int64(hits)) }

// CopiedPrincipals implements library.Watcher.
func (s *served) CopiedPrincipals(hits, _, _ int) { s.principals.Add(int64(hits)) }

// CopyWrong implements library.Watcher.
func (s *served) CopyWrong() { s.wrong.Add(1) }

// add adds what copies have served in a game, which has none if o is nil.
func (s *served) add(o *served) {
	if o != nil {
		s.games += o.games
		s.items.Add(o.items.Load())
		s.principals.Add(o.principals.Load())
	}
}

// check fails the test if games were played with copies and none was served.
func (s *served) check(t *testing.T) {
	t.Helper()
	if s.games == 0 {
		return
	}
	items, principals := s.items.Load(), s.principals.Load()
	t.Logf("in %d games copies have served %d headers of items and %d of users and groups", s.games, items, principals)
	if items == 0 || principals == 0 {
		t.Error("copies have served no headers of items, or none of users and groups")
	}
}

// useCopies makes the gateways of a game serve pages from copies, as those of the product do.
func (g *game) useCopies(c *domain.Config, cache headercache.Config) {
	if cache.Bytes > 0 {
		g.served = &served{games: 1, lingers: 2 * cmp.Or(cache.MaxAge, headercache.MaxAge)}
		c.HeaderCache, c.Linger, c.Watch = cache, g.served.lingers, g.served
	}
}

// readAgain compares what somebody reads of a library that is read after nearly every operation, so
// that there are copies of its entries.
func (g *game) readAgain() {
	if g.served == nil {
		return
	}
	if g.hot {
		g.doDeferred()
	}
	if g.rarely(2) {
		g.beat() // the operation leaves the list
	}
	g.gateway = *one(g, g.gateways)
	owner := one(g, []principal.ID{g.users[0], g.users[0], g.groups[0]})
	v := g.viewer(func(v viewer) bool { return g.w.sees(v, owner) })
	// With permissions, more than the owner's role counts, and headers are read.
	q := library.LibraryQuery{Order: g.order(), Descending: g.rarely(2), IncludeShared: g.rarely(2), OtherSide: true}
	g.readLibrary(v, owner, q, g.rarely(2), 20)
}

// outliveChanges moves the clock until no change of a user or a group lingers, and reads. Only then are their
// headers served from copies, and in each game some of items.
func (g *game) outliveChanges() {
	if g.served != nil {
		g.tick(g.served.lingers + time.Millisecond)
		g.beat()
	}
	for range 10 {
		g.readAgain()
	}
}

// checkCopies fails the game if a copy was served that was not current. It must be called after the
// game was closed, because the last copies are compared until then.
func (g *game) checkCopies() {
	if g.served != nil && g.served.wrong.Load() > 0 {
		g.Fatalf("a copy was served that was not current")
	}
}
