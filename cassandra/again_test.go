package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/principal"
)

// secondTries is a store on a node that can be held, and that takes second tries
// too, as if it were two nodes.
type secondTries struct {
	*Store
	t     *testing.T
	slow  *slowNode
	tries chan string // what a second try was made of
	asked chan struct{}
	// begun and ended count second tries.
	begun, ended atomic.Int64
}

func newSecondTries(t *testing.T) *secondTries {
	o := options(t)
	s := &secondTries{t: t, slow: newSlowNode(t, o.Hosts[0]), tries: make(chan string, 1000), asked: make(chan struct{}, 1000)}
	o.Hosts = []string{s.slow.address}
	// What is never tried again ends by this, and nothing else does.
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
		s.begun.Add(1)
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

// begin has the node held. From then on asked gets each look for a node for a second
// try.
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

// over waits until no second try is under way.
func (s *secondTries) over() {
	s.t.Helper()
	until(s.t, "the end of all second tries", func() bool { return s.begun.Load() == s.ended.Load() })
}

// held makes a call while the node is held, and gives what a second try was made
// of; "" where there was none until the call has ended.
func (s *secondTries) held(call func(context.Context) error) (again string) {
	s.t.Helper()
	// Its statements are prepared, which waits for the node too.
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
		s.t.Logf("it ended with %v", err)
		return ""
	}
	s.slow.release()
	if err := <-ended; err != nil {
		s.t.Error(err)
	}
	// The second try may end after the call.
	return <-s.tries
}

// until waits for something that other goroutines do.
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

// What may be repeated, and may come late, is sent once more where a node takes
// long, each page of a reading included.
func TestWhatIsTriedAgain(t *testing.T) {
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
			_, err := s.CountLibrary(ctx, "u:t:ann", principal.Private, 10)
			return err
		}},
		{"in-flight lists", "read in-flight lists", func(ctx context.Context) error { _, err := s.InFlightLists(ctx); return err }},
		{"rows of an archive", "read settings", func(ctx context.Context) error {
			_, _, err := s.ReadRows(ctx, archive.ChapterSettings, nil, 10)
			return err
		}},
		{"a membership", "enforce a group", func(ctx context.Context) error {
			group.MTS = clock.Instant(next())
			return s.ApplyGroupIndex(ctx, &principal.GroupIndexUpdate{Header: &group, Rows: []principal.GroupMemberRow{{Principal: "u:t:ann", Role: principal.GroupMember, Seq: 1}}})
		}},
		{"names", "enforce the directory", func(ctx context.Context) error {
			person.MTS = clock.Instant(next())
			return s.ApplyDirectory(ctx, &principal.DirectoryUpdate{Header: &person})
		}},
		{"a name that is dropped", "drop a row of the directory", func(ctx context.Context) error {
			return s.DropDirectory(ctx, []principal.DirectoryRow{{DirectoryKey: principal.DirectoryKey{Name: "bob"}, Principal: "u:t:bob", MTS: 1}})
		}},
		{"a due", "write a due", func(ctx context.Context) error {
			return s.PutDue(ctx, commit.Due{At: someTime, Kind: commit.Content, Key: "c:t:due", MTS: clock.Instant(next())})
		}},
		{"a due that is dropped", "drop a due", func(ctx context.Context) error {
			return s.DropDue(ctx, commit.Due{At: someTime, Kind: commit.Content, Key: "c:t:due", MTS: clock.Instant(next())})
		}},
		{"an in-flight list that is dropped", "drop an in-flight list", func(ctx context.Context) error { return s.DeleteInFlightList(ctx, "lane", next()) }},
		{"an announcement", "announce", func(ctx context.Context) error {
			return s.Announce(ctx, library.Announcement{Process: "process", Stamp: next()})
		}},
		{"a mark", "mark a process", func(ctx context.Context) error { return s.renew(ctx, &mark{host: "host"}) }},
		{"a day that is forgotten", "forget a day", func(ctx context.Context) error {
			return s.session.WriteStamped(ctx, "forget a day", forgetDay, next(), dayOf(someTime))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if again := s.held(c.call); again != c.again {
				t.Errorf("a second try was made of %q, want %q", again, c.again)
			}
		})
	}
}

