package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"carrel/core/clock"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/headercache"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// The number of operations of a game.
const (
	stepsAtLeast = 60
	stepsAtMost  = 120
)

// Opened is a store that is open for one game.
type Opened struct {
	Store domain.Store
	// Notifier is set for a store that several processes may use. The game is then
	// played through two gateways.
	Notifier library.Notifier
	// HeaderCache says how the gateways serve pages from copies of headers; by default they do not.
	HeaderCache headercache.Config
	// Done is called after the game, unless it is nil.
	Done func()
}

// Run runs games on stores. open opens a store for one game. It may return the same
// store several times, because each game has its own tenants. If gateways keep copies of headers,
// Run requires that these have served some.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	played := 0
	var all served
	rapid.Check(t, func(rt *rapid.T) {
		opened := open(t)
		if opened.Done != nil {
			defer opened.Done()
		}
		played++
		hot := rapid.Bool().Draw(rt, "hot")
		// A seed for each operation, or 0 for none. When rapid shrinks a failing game, it
		// removes the operations that do not matter.
		seeds := rapid.SliceOfN(rapid.Uint64(), stepsAtLeast, stepsAtMost).Draw(rt, "seeds")
		g := newGame(t.Context(), rt, opened, played, hot)
		g.play(seeds)
		g.checkCopies()
		all.add(g.served)
	})
	all.check(t)
}

// game is one run of random operations, on the Service and on the model.
type game struct {
	*rapid.T
	ctx      context.Context
	w        *world
	gateway             // through which the operation under way is made
	gateways []*gateway // one, or two on a store that several processes may use
	runtime  *gameClock
	served   *served // nil: no copies are kept

	followers []*follower

	dice *rand.Rand // of the operation under way

	// hot: items become hot at once, so positions are compared only after their deferred moves.
	hot     bool
	home    string // two tenants
	away    string
	viewers []viewer
	users   []principal.ID // that may exist
	groups  []principal.ID
	keys    []string // idempotency keys; anonymous callers can use the last one
	keyed   []func() // requests with keys, to be made again
}

// gateway is one process of the store.
type gateway struct {
	svc     *domain.Services
	pastes  *paste.Service
	journal *journal.Journal
}

// gameClock is the real runtime with a wall clock that only the game advances.
type gameClock struct {
	*sched.Real
	start clock.Instant
	now   atomic.Int64
	ahead atomic.Int64 // how far the game has advanced the monotonic clock alone
}

func (c *gameClock) Now() time.Time { return clock.Instant(c.now.Load()).Time() }

// Elapsed returns the real time since the start plus the time that the game has let pass.
func (c *gameClock) Elapsed() time.Duration {
	return c.Real.Elapsed() + time.Duration(c.ahead.Load()) + time.Duration(c.now.Load()-int64(c.start))*time.Microsecond
}

// names generates names for contents that were created without one.
type names struct {
	host string
	n    atomic.Int64
}

func (n *names) ContentName(context.Context) (string, error) {
	return fmt.Sprintf("%s/%d", n.host, n.n.Add(1)), nil
}

