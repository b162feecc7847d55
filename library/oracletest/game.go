package oracletest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"carrel/journal"
	"carrel/library"
)

// steps is the number of operations of one game.
const steps = 60

// Run plays games on stores. open opens a store for one game; it may give the
// same store again and again, because each game has tenants of its own. done
// is called after the game.
func Run(t *testing.T, open func(t *testing.T) (store library.Store, done func())) {
	played := 0
	rapid.Check(t, func(rt *rapid.T) {
		store, done := open(t)
		defer done()
		played++
		newGame(t.Context(), rt, store, played).play()
	})
}

// game is one run of random operations, on the Service and on the model.
type game struct {
	*rapid.T
	ctx     context.Context
	w       *world
	svc     *library.Service
	runtime *clock
	journal *journal.Journal

	// hot: items become hot at once, so places are compared only after their
	// deferred moves were made.
	hot     bool
	home    string // two tenants
	away    string
	viewers []viewer
	users   []library.PrincipalID // that may exist
	groups  []library.PrincipalID
	keys    []string // idempotency keys
}

// clock is the real runtime with a clock that stands until it is moved.
type clock struct {
	*library.RealRuntime
	now atomic.Int64
}

func (c *clock) Now() time.Time { return library.Instant(c.now.Load()).Time() }

// names numbers contents that were given none.
type names struct {
	host string
	n    atomic.Int64
}

func (n *names) ContentName(context.Context) (string, error) {
	return fmt.Sprintf("%s/%d", n.host, n.n.Add(1)), nil
}

func newGame(ctx context.Context, t *rapid.T, store library.Store, number int) *game {
	g := &game{
		T: t, ctx: ctx, runtime: &clock{RealRuntime: library.NewRealRuntime()},
		home: fmt.Sprintf("home%d", number), away: fmt.Sprintf("away%d", number),
		hot: rapid.Bool().Draw(t, "hot"), keys: []string{"k1", "k2"},
	}
	// Not in the past, because stores forget old request rows by their own clock.
	start := library.InstantOf(g.runtime.RealRuntime.Now())
	g.w = newWorld(start)
	g.runtime.now.Store(int64(start))
	tuning := library.Tuning{AnswerWithin: time.Minute, HotMoves: 1 << 30, MaxUnsettled: 1 << 30}
	if g.hot {
		tuning.HotMoves = 2
	}
	g.journal = journal.New(ctx, store, g.runtime, nil, library.WholeProtocol)
	svc, err := library.New(ctx, library.Config{
		Store: store, Runtime: g.runtime, Journal: g.journal, Names: &names{host: fmt.Sprintf("host%d", number)}, Tuning: tuning,
	})
	if err != nil {
		t.Fatalf("opening the Service: %v", err)
	}
	g.svc = svc
	for _, name := range []string{"ann", "bob", "cat", "dan"} {
		g.users = append(g.users, library.UserID(g.home, name))
	}
	g.users = append(g.users, library.UserID(g.away, "far"), library.UserID(g.away, "gus"))
	for _, u := range g.users {
		g.viewers = append(g.viewers, viewer{user: u})
	}
	g.groups = []library.PrincipalID{
		library.GroupID(g.home, "one"), library.GroupID(g.home, "two"), library.GroupID(g.home, "ann"), library.GroupID(g.away, "far"),
	}
	g.viewers = append(g.viewers, viewer{},
		viewer{user: library.UserID(g.home, "boss"), admin: true},
		viewer{user: library.UserID(g.away, "chief"), admin: true},
		viewer{user: library.UserID(g.away, "root"), global: true})
	return g
}

// play makes the moves, compares what can be read on the way, and everything at
// the end.
func (g *game) play() {
	defer g.runtime.Close()
	moves := []struct {
		weight int
		name   string
		move   func()
	}{
		{3, "createUser", g.createUser}, {2, "updateUser", g.updateUser},
		{3, "createGroup", g.createGroup}, {2, "updateGroup", g.updateGroup}, {7, "setGroupMembers", g.setGroupMembers},
		{7, "createContent", g.createContent}, {8, "updateContent", g.updateContent}, {8, "shareContent", g.shareContent},
		{6, "setContentMembers", g.setContentMembers}, {5, "removeFromLibrary", g.removeFromLibrary}, {1, "deleteContent", g.deleteContent},
		{1, "rebuildLibrary", g.rebuildLibrary}, {1, "passTime", g.passTime}, {6, "read", g.readSomething},
	}
	var deck []int
	for i, m := range moves {
		for range m.weight {
			deck = append(deck, i)
		}
	}
	g.people()
	for range steps {
		g.tick(time.Millisecond)
		m := moves[rapid.SampledFrom(deck).Draw(g.T, "move")]
		g.Logf("%s", m.name)
		m.move()
	}
	g.settle()
	g.readEverything()
	if err := g.journal.Beat(g.ctx); err != nil {
		g.Fatalf("writing the lane: %v", err)
	}
	report, err := g.svc.Audit(g.ctx)
	if err != nil || !report.Clean() {
		g.Fatalf("audit: %+v, %v", report, err)
	}
}