// What must not come late is sent once, however long the node takes.
func TestWhatIsNotTriedAgain(t *testing.T) {
	s := newSecondTries(t)
	n := 0
	calls := map[string]func(context.Context) error{
		"a day that is noted": func(ctx context.Context) error { return s.session.Write(ctx, "note a day", noteDay, dayOf(someTime)) },
		"a decision": func(ctx context.Context) error {
			n++
			_, err := s.Commit(ctx, creation(library.ContentID(fmt.Sprintf("c:t:once%d", n)), someTime))
			return err
		},
		"a serial reading": func(ctx context.Context) error {
			_, err := s.Read(ctx, "c:t:once", library.ContentQuery{Serial: true})
			return err
		},
	}
	count := func(ctx context.Context) error {
		_, err := s.CountLibrary(ctx, "u:t:ann", principal.Private, 10)
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
			until(t, "a statement under way", func() bool { under, _ := s.Load(); return under > 0 })
			// A reading that begins later is tried again.
			go func() { ended <- count(t.Context()) }()
			<-s.asked
			s.slow.release()
			if err := errors.Join(<-ended, <-ended); err != nil {
				t.Error(err)
			}
			s.over()
			for len(s.tries) > 0 {
				if again := <-s.tries; again != "count a library" {
					t.Errorf("a second try was made of %q", again)
				}
			}
		})
	}
}

// Each page of a reading is a statement: it is observed, and has a place of its
// own, so that many long readings do not exceed the bound together.
func TestEachPageIsAStatement(t *testing.T) {
	const rows, readers = countPage + 1, 8
	o := options(t)
	counts := new(counter)
	// All readers need the only place for each page.
	o.Observe, o.MaxInFlight, o.MaxWaiting, o.Patience, o.HedgeAfter = counts.add, 1, readers, time.Minute, time.Hour
	s := open(t, o)
	var ch session.Batch
	for n := range rows {
		ch.Append(putEntry, "u:t:long", int8(principal.Private), int64(n), fmt.Sprintf("c:t:%05d", n), int64(someTime), int8(0), int64(someTime))
		if len(ch.Entries) == dropsAtOnce || n == rows-1 {
			if err := s.session.WriteBatch(t.Context(), "shelve", &ch); err != nil {
				t.Fatal(err)
			}
			ch = session.Batch{}
		}
	}
	for _, c := range []struct{ limit, want, pages int }{
		{1, 1, 1}, {countPage - 1, countPage - 1, 1}, {rows, rows, 2}, {rows + 1, rows, 2},
	} {
		counts.take()
		n, err := s.CountLibrary(t.Context(), "u:t:long", principal.Private, c.limit)
		if err != nil || n != c.want {
			t.Fatalf("counted to %d: %d, %v", c.limit, n, err)
		}
		if pages := counts.take()["count a library ok"]; pages != c.pages {
			t.Errorf("a count to %d has %d statements, want %d", c.limit, pages, c.pages)
		}
	}
	// Whoever wants no more rows asks for no more pages.
	r := session.Query{Operation: "count a library", Stmt: countEntries, Args: []any{"u:t:long", int8(principal.Private), rows}, PageSize: 10}
	left := 15
	var role int8
	err := s.session.Read(t.Context(), r, func(iter *gocql.Iter) bool {
		left--
		return iter.Scan(&role) && left > 0
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages := counts.take()["count a library ok"]; pages != 2 {
		t.Errorf("15 rows by 10 took %d statements", pages)
	}
	err = session.ForEach(t.Context(), readers, readers, func(ctx context.Context, _ int) error {
		n, err := s.CountLibrary(ctx, "u:t:long", principal.Private, rows)
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
