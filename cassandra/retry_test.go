package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/principal"
)

// secondTries is a store on a node whose answers can be held back. Second attempts go to the same
// node, as if it were two nodes.
type secondTries struct {
	*Store
	t     *testing.T
	slow  *slowNode
	tries chan string   // the operation of each second attempt
	asked chan struct{} // a value for each search for another node
	// started and ended count second attempts.
	started, ended atomic.Int64
}

func newSecondTries(t *testing.T) *secondTries {
	o := options(t)
	s := &secondTries{t: t, slow: newSlowNode(t, o.Hosts[0]), tries: make(chan string, 1000), asked: make(chan struct{}, 1000)}
	o.Hosts = []string{s.slow.address}
	// A statement without a second attempt ends by this timeout, and nothing else does.
	o.HedgeAfter, o.Timeout = time.Millisecond, 6*time.Second
	o.Observe = func(_ context.Context, seen session.Observation) {
		if seen.Hedged {
			s.tries <- seen.Operation
			s.ended.Add(1)
		}
	}
	cfg, err := o.Configure(o.Keyspace)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Another = func(string) bool {
		s.started.Add(1)
		s.asked <- struct{}{}
		return true
	}
	connected, err := cfg.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connected.Close)
	s.Store = newStore(connected)
	return s
}

// begin makes the node hold its answers. From then on every search for a node for a second attempt
// is counted.
func (s *secondTries) begin() {
	s.t.Helper()
	s.over()
	for len(s.tries) > 0 {
		<-s.tries
	}
	for len(s.asked) > 0 {
		<-s.asked
	}
	s.slow.hold()
}

// over waits until no second attempt is running.
func (s *secondTries) over() {
	s.t.Helper()
	until(s.t, "the end of all second attempts", func() bool { return s.started.Load() == s.ended.Load() })
}

// held makes a call while the node holds its answers. It returns the operation of the second
// attempt, or "" if the call ended without one.
func (s *secondTries) held(call func(context.Context) error) (again string) {
	s.t.Helper()
	// The call prepares its statements, which needs the node too.
	if err := call(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.begin()
	defer s.slow.release()
	ended := make(chan error, 1)
	go func() { ended <- call(s.t.Context()) }()
	select {
	case <-s.asked:
	case err := <-ended:
		s.t.Logf("the call ended with %v", err)
		return ""
	}
	s.slow.release()
	if err := <-ended; err != nil {
		s.t.Error(err)
	}
	// The second attempt may end after the call.
	return <-s.tries
}

// until waits for a condition that other goroutines make true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ticks.C:
		case <-limit.C:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestHedging_RepeatableStatementsAreSentTwice: statements that may be executed twice and late are
// sent once more if the node is slow, and so is each page of a read.
func TestHedging_RepeatableStatementsAreSentTwice(t *testing.T) {
	s := newSecondTries(t)
	stamp := int64(someTime)
	next := func() int64 { stamp++; return stamp }
	group := principal.Header{ID: "g:t:g", State: commit.Live}
	person := principal.Header{ID: "u:t:ann", DisplayName: "Ann", Visibility: principal.Public, State: commit.Live}
	for _, c := range []struct {
		name, again string
		call        func(context.Context) error
	}{
		{"a count", "count a library", func(ctx context.Context) error {
			_, err := s.Libraries.CountLibrary(ctx, "u:t:ann", principal.Private, 10)
			return err
		}},
		{"in-flight lists", "read in-flight lists", func(ctx context.Context) error { _, err := s.Journal.InFlightLists(ctx); return err }},
		{"rows of an archive", "read settings", func(ctx context.Context) error {
			_, _, err := s.ReadRows(ctx, archive.ChapterSettings, nil, 10)
			return err
		}},
		{"a membership", "update memberships", func(ctx context.Context) error {
			group.MTS = clock.Instant(next())
			return s.Principals.ApplyGroupIndex(ctx, &principal.GroupIndexUpdate{Header: &group,
				Rows: []principal.GroupMemberRow{{Principal: "u:t:ann", Role: principal.GroupMember, Seq: 1}}})
		}},
		{"names", "update the directory", func(ctx context.Context) error {
			person.MTS = clock.Instant(next())
			return s.Directory.ApplyDirectory(ctx, &principal.DirectoryUpdate{Header: &person})
		}},
		{"the deletion of a name", "drop a row of the directory", func(ctx context.Context) error {
			return s.Directory.DropDirectory(ctx, []principal.DirectoryRow{{DirectoryKey: principal.DirectoryKey{Name: "bob"},
				Principal: "u:t:bob", MTS: 1}})
		}},
		{"a reminder", "write a reminder", func(ctx context.Context) error {
			return s.Journal.PutReminder(ctx, commit.Reminder{At: someTime, Kind: commit.Content, Key: "c:t:due", MTS: clock.Instant(next())})
		}},
		{"the removal of a reminder", "remove a reminder", func(ctx context.Context) error {
			return s.Journal.DropReminder(ctx, commit.Reminder{At: someTime, Kind: commit.Content, Key: "c:t:due", MTS: clock.Instant(next())})
		}},
		{"the deletion of an in-flight list", "drop an in-flight list",
			func(ctx context.Context) error { return s.Journal.DeleteInFlightList(ctx, "list", next()) }},
		{"an announcement", "announce", func(ctx context.Context) error {
			return s.Announce(ctx, library.Announcement{Process: "process", Stamp: next()})
		}},
		{"a mark", "mark a process", func(ctx context.Context) error { return s.renew(ctx, &mark{host: "host"}) }},
		{"the deletion of an hour", "forget an hour", func(ctx context.Context) error {
			return s.session.WriteStamped(ctx, "forget an hour", forgetHour, next(), hourOf(someTime))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if again := s.held(c.call); again != c.again {
				t.Errorf("the second attempt was of %q, want %q", again, c.again)
			}
		})
	}
}

// TestHedging_OthersAreSentOnce: statements that must not be executed late are sent once, however
// slow the node is.
func TestHedging_OthersAreSentOnce(t *testing.T) {
	s := newSecondTries(t)
	n := 0
	calls := map[string]func(context.Context) error{
		"the note of an hour": func(ctx context.Context) error {
			return s.session.Write(ctx, "note an hour", noteHour, hourOf(someTime))
		},
		"a decision": func(ctx context.Context) error {
			n++
			_, err := s.Contents.Commit(ctx, creation(library.ContentID(fmt.Sprintf("c:t:once%d", n)), someTime))
			return err
		},
		"a serial read": func(ctx context.Context) error {
			_, err := s.Contents.Read(ctx, "c:t:once", library.ContentQuery{Serial: true})
			return err
		},
	}
	count := func(ctx context.Context) error {
		_, err := s.Libraries.CountLibrary(ctx, "u:t:ann", principal.Private, 10)
		return err
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(count(t.Context()), call(t.Context())); err != nil {
				t.Fatal(err)
			}
			s.begin()
			defer s.slow.release()
			ended := make(chan error, 2)
			go func() { ended <- call(t.Context()) }()
			until(t, "a statement in flight", func() bool { inFlight, _ := s.Load(); return inFlight > 0 })
			// A read that starts later is hedged.
			go func() { ended <- count(t.Context()) }()
			<-s.asked
			s.slow.release()
			if err := errors.Join(<-ended, <-ended); err != nil {
				t.Error(err)
			}
			s.over()
			for len(s.tries) > 0 {
				if again := <-s.tries; again != "count a library" {
					t.Errorf("the second attempt was of %q", again)
				}
			}
		})
	}
}

