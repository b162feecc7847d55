package nemesis

import (
	"context"
	"sync"
	"testing"
	"time"

	"carrel/backend"
	"carrel/cassandra"
	"carrel/cassandra/session"
	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/lease"
	"carrel/library/repair"
	"carrel/page"
	"carrel/paste"
	"carrel/principal"
)

// Those who take part in the tests of single faults.
const (
	owner  = principal.ID("u:acme:owner")
	first  = principal.ID("u:acme:first")
	second = principal.ID("u:acme:second")
)

// nameSource is what stands in names that are made.
const nameSource = "nemesis"

// skewed is the runtime of a process whose clock is off.
type skewed struct {
	*sched.Real
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Real.Now().Add(s.by) }

// services are what mutations are asked of.
type services struct {
	*repair.Service
	leases *lease.Service
	pages  *page.Service
	pastes *paste.Service
}

// door is a gateway without its edge: what a process of the product plugs
// together, over whatever stands at an address.
type door struct {
	store   *cassandra.Store
	runtime *sched.Real
	journal *journal.Journal
	service *services
	// finishes does the work of the background; service, unless it lacks a rule.
	finishes journal.Service
	stop     context.CancelFunc
	stopped  chan struct{}
	still    bool // it does nothing in the background
}

func openDoor(t *testing.T, o session.Options, skew time.Duration, without rule) *door {
	t.Helper()
	d, life := assemble(t, o, skew, without)
	go func() {
		defer close(d.stopped)
		d.journal.Run(life, d.finishes)
	}()
	return d
}

// openStill opens a door that does nothing in the background: it takes over no lanes,
// and sweeps nothing that is due by its clock.
func openStill(t *testing.T, o session.Options, skew time.Duration, without rule) *door {
	t.Helper()
	d, _ := assemble(t, o, skew, without)
	d.still = true
	close(d.stopped)
	return d
}

// assemble connects a door, and returns the context of its background.
func assemble(t *testing.T, o session.Options, skew time.Duration, without rule) (*door, context.Context) {
	t.Helper()
	var store *cassandra.Store
	withRetries(t, func() (err error) {
		store, err = cassandra.Open(t.Context(), o)
		return err
	})
	d := &door{store: store, runtime: sched.NewReal(), stopped: make(chan struct{})}
	rt := skewed{d.runtime, skew}
	// The background ends when the test says so, not with its context.
	life, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	d.stop = stop
	var inFlightLists commit.JournalStore = store
	if without == laneDroppedNewer {
		inFlightLists = newerDrops{store}
	}
	d.journal = journal.New(life, inFlightLists, rt, nil)
	var changes commit.Journal = d.journal
	if without == entryAfterCommit {
		changes = &lateJournal{Journal: d.journal}
	}
	names, err := naming.New(store, nameSource, naming.DefaultBlockSize)
	if err != nil {
		t.Fatal(err)
	}
	withRetries(t, func() error {
		all, err := backend.Open(t.Context(), backend.Config{Store: store, Runtime: rt, Journal: changes, Names: names})
		if err == nil {
			d.service = &services{all.Library, all.Leases, all.Pages, all.Pastes}
		}
		return err
	})
	d.finishes = d.service
	if without == noFence {
		d.finishes = unfenced{d.service.Service}
	}
	return d, life
}

// withRetries does what may be done again, as any statement may take longer than it
// has on a slow machine.
func withRetries(t *testing.T, do func() error) {
	t.Helper()
	err := do()
	for tries := 0; fault.CodeOf(err) == fault.Unavailable && tries < slowTries; tries++ {
		err = do()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// close ends the process without finishing anything.
func (d *door) close(t *testing.T) {
	t.Helper()
	d.stop()
	<-d.stopped
	d.runtime.Close()
	if err := d.store.Close(); err != nil {
		t.Error(err)
	}
}

// until waits for something that happens on its own.
func until(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(within)
	defer limit.Stop()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ticks.C:
		case <-limit.C:
			t.Fatalf("%s: not within %s", what, within)
		}
	}
}

