package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// statementCounts counts the statements and batches that the driver sends, as its observers report
// them. A batch counts as its first statement.
type statementCounts struct {
	mu   sync.Mutex
	sent map[string]int
}

func (b *statementCounts) add(stmt string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		stmt = "failed: " + err.Error()
	}
	b.sent[stmt]++
}

// ObserveQuery implements the driver's QueryObserver.
func (b *statementCounts) ObserveQuery(_ context.Context, q gocql.ObservedQuery) {
	b.add(q.Statement, q.Err)
}

// ObserveBatch implements the driver's BatchObserver.
func (b *statementCounts) ObserveBatch(_ context.Context, q gocql.ObservedBatch) {
	b.add(q.Statements[0], q.Err)
}

// take returns the counts since the last call, without those of in-flight lists, which background
// work reads and writes too.
func (b *statementCounts) take() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := maps.Clone(b.sent)
	clear(b.sent)
	maps.DeleteFunc(sent, func(stmt string, _ int) bool { return strings.Contains(stmt, " inflight ") })
	return sent
}

// costFixture is a Service that waits for whole fan-outs, on a store whose driver is observed.
type costFixture struct {
	*statementCounts
	t       *testing.T
	store   *Store
	journal *journal.Journal
	service *domain.Services
	pastes  *paste.Service
}

type noNames struct{}

func (noNames) ContentName(context.Context) (string, error) {
	return "", fmt.Errorf("no name")
}

func newCostFixture(t *testing.T) *costFixture { return newCostFixtureOn(t, options(t)) }

func newCostFixtureOn(t *testing.T, o session.Options) *costFixture {
	runtime := sched.NewReal()
	t.Cleanup(runtime.Close)
	return newCostFixtureWith(t, o, runtime)
}

func newCostFixtureWith(t *testing.T, o session.Options, runtime sched.Runtime) *costFixture {
	b := &costFixture{t: t, statementCounts: &statementCounts{sent: map[string]int{}}}
	cfg, err := o.Configure(o.Keyspace)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QueryObserver, cfg.BatchObserver = b.statementCounts, b.statementCounts
	connected, err := cfg.Connect()
	if err != nil {
		t.Fatal(err)
	}
	b.store = newStore(connected)
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	// There is no background work: the journal does only what changes need.
	b.journal = journal.New(t.Context(), b.store.Journal, runtime, nil)
	services := domaintest.Open(t, domain.Config{
		Store: b.store.Store, Runtime: runtime, Journal: b.journal, Names: noNames{}, Remote: true,
		Tuning: library.Tuning{AnswerWithin: 2 * time.Minute, HotMoves: 1000},
	})
	b.service, b.pastes = services, services.Pastes
	return b
}

func (b *costFixture) want(what string, want map[string]int) {
	b.t.Helper()
	got := b.take()
	for _, stmt := range slices.Sorted(maps.Keys(got)) {
		if got[stmt] != want[stmt] {
			b.t.Errorf("%s sends %d times, want %d: %s", what, got[stmt], want[stmt], stmt)
		}
	}
	for stmt, n := range want {
		if got[stmt] == 0 && n > 0 {
			b.t.Errorf("%s does not send: %s", what, stmt)
		}
	}
}

const (
	costOwner = principal.ID("u:t:owner")
	costItem  = library.ContentID("c:t:crowd")
)

func memberOf(n int) principal.ID {
	return principal.ID(fmt.Sprintf("u:t:member%03d", n))
}