func newGame(ctx context.Context, t *rapid.T, opened Opened, number int, hot bool) *game {
	g := &game{
		T: t, ctx: ctx, runtime: &gameClock{Real: sched.NewReal()},
		home: fmt.Sprintf("home%d", number), away: fmt.Sprintf("away%d", number),
		hot: hot, dice: rand.New(rand.NewPCG(0, 0)), keys: []string{"k1", "k2", fmt.Sprintf("long enough for all %d", 10_000+number)},
	}
	// Not in the past, because stores forget old request rows by their own clock.
	start := clock.Of(g.runtime.Real.Now())
	g.w = newWorld(start)
	g.runtime.start = start
	g.runtime.now.Store(int64(start))
	tuning := library.Tuning{AnswerWithin: time.Minute, HotMoves: 1 << 30, MaxUnsettled: 1 << 30}
	if g.hot {
		tuning.HotMoves = 2
	}
	config := domain.Config{
		Store: opened.Store, Notifier: opened.Notifier, Runtime: g.runtime, Names: &names{host: fmt.Sprintf("host%d", number)},
		Tuning: tuning, Remote: true,
	}
	g.useCopies(&config, opened.HeaderCache)
	if config.Notifier != nil {
		g.serve(config)
	}
	g.serve(config)
	g.gateway = *g.gateways[0]
	for _, name := range []string{"ann", "bob", "cat", "dan"} {
		g.users = append(g.users, principal.UserID(g.home, name))
	}
	g.users = append(g.users, principal.UserID(g.away, "far"), principal.UserID(g.away, "gus"))
	for _, u := range g.users {
		g.viewers = append(g.viewers, viewer{user: u})
	}
	g.groups = []principal.ID{
		principal.GroupID(g.home, "one"), principal.GroupID(g.home, "two"), principal.GroupID(g.home, "ann"), principal.GroupID(g.away, "far"),
	}
	g.viewers = append(g.viewers, viewer{},
		viewer{user: principal.UserID(g.home, "boss"), admin: true},
		viewer{user: principal.UserID(g.away, "chief"), admin: true},
		viewer{user: principal.UserID(g.away, "root"), global: true})
	return g
}

// serve opens a gateway.
func (g *game) serve(c domain.Config) {
	j := journal.New(g.ctx, c.Store.Journal, c.Runtime, nil)
	c.Journal = j
	services, err := domain.Open(g.ctx, c)
	if err != nil {
		g.Fatalf("opening the Services: %v", err)
	}
	g.gateways = append(g.gateways, &gateway{services, services.Pastes, j})
}

// play runs the operations, compares reads in between, and compares everything at the end.
func (g *game) play(seeds []uint64) {
	defer g.close()
	if len(g.gateways) > 1 {
		defer g.deleteAllPastes()
	}
	moves := []struct {
		weight int
		move   func()
	}{
		{2, g.createUser}, {3, g.updateUser}, {2, g.createGroup}, {2, g.updateGroup}, {1, g.deletePrincipal}, {8, g.setGroupMembers},
		{10, g.createContent}, {9, g.updateContent}, {9, g.shareContent}, {6, g.setContentMembers}, {6, g.removeFromLibrary},
		{2, g.deleteContent}, {2, g.shareContents}, {1, g.deleteContents}, {4, g.moveContent}, {1, g.rebuildLibrary},
		{1, g.passTime}, {4, g.repeat}, {9, g.readSomething}, {4, g.findSomebody}, {9, g.followSomething},
		{5, g.createPaste}, {6, g.updatePaste}, {2, g.deletePaste}, {3, g.readPastes},
	}
	var deck []int
	for i, m := range moves {
		for range m.weight {
			deck = append(deck, i)
		}
	}
	g.people()
	for _, seed := range seeds {
		if seed == 0 {
			continue
		}
		g.tick(time.Millisecond)
		g.dice = rand.New(rand.NewPCG(seed, 1))
		g.beat()
		g.gateway = *one(g, g.gateways)
		moves[one(g, deck)].move()
		g.readAgain()
	}
	g.doDeferred()
	g.compareFollowers()
	g.outliveChanges()
	g.readEverything()
	g.readAllPastes()
	g.beat()
	report, err := g.svc.Repair.Audit(g.ctx)
	if err != nil || !report.Clean() {
		g.Fatalf("audit: %+v, %v", report, err)
	}
}

// close ends the gateways as their processes would end, without waiting for work that
// another process can do.
func (g *game) close() {
	g.closeFollowers()
	for _, served := range g.gateways {
		served.svc.Engine.End()
	}
	g.runtime.Close()
}

