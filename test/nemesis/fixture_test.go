package nemesis

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/session"
	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/lease"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
	"carrel/repair"
)

// The users of the tests of single faults.
const (
	owner  = principal.ID("u:acme:owner")
	first  = principal.ID("u:acme:first")
	second = principal.ID("u:acme:second")
)

// nameSource is part of generated names.
const nameSource = "nemesis"

// skewed is the runtime of a process whose clock is off.
type skewed struct {
	*sched.Real
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Real.Now().Add(s.by) }

// services are the services that mutations call.
type services struct {
	*domain.Services
	leases *lease.Service
	pages  *note.Service
	pastes *paste.Service
}

// instance is a gateway without its edge: the services that a process of the product
// assembles, on the store at some address.
type instance struct {
	store   *cassandra.Store
	runtime *sched.Real
	journal *journal.Journal
	service *services
	// finishes does the background work. It is service, unless that one lacks a rule.
	finishes journal.Service
	stop     context.CancelFunc
	stopped  chan struct{}
	workless bool // it does no background work
}

func openInstance(t *testing.T, o session.Options, skew time.Duration, without rule) *instance {
	t.Helper()
	d, life := assemble(t, o, skew, without)
	go func() {
		defer close(d.stopped)
		d.journal.Run(life, d.finishes)
	}()
	return d
}

// openWithoutWork opens an instance without background work: it takes over no in-flight lists, and
// sweeps nothing that is due by its clock.
func openWithoutWork(t *testing.T, o session.Options, skew time.Duration, without rule) *instance {
	t.Helper()
	d, _ := assemble(t, o, skew, without)
	d.workless = true
	close(d.stopped)
	return d
}

// assemble connects an instance, and returns the context of its background work.
func assemble(t *testing.T, o session.Options, skew time.Duration, without rule) (*instance, context.Context) {
	t.Helper()
	var store *cassandra.Store
	withRetries(t, func() (err error) {
		store, err = cassandra.Open(t.Context(), o)
		return err
	})
	d := &instance{store: store, runtime: sched.NewReal(), stopped: make(chan struct{})}
	rt := skewed{d.runtime, skew}
	// The test ends the background work explicitly, not by its context.
	life, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	d.stop = stop
	var inFlightLists commit.JournalStore = store.Journal
	if without == listDroppedNewer {
		inFlightLists = newerDrops{store.Journal}
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
		all, err := domain.Open(t.Context(), domain.Config{Store: store.Store, Runtime: rt, Journal: changes, Names: names})
		if err == nil {
			d.service = &services{all, all.Leases, all.Notes, all.Pastes}
		}
		return err
	})
	d.finishes = d.service.Background()
	if without == noFence {
		d.finishes = unfenced{d.service.Background()}
	}
	return d, life
}

// withRetries retries an operation that may be repeated, because any statement may time
// out on a slow machine.
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
func (d *instance) close(t *testing.T) {
	t.Helper()
	d.service.Engine.End() // what goes on in the background until the store answers is given up
	d.stop()
	<-d.stopped
	d.runtime.Close()
	if err := d.store.Close(); err != nil {
		t.Error(err)
	}
}

// until waits for a condition.
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

// idle waits until the process has nothing in flight.
func (d *instance) idle(t *testing.T) {
	t.Helper()
	until(t, runTimeout, "the end of all changes under way", func() bool {
		if d.workless {
			if err := d.journal.DoDue(t.Context(), d.finishes); err != nil {
				t.Fatal(err)
			}
		}
		return d.journal.Stats().Entries == 0
	})
}