// TestRead_EachPageIsAStatement: each page of a read is a statement of its own. It is observed and
// passes the gate, so that many long reads together do not exceed the limit.
func TestRead_EachPageIsAStatement(t *testing.T) {
	const rows, readers = countPage + 1, 8
	o := options(t)
	counts := new(counter)
	// The gate has one slot, for which all readers compete with each page.
	o.Observe, o.MaxInFlight, o.MaxWaiting, o.Patience, o.HedgeAfter = counts.add, 1, readers, time.Minute, time.Hour
	s := open(t, o)
	var ch session.Batch
	for n := range rows {
		ch.Append(putEntry, "u:t:long", int8(principal.Private), int64(n), fmt.Sprintf("c:t:%05d", n), int64(someTime), int8(0), int64(someTime))
		if len(ch.Entries) == dropsAtOnce || n == rows-1 {
			if err := s.session.WriteBatch(t.Context(), "put entries", &ch); err != nil {
				t.Fatal(err)
			}
			ch = session.Batch{}
		}
	}
	for _, c := range []struct{ limit, want, pages int }{
		{1, 1, 1}, {countPage - 1, countPage - 1, 1}, {rows, rows, 2}, {rows + 1, rows, 2},
	} {
		counts.take()
		n, err := s.Libraries.CountLibrary(t.Context(), "u:t:long", principal.Private, c.limit)
		if err != nil || n != c.want {
			t.Fatalf("counted to %d: %d, %v", c.limit, n, err)
		}
		if pages := counts.take()["count a library ok"]; pages != c.pages {
			t.Errorf("a count to %d has %d statements, want %d", c.limit, pages, c.pages)
		}
	}
	// A reader that needs no more rows fetches no more pages.
	r := session.Query{Operation: "count a library", Stmt: countEntries, Args: []any{"u:t:long", int8(principal.Private), rows}, PageSize: 10}
	left := 15
	var role int8
	err := s.session.Read(t.Context(), r, []any{&role}, func() error {
		if left--; left == 0 {
			return session.ErrEnough
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages := counts.take()["count a library ok"]; pages != 2 {
		t.Errorf("15 rows in pages of 10 took %d statements", pages)
	}
	err = session.ForEach(t.Context(), readers, readers, func(ctx context.Context, _ int) error {
		n, err := s.Libraries.CountLibrary(ctx, "u:t:long", principal.Private, rows)
		if err == nil && n != rows {
			err = fmt.Errorf("counted %d", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range counts.take() {
		if !strings.HasSuffix(what, " ok") || n != 2*readers {
			t.Errorf("%d times %s", n, what)
		}
	}
}