// people creates most users and some groups in advance, so that games are about other
// operations.
func (g *game) people() {
	visibilities := []principal.Visibility{principal.Public, principal.LoggedIn, principal.Public, principal.Private,
		principal.Public, principal.LoggedIn}
	for i, u := range g.users {
		if i != 3 {
			g.tick(time.Millisecond)
			g.createUserAs(viewer{user: u}, principal.CreateUser{Tenant: u.Tenant(), Name: u.Name(), DisplayName: "x",
				Email: fmt.Sprintf("u%d@example.com", i), Visibility: visibilities[i]})
		}
	}
	for i, creator := range []int{0, 1, 4} {
		id := g.groups[[]int{0, 1, 3}[i]]
		g.tick(time.Millisecond)
		g.createGroupAs(viewer{user: g.users[creator]}, principal.CreateGroup{Tenant: id.Tenant(), Name: id.Name(),
			DisplayName: "x", Visibility: visibilities[i]})
	}
	member, manager := principal.GroupMember, principal.GroupManager
	g.setGroupMembersAs(viewer{user: g.users[0]}, principal.SetGroupMembers{Group: string(g.groups[0]), Members: []principal.GroupMemberChange{
		{Principal: string(g.groups[3]), Role: &member}, {Principal: string(g.users[4]), Role: &member},
	}})
	g.setGroupMembersAs(viewer{user: g.users[1], admin: true}, principal.SetGroupMembers{Group: string(g.groups[1]),
		Members: []principal.GroupMemberChange{
			{Principal: string(g.groups[0]), Role: &member}, {Principal: string(g.groups[3]), Role: &manager},
		}})
}

// beat makes the journal write the list of changes in flight.
func (g *game) beat() {
	for _, served := range g.gateways {
		if err := served.journal.Beat(g.ctx); err != nil {
			g.Fatalf("write the list: %v", err)
		}
	}
}

// tick moves the clock.
func (g *game) tick(d time.Duration) {
	g.w.now = g.w.now.Add(d)
	g.runtime.now.Store(int64(g.w.now))
}

// repeat makes a request with a key again, mostly the last one.
func (g *game) repeat() {
	switch {
	case len(g.keyed) == 0:
	case g.rarely(3):
		one(g, g.keyed)()
	default:
		g.keyed[len(g.keyed)-1]()
	}
}

// passTime moves the clock past expiries, which the journal may process later.
func (g *game) passTime() {
	g.tick(one(g, []time.Duration{time.Second, time.Minute, time.Hour}))
	if g.rarely(2) {
		g.expire()
	}
}

// expire makes the journal delete expired objects.
func (g *game) expire() {
	if err := g.journal.ExpireDue(g.ctx, g.svc.Background()); err != nil {
		g.Fatalf("expiring: %v", err)
	}
	for _, c := range g.w.items {
		if c.expiresAt != nil && *c.expiresAt <= g.w.now {
			c.deleted = true
		}
	}
}

// doDeferred makes the journal do its deferred work.
func (g *game) doDeferred() {
	if g.hot {
		g.tick(time.Minute + time.Millisecond)
	}
	for _, served := range g.gateways {
		if err := served.journal.DoDue(g.ctx, served.svc.Background()); err != nil {
			g.Fatalf("finish deferred work: %v", err)
		}
	}
}

// one draws an element of a list.
func one[T any](g *game, from []T) T { return from[g.dice.IntN(len(from))] }

// rarely is true once in n times.
func (g *game) rarely(n int) bool { return g.dice.IntN(n) == 0 }

// viewer draws a viewer, mostly one that may do the operation.
func (g *game) viewer(may func(v viewer) bool) viewer {
	var able []viewer
	for _, v := range g.viewers {
		if may(v) {
			able = append(able, v)
		}
	}
	if len(able) == 0 || g.rarely(4) {
		return one(g, g.viewers)
	}
	return one(g, able)
}