// inFlightList returns the list of a process, or nil if it has none.
func (d *instance) inFlightList(t *testing.T, of commit.ListID) *commit.OpenList {
	t.Helper()
	inFlightLists, err := commit.OpenLists(t.Context(), d.store.Journal)
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

// takeOver finishes the changes of a dead process.
func (d *instance) takeOver(t *testing.T, dead commit.ListID) {
	t.Helper()
	l := d.inFlightList(t, dead)
	if l == nil {
		return
	}
	if err := d.journal.TakeOver(t.Context(), d.service.Background(), *l); err != nil {
		t.Fatal(err)
	}
}

// fixture is a keyspace with its users, and a gateway without faults.
type fixture struct {
	host     string
	keyspace string
	healthy  *instance

	claims *claim.Claims

	mu       sync.Mutex
	expiring []commit.Reminder // the items that have an expiry
	ahead    map[time.Duration]*instance
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return fixtureOn(t, node.Hosts(t)[0], node.Keyspace(t))
}

// newFixtures returns n fixtures, which end with the test. Tests with many processes use several: a
// keyspace keeps a tombstone of each process that has ended, and each read of the in-flight lists
// passes all of them.
func newFixtures(t *testing.T, n int) []*fixture {
	t.Helper()
	rs := make([]*fixture, n)
	for i := range rs {
		rs[i] = newFixture(t)
		t.Cleanup(func() { rs[i].close(t) })
	}
	return rs
}

// eachOf calls check with each fixture, in parallel, and waits.
func eachOf(t *testing.T, rs []*fixture, check func(*testing.T, *fixture)) {
	t.Helper()
	t.Run("afterwards", func(t *testing.T) {
		for i, r := range rs {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				check(t, r)
			})
		}
	})
}

func fixtureOn(t *testing.T, host, keyspace string) *fixture {
	t.Helper()
	r := &fixture{host: host, keyspace: keyspace, ahead: map[time.Duration]*instance{}}
	o := r.options(r.host)
	if err := cassandra.Migrate(t.Context(), o, func(string) {}); err != nil {
		t.Fatal(err)
	}
	r.healthy = openInstance(t, o, 0, everyRule)
	r.claims = claim.New(r.healthy.store.Claims, r.healthy.runtime, nil)
	for _, p := range []principal.ID{owner, first, second} {
		if err := makeUser(t.Context(), r.healthy.service, string(p), nil); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// aheadBy returns a process whose clock is ahead of all others, and which does no background
// work. What has lapsed for it has not lapsed for others.
func (r *fixture) aheadBy(t *testing.T, by time.Duration) *instance {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ahead[by] == nil {
		r.ahead[by] = openWithoutWork(t, r.options(r.host), by, everyRule)
	}
	return r.ahead[by]
}

// close ends all processes of the fixture.
func (r *fixture) close(t *testing.T) {
	t.Helper()
	for _, d := range r.ahead {
		d.close(t)
	}
	r.healthy.close(t)
}

// makeUser creates a user, as that user.
func makeUser(ctx context.Context, s *services, id string, key *string) error {
	p := principal.ID(id)
	_, err := s.People.CreateUser(ctx, &principal.Viewer{User: p}, principal.CreateUser{Tenant: p.Tenant(), Name: p.Name(),
		DisplayName: "before",
		Email:       p.Name() + "@example.com", Visibility: principal.Public, IdempotencyKey: key})
	return err
}

func (r *fixture) options(host string) session.Options {
	return session.Options{Hosts: []string{host}, Keyspace: r.keyspace, Replication: map[string]int{"": 1}}
}

// throughProxy returns the options of a process behind a proxy.
func (r *fixture) throughProxy(p *proxy) session.Options {
	o := r.options(p.address)
	o.Timeout, o.ConnectTimeout = driverTimeout, 2*driverTimeout
	return o
}

// audit audits the whole keyspace when nothing is in flight any more.
func (r *fixture) audit(t *testing.T) *repair.AuditReport {
	t.Helper()
	r.healthy.idle(t)
	var report *repair.AuditReport
	// A process that has just finished writes its empty list with its next heartbeat.
	until(t, runTimeout, "a clean audit", func() bool {
		var err error
		if report, err = r.healthy.service.Repair.Audit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return report.InFlight == 0
	})
	return report
}