// idle waits until the process has nothing under way.
func (d *door) idle(t *testing.T) {
	t.Helper()
	until(t, runWithin, "the end of all changes under way", func() bool {
		if d.still {
			if err := d.journal.DoDue(t.Context(), d.finishes); err != nil {
				t.Fatal(err)
			}
		}
		return d.journal.Stats().Entries == 0
	})
}

// lane is the list of a process, nil where none stands.
func (d *door) inFlightList(t *testing.T, of commit.ListID) *commit.OpenList {
	t.Helper()
	inFlightLists, err := commit.OpenLists(t.Context(), d.store)
	if err != nil {
		t.Fatal(err)
	}
	for i := range inFlightLists {
		if inFlightLists[i].ID == of {
			return &inFlightLists[i]
		}
	}
	return nil
}

// takeOver finishes what a dead process has left.
func (d *door) takeOver(t *testing.T, dead commit.ListID) {
	t.Helper()
	l := d.inFlightList(t, dead)
	if l == nil {
		return
	}
	if err := d.journal.TakeOver(t.Context(), d.service, *l); err != nil {
		t.Fatal(err)
	}
}

// room is a keyspace with those who take part, and a gateway that no fault meets.
type room struct {
	host     string
	keyspace string
	whole    *door

	claims *claim.Claims

	mu       sync.Mutex
	expiring []commit.Due // what was seen to expire some day
	ahead    map[time.Duration]*door
}

func newRoom(t *testing.T) *room {
	t.Helper()
	return roomOn(t, node.Hosts(t)[0], node.Keyspace(t))
}

func roomOn(t *testing.T, host, keyspace string) *room {
	t.Helper()
	r := &room{host: host, keyspace: keyspace, ahead: map[time.Duration]*door{}}
	o := r.options(r.host)
	if err := cassandra.Migrate(t.Context(), o, func(string) {}); err != nil {
		t.Fatal(err)
	}
	r.whole = openDoor(t, o, 0, everyRule)
	r.claims = claim.New(r.whole.store, r.whole.runtime)
	for _, p := range []principal.ID{owner, first, second} {
		if err := makeUser(t.Context(), r.whole.service, string(p), nil); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// late is a process whose clock is ahead of all others, and which does only what it is
// asked for: what has lapsed for it has not for others.
func (r *room) late(t *testing.T, by time.Duration) *door {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ahead[by] == nil {
		r.ahead[by] = openStill(t, r.options(r.host), by, everyRule)
	}
	return r.ahead[by]
}

// close ends all processes of the room.
func (r *room) close(t *testing.T) {
	t.Helper()
	for _, d := range r.ahead {
		d.close(t)
	}
	r.whole.close(t)
}

// makeUser makes a user, by itself.
func makeUser(ctx context.Context, s *services, id string, key *string) error {
	p := principal.ID(id)
	_, err := s.CreateUser(ctx, &principal.Viewer{User: p}, principal.CreateUser{Tenant: p.Tenant(), Name: p.Name(), DisplayName: "before",
		Email: p.Name() + "@example.com", Visibility: principal.Public, IdempotencyKey: key})
	return err
}

func (r *room) options(host string) session.Options {
	return session.Options{Hosts: []string{host}, Keyspace: r.keyspace, Replication: map[string]int{"": 1}}
}

// throughProxy is options for a process behind a proxy.
func (r *room) throughProxy(p *proxy) session.Options {
	o := r.options(p.address)
	o.Timeout, o.ConnectTimeout = driverTimeout, 2*driverTimeout
	return o
}

// audit looks at the whole keyspace when nothing is under way any more.
func (r *room) audit(t *testing.T) *repair.AuditReport {
	t.Helper()
	r.whole.idle(t)
	var report *repair.AuditReport
	// The lane of a process that has just finished is written empty by its next beat.
	until(t, runWithin, "a clean audit", func() bool {
		var err error
		if report, err = r.whole.service.Audit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return report.InFlight == 0
	})
	return report
}