// groupManager draws a viewer that usually may change the group, or is a member of it.
func (g *game) groupManager(id principal.ID) viewer {
	if g.rarely(3) {
		return g.viewer(func(v viewer) bool { return g.w.groups(v.user)[id] != principal.NotInGroup })
	}
	return g.viewer(func(v viewer) bool { return g.w.managesGroup(v, id) })
}

func (g *game) visibility() principal.Visibility {
	return one(g, []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private})
}

// principalID draws a user or a group, usually one that v may see, rarely a malformed id.
func (g *game) principalID(v viewer) string {
	all := slices.Concat(g.users, g.groups)
	seen := slices.DeleteFunc(slices.Clone(all), func(id principal.ID) bool { return !g.w.sees(v, id) })
	switch {
	case g.rarely(40):
		return one(g, []string{"", "ann", "u:" + g.home, "c:" + g.home + ":c1", "u:" + g.home + ":a b", "x:y:z"})
	case len(seen) == 0 || g.rarely(6):
		return string(one(g, all))
	}
	return string(one(g, seen))
}

// group draws a group that exists, if one does; rarely something else.
func (g *game) group() string {
	there := slices.DeleteFunc(slices.Clone(g.groups), func(id principal.ID) bool { return g.w.principals[id] == nil })
	switch {
	case g.rarely(20):
		return g.principalID(one(g, g.viewers))
	case len(there) == 0 || g.rarely(20):
		return string(one(g, g.groups))
	}
	return string(one(g, there))
}

// principalIDs draws a list of ids, usually short, rarely empty or too long.
func (g *game) principalIDs(v viewer) []string {
	n := one(g, []int{1, 1, 1, 2, 2, 3, 4})
	if g.rarely(30) {
		n = one(g, []int{0, input.MaxList + 1})
	}
	ids := make([]string, n)
	for i := range ids {
		if n > input.MaxList {
			ids[i] = fmt.Sprintf("u:%s:%d", g.home, i)
		} else {
			ids[i] = g.principalID(v)
		}
	}
	if !g.rarely(10) {
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	return ids
}

// contentID draws an item that exists, rarely another id.
func (g *game) contentID() string {
	none := []string{"", "none", "u:" + g.home + ":ann", "c:" + g.home + ":a b"}
	return drawID(g, g.w.items, g.w.exists, library.ContentID("c:"+g.home+":none"), none)
}

// drawID draws the id of one of all that is there, rarely another one, and more rarely one of none. absent is an id that
// nothing has.
func drawID[ID ~string, T any](g *game, all map[ID]T, there func(T) bool, absent ID, none []string) string {
	ids := append(slices.Sorted(maps.Keys(all)), absent)
	live := slices.DeleteFunc(slices.Clone(ids), func(id ID) bool { return !there(all[id]) })
	switch {
	case g.rarely(40):
		return one(g, none)
	case len(live) == 0 || g.rarely(10):
		return string(one(g, ids))
	}
	return string(one(g, live))
}

// itemManager draws a viewer that usually may change the item.
func (g *game) itemManager(id string) viewer {
	c := g.w.items[library.ContentID(id)]
	return g.viewer(func(v viewer) bool { return c != nil && g.w.managesItem(v, c) })
}

// editor draws a viewer that usually may change the texts of an item.
func (g *game) editor(id string) viewer {
	c := g.w.items[library.ContentID(id)]
	return g.viewer(func(v viewer) bool { return c != nil && g.w.role(v.user, c) == library.Editing })
}

func (g *game) key() *string {
	if !g.rarely(5) {
		return nil
	}
	if g.rarely(20) {
		return new(string)
	}
	k := one(g, g.keys)
	return &k
}

// hash identifies an input with its mutation.
func (g *game) hash(mutation string, input any) string {
	b, err := json.Marshal(input)
	if err != nil {
		g.Fatalf("encoding an input: %v", err)
	}
	return mutation + " " + string(b)
}