// people creates most users and a group, so that games are not about them.
func (g *game) people() {
	for i, u := range g.users {
		if i != 3 {
			g.tick(time.Millisecond)
			g.createUserAs(viewer{user: u}, library.CreateUser{Tenant: u.Tenant(), Name: u.Name(), DisplayName: "x", Email: "x@example.com", Visibility: library.Visibility(1 + (i+2)%3)})
		}
	}
	g.tick(time.Millisecond)
	g.createGroupAs(viewer{user: g.users[0]}, library.CreateGroup{Tenant: g.home, Name: "one", DisplayName: "x", Visibility: library.Private})
}

// tick moves the clock.
func (g *game) tick(d time.Duration) {
	g.w.now = g.w.now.Add(d)
	g.runtime.now.Store(int64(g.w.now))
}

// passTime moves the clock further, past expiries; the journal may come to them
// later.
func (g *game) passTime() {
	g.tick(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(g.T, "time"))
	if rapid.Bool().Draw(g.T, "expire") {
		g.expire()
	}
}

// expire has the journal delete what has expired.
func (g *game) expire() {
	if err := g.journal.ExpireDue(g.ctx, g.svc); err != nil {
		g.Fatalf("expiring: %v", err)
	}
	for _, c := range g.w.items {
		if c.expiresAt != nil && *c.expiresAt <= g.w.now {
			c.deleted = true
		}
	}
}

// settle has the journal do what it has put off.
func (g *game) settle() {
	if g.hot {
		g.tick(time.Minute + time.Millisecond)
	}
	if err := g.journal.DoDue(g.ctx, g.svc); err != nil {
		g.Fatalf("finishing what was put off: %v", err)
	}
}

// one draws one of several.
func one[T any](g *game, label string, from []T) T {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

// rarely is true once in n times.
func (g *game) rarely(label string, n int) bool {
	return rapid.IntRange(1, n).Draw(g.T, label) == n
}

func (g *game) viewer() viewer { return one(g, "viewer", g.viewers) }

func (g *game) visibility() library.Visibility {
	return one(g, "visibility", []library.Visibility{library.Public, library.LoggedIn, library.Private})
}

// principalID draws a user or a group that may exist, rarely something malformed.
func (g *game) principalID() string {
	if g.rarely("malformed", 40) {
		return one(g, "id", []string{"", "ann", "u:" + g.home, "c:" + g.home + ":c1", "u:" + g.home + ":a b", "x:y:z"})
	}
	return string(one(g, "principal", slices.Concat(g.users, g.groups)))
}

// principalIDs draws a list of them: mostly short, rarely none or too long.
func (g *game) principalIDs() []string {
	n := one(g, "length", []int{1, 1, 1, 1, 2, 2, 2, 3, 3, 0, library.MaxList + 1})
	ids := make([]string, n)
	for i := range ids {
		if n > library.MaxList {
			ids[i] = fmt.Sprintf("u:%s:%d", g.home, i)
		} else {
			ids[i] = g.principalID()
		}
	}
	return ids
}

// contentID draws an item that exists or did, rarely another id.
func (g *game) contentID() string {
	var ids []string
	for id, c := range g.w.items {
		ids = append(ids, string(id))
		if !c.deleted {
			ids = append(ids, string(id), string(id))
		}
	}
	slices.Sort(ids)
	ids = append(ids, "c:"+g.home+":none")
	if g.rarely("malformed", 40) {
		return one(g, "id", []string{"", "none", "u:" + g.home + ":ann", "c:" + g.home + ":a b"})
	}
	return one(g, "content", ids)
}

func (g *game) key() *string {
	if !g.rarely("keyed", 6) {
		return nil
	}
	if g.rarely("bad key", 20) {
		return new(string)
	}
	k := one(g, "key", g.keys)
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
