package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"carrel/core/commit"
	"carrel/library"
)

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// TestCopy_AndAGatewayExcludeEachOther: a store that a gateway serves cannot be the source or
// target of a copy, and a store that is being copied cannot be served.
func TestCopy_AndAGatewayExcludeEachOther(t *testing.T) {
	from, export := holding(t, 30)
	there := keyspace(t)
	must(t, "copy", "--from", from, "--to", there)

	g := serve(t, there, "host-1")
	back, elsewhere := embedded(t), keyspace(t)
	for name, args := range map[string][]string{
		"the source": {"copy", "--from", there, "--to", back},
		"the target": {"copy", "--from", from, "--to", there},
	} {
		code, _, errs := run(t, args...)
		if want := name + " is in use by carrel serve on host-1: end it"; code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s is served: exit %d: %s", name, code, errs)
		}
	}
	// Read-only commands may run while it is served.
	wantExport(t, there, export)
	g.end()

	// A gateway that was stopped cleanly releases the store at once.
	must(t, "copy", "--from", there, "--to", back)
	wantExport(t, back, export)

	store := opened(t, there)
	if _, err := store.Register(t.Context(), "host-2", "carrel copy", nil); err != nil {
		t.Fatal(err)
	}
	code, _, errs := run(t, "audit", "--store", there)
	if code != 1 || !strings.Contains(errs, "the store is in use by carrel copy on host-2") {
		t.Errorf("an audit of a store that is being copied: exit %d: %s", code, errs)
	}
	// A second copy of the same store is refused too.
	if code, _, errs := run(t, "copy", "--from", there, "--to", elsewhere); code != 1 ||
		!strings.Contains(errs, "the source is in use by carrel copy on host-2") {
		t.Errorf("a copy of a store that is being copied: exit %d: %s", code, errs)
	}
}

// driver opens a session of the driver on a keyspace, for statements that no command makes.
func driver(t *testing.T, store string) *gocql.Session {
	t.Helper()
	hosts, name, _ := strings.Cut(strings.TrimPrefix(store, "cassandra://"), "/")
	cfg := gocql.NewCluster(strings.Split(hosts, ",")...)
	cfg.ProtoVersion, cfg.Keyspace = 4, name
	cfg.Timeout, cfg.ConnectTimeout = answerWithin, answerWithin
	s, err := cfg.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestReadiness_NeedsTheSchemaOfThisProgram(t *testing.T) {
	store := keyspace(t)
	g := serve(t, store, "host-1")
	driver := driver(t, store)
	version := func(checksum string) {
		t.Helper()
		if err := driver.Query(`UPDATE schema_version SET checksum = ? WHERE part = 0 AND version = 1`,
			checksum).WithContext(t.Context()).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	var checksum string
	query := driver.Query(`SELECT checksum FROM schema_version WHERE part = 0 AND version = 1`)
	if err := query.WithContext(t.Context()).Scan(&checksum); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		before func()
		status int
		text   string
	}{
		{func() {}, 200, "ready\n"},
		{func() { version("another") }, 503, "not ready: the schema of the store is not the one of this program\n"},
		{func() { version(checksum) }, 200, "ready\n"},
	} {
		step.before()
		g.awaitReadyz(step.status, step.text)
	}
	g.end()
}

// awaitReadyz waits for a result of /readyz, because the previous one is cached for a moment.
func (g *gateway) awaitReadyz(status int, text string) {
	g.t.Helper()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for limit := time.Now().Add(answerWithin); ; <-ticks.C {
		gotStatus, gotText := g.get("/readyz")
		if gotStatus == status && gotText == text {
			return
		}
		if time.Now().After(limit) {
			g.t.Fatalf("readyz: %d %q, want %d %q", gotStatus, gotText, status, text)
		}
	}
}

// renamed is a user whose change lingers on the list of a process that died.
const renamed = "u:demo:ann"

// inFlightListOf returns the list of a process that died before it could change an item, and after
// it had changed a user.
func inFlightListOf(t *testing.T, id library.ContentID) commit.InFlightList {
	t.Helper()
	block, err := commit.Encode([]commit.Entry{
		commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: string(id), Base: 1, Reach: commit.Reach{Scope: commit.ScopeAll}},
		{Kind: commit.Principal, Key: renamed, Decided: true, Ended: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return commit.InFlightList{ID: "a-process-that-died", Stamp: time.Now().UnixMicro(), Block: block}
}

// wantLingering checks that one list is in a store, of another process than the one that died, and
// that it has the ended change of renamed only.
func wantLingering(t *testing.T, store commit.JournalStore) {
	t.Helper()
	lists, err := commit.OpenLists(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	lists = slices.DeleteFunc(lists, func(l commit.OpenList) bool { return len(l.Entries) == 0 })
	if len(lists) != 1 || lists[0].ID == "a-process-that-died" || len(lists[0].Entries) != 1 || !lists[0].Entries[0].Ended ||
		lists[0].Entries[0].Key != renamed {
		t.Errorf("the lists are %+v", lists)
	}
}

// TestAudit_FinishesChangesOfAKilledGateway: the next process that uses the store alone, such as an
// audit, finishes the in-flight changes of a killed gateway, so that the store can be copied.
func TestAudit_FinishesChangesOfAKilledGateway(t *testing.T) {
	t.Parallel() // mainly with the other test that waits for a mark to expire
	from, _ := holding(t, 30)
	there := keyspace(t)
	must(t, "copy", "--from", from, "--to", there)
	g := serve(t, there, "host-1")
	g.kill()
	store := opened(t, there)
	if err := store.Journal.PutInFlightList(t.Context(), inFlightListOf(t, "c:demo:n000001")); err != nil {
		t.Fatal(err)
	}
	awaitNobody(t, store)
	if code, _, errs := run(t, "copy", "--from", there, "--to", embedded(t)); code != 1 ||
		!strings.Contains(errs, "run carrel audit to finish the changes") {
		t.Errorf("a copy with changes in flight: exit %d: %s", code, errs)
	}
	wantAudit(t, there, 30)
	wantLingering(t, store.Journal)
	must(t, "copy", "--from", there, "--to", embedded(t))
}