// storeItem writes an item with members in addition to the owner directly to the store.
func (b *costFixture) storeItem(id library.ContentID, position clock.Instant, members int) {
	b.t.Helper()
	c := creation(id, position)
	c.Header.Creator = costOwner
	all := []library.Member{{Principal: costOwner, Role: library.Manages}}
	for n := range members {
		all = append(all, library.Member{Principal: memberOf(n), Role: library.Viewing})
	}
	c.Header.Managers, c.Header.Members = 1, len(all)
	for rest := range slices.Chunk(all, input.MaxList) { // as many as one mutation accepts
		for i := range rest {
			rest[i].Seq = c.Header.Seq
		}
		c.Members = rest
		mustCommit(b.t, b.store, c)
		c.Base = c.Header.Seq
		c.Header.Seq++
	}
	c.Header.Seq--
	// A busy node may not take 10,000 writes at once in time.
	err := b.store.withRetries(b.t.Context(), func() error {
		return b.store.Contents.ApplyIndex(b.t.Context(), &library.IndexUpdate{Header: &c.Header, Rows: all, All: true})
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *costFixture) person(id principal.ID) {
	b.t.Helper()
	if _, err := b.service.People.Upkeep.ImportUser(b.t.Context(), principal.ImportUser{ID: string(id), DisplayName: id.Name(),
		Visibility: principal.Public}); err != nil {
		b.t.Fatal(err)
	}
}

// TestCost_ChangeMakesTwoDecisionsAndAMutationPerMember: a change makes two decisions, the change
// itself and its cleanup, and one mutation and no read for the library of each member, however
// many members there are.
func TestCost_ChangeMakesTwoDecisionsAndAMutationPerMember(t *testing.T) {
	t.Parallel()
	b := newCostFixture(t)
	b.person(costOwner)
	for n := range 3 {
		b.person(memberOf(500 + n))
	}
	v := func() *principal.Viewer { return &principal.Viewer{User: costOwner} }
	for _, members := range []int{0, 1, 70, 1_999} {
		id := library.ContentID(fmt.Sprintf("%s%d", costItem, members))
		b.storeItem(id, someTime, members)
		for round := range 3 {
			b.take()
			text := fmt.Sprintf("text %d", round)
			in, decision := library.UpdateContent{ID: string(id), Description: input.Some(&text)}, moveContent
			if round == 2 {
				in.Description, in.Title, decision = input.Optional[*string]{}, input.Some(&text), moveRenamed
			}
			o, err := b.service.Library.UpdateContent(t.Context(), v(), in)
			if err != nil || !o.FanOut.Complete || o.FanOut.Libraries != members+1 {
				t.Fatalf("an update: %+v, %v", o, err)
			}
			want := map[string]int{
				selectShownPrincipal: 1, // the actor
				selectContentRows:    3, // the item with the actor's row: to authorize, to start with the actor's library, to answer
				decision:             1,
				selectMembersPage:    1 + (members+1)/500,
				dropEntry:            members + 1, // one batch for each member, whose first statement is a deletion
				cleanUpPositions:     1,           // the cleanup, in one decision
			}
			if round == 0 { // the first change of a PUBLIC item by this process
				want[putFeedEntry] = 1
			}
			if round == 0 && members == 0 { // the first entry of the day in the feed of the tenant
				want[insertBucket], want[selectBuckets] = 1, 1
			}
			b.want(fmt.Sprintf("an update with %d members", members+1), want)
		}
		role := library.Viewing
		o, err := b.service.Library.ShareContent(t.Context(), v(), library.ShareContent{
			Content: string(id), Role: role, Principals: []string{string(memberOf(500)), string(memberOf(501)), string(memberOf(502))},
		})
		if err != nil || !o.FanOut.Complete {
			t.Fatalf("a share: %+v, %v", o, err)
		}
		sent := b.take()
		decisions := 0
		for stmt, n := range sent {
			if strings.Contains(stmt, " IF ") {
				decisions += n
			}
		}
		if decisions > 2 {
			t.Errorf("a share with three on an item with %d members costs %d decisions", members, decisions)
		}
	}
}

// still is a runtime whose monotonic clock stands still, so that nothing that is kept becomes too old.
type still struct{ *sched.Real }

func (still) Elapsed() time.Duration { return 0 }

// TestCost_PageOfPastesReadsOneSlicePerPartition: a page of pastes reads one slice of each
// partition of a day, and each row once. The next newest page within a second reads the rows only.
func TestCost_PageOfPastesReadsOneSlicePerPartition(t *testing.T) {
	rt := still{sched.NewReal()}
	t.Cleanup(rt.Close)
	b := newCostFixtureWith(t, options(t), rt)
	for n := range 30 { // with fixed ids, which determine their partitions
		created := someTime + clock.Instant(n)
		if _, err := b.pastes.Import(t.Context(), paste.Import{ID: fmt.Sprintf("p:%032x", n), Body: "x", CreatedAt: &created}); err != nil {
			t.Fatal(err)
		}
	}
	b.take() // the days are cached from here on
	var end *string
	for _, slices := range []int{4, 0} {
		page, err := b.pastes.Latest(t.Context(), domaintest.First(20))
		if err != nil || len(page.Edges) != 20 || !page.PageInfo.HasNextPage {
			t.Fatalf("%+v, %v", page, err)
		}
		b.want("the newest page", map[string]int{selectOlder: slices, selectPaste: 21})
		end = page.PageInfo.EndCursor()
	}
	next, err := b.pastes.Latest(t.Context(), domaintest.FirstAfter(5, end))
	if err != nil || len(next.Edges) != 5 {
		t.Fatalf("%+v, %v", next, err)
	}
	// The paste at the cursor shows that there is something newer.
	b.want("a page after a cursor", map[string]int{selectOlder: 4, selectPaste: 7})
}

// TestCost_PageReadsEachHeaderOnce: a page reads one slice and each header once. If it starts a
// walk towards newer entries, it reads the newest entry too.
func TestCost_PageReadsEachHeaderOnce(t *testing.T) {
	b := newCostFixture(t)
	b.person(costOwner)
	for n := range 30 {
		b.storeItem(library.ContentID(fmt.Sprintf("c:t:item%02d", n)), someTime+clock.Instant(n), 0)
	}
	first := 20
	for _, c := range []struct {
		name  string
		query library.LibraryQuery
		want  map[string]int
	}{
		{"the oldest first", library.LibraryQuery{}, map[string]int{pageOlder: 1, pageNewer: 1, selectShownRows: 21, selectShownPrincipal: 1}},
		{"the newest first", library.LibraryQuery{Descending: true}, map[string]int{pageOlder: 1, selectShownRows: 21, selectShownPrincipal: 1}},
		{"with what the viewer may do", library.LibraryQuery{Descending: true, WithPermissions: true},
			map[string]int{pageOlder: 1, selectShownRows: 21, selectShownPrincipal: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &principal.Viewer{User: costOwner}
			c.query.First = &first
			b.take()
			page, err := b.service.Listing.Library(t.Context(), v, costOwner, c.query)
			if err != nil || len(page.Edges) != first || !page.PageInfo.HasNextPage {
				t.Fatalf("%+v, %v", page, err)
			}
			creators := make([]principal.ID, first)
			for i, e := range page.Edges {
				creators[i] = e.Node.Creator
			}
			// Principals that this request has read are not read again.
			if _, err := b.service.People.Principals(t.Context(), v, creators); err != nil {
				t.Fatal(err)
			}
			b.want("the page", c.want)
			if !c.query.Descending {
				next := c.query
				next.After = page.PageInfo.EndCursor()
				if page, err = b.service.Listing.Library(t.Context(), v, costOwner, next); err != nil || len(page.Edges) != 10 {
					t.Fatalf("%+v, %v", page, err)
				}
				b.want("the next page", map[string]int{pageNewer: 1, selectShownRows: 10})
			}
		})
	}
}
