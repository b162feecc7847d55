package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// These tests check on a real node what the write protocol relies on. docs/adr says where each
// property was first measured.

const (
	ann principal.ID = "u:t:ann"
	bob principal.ID = "u:t:bob"
	day              = 24 * time.Hour
)

// creation returns the commit that creates an item with one manager.
func creation(id library.ContentID, at clock.Instant) *library.ContentCommit {
	link := "https://example.com/"
	h := library.Header{
		Content: library.Content{ID: id, Kind: library.Link, Title: "Title", Link: &link, Visibility: principal.Public, Creator: ann,
			CreatedAt: at, LastModified: at, Version: 1},
		State: commit.Live, Seq: 1, MTS: at, Position: at, Widest: principal.Public, MovesSince: at, Managers: 1, Members: 1,
	}
	return &library.ContentCommit{ID: id, Header: h, Writer: commit.EntryID{1},
		Members: []library.Member{{Principal: ann, Role: library.Manages, Seq: 1}}}
}

// moveOf returns the commit that moves the item of c.
func moveOf(c *library.ContentCommit) *library.ContentCommit {
	next := *c
	h := &next.Header
	next.Supersede = &library.Superseded{Position: h.Position, Widest: h.Widest}
	next.Base, next.Members, next.Request = h.Seq, nil, nil
	h.Seq++
	h.MTS += 1000
	h.Position, h.LastModified = h.MTS, h.MTS
	next.Writer = commit.EntryID{byte(h.Seq)}
	return &next
}

func mustCommit(t *testing.T, s *Store, c *library.ContentCommit) {
	t.Helper()
	v, err := s.Contents.Commit(t.Context(), c)
	if err != nil || !v.Applied {
		t.Fatalf("commit of seq %d: %+v, %v", c.Header.Seq, v, err)
	}
}

// scanOne runs a SELECT of one row.
func scanOne(t *testing.T, s *Store, stmt string, args []any, dest ...any) {
	t.Helper()
	if err := s.session.Driver().Query(stmt, args...).WithContext(t.Context()).Scan(dest...); err != nil {
		t.Fatalf("%s: %v", stmt, err)
	}
}

func TestStatements_Effects(t *testing.T) {
	o := options(t)
	counts := new(counter)
	o.Observe = counts.add
	s := open(t, o)
	for _, f := range []struct {
		name string
		run  func(t *testing.T, s *Store, counts *counter)
	}{
		{"a commit is one conditional batch of header, members, a row with a time to live, and a map element", checkCommit},
		{"a refused commit writes none of them", checkRefused},
		{"two conditions in one batch: either refuses the whole", checkTwoConditions},
		{"derived rows have the timestamp of their state", checkTimestamps},
		{"at the same timestamp a delete beats an insert, in either order", checkDeleteWins},
		{"a library and what is shared are one mutation of one partition", checkOneMutation},
		{"a move is atomic in all buckets of a library", checkAtomicMove},
		{"an update costs one mutation a member, no read, one decision and one cleanup", checkCost},
		{"a cleanup does not change seq, and skips rows that have changed", checkCleanUp},
		{"a serial read sees an unfinished decision", checkSerial},
	} {
		t.Run(f.name, func(t *testing.T) { f.run(t, s, counts) })
	}
}

// counter counts requests by operation.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(_ context.Context, o session.Observation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[o.Operation+" "+o.Outcome]++
}

// take returns the counts so far and resets them.
func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = nil
	return n
}

const someTime clock.Instant = 1767225600000000

func checkCommit(t *testing.T, s *Store, counts *counter) {
	c := creation("c:t:commit", someTime)
	mustCommit(t, s, c)
	next := moveOf(c)
	next.Members = []library.Member{{Principal: bob, Role: library.Viewing, Seq: 2}}
	next.Request = &commit.RequestRow{Key: commit.RequestKey{7}, Answer: []byte("answer"), Until: s.now().Add(day)}
	counts.take()
	mustCommit(t, s, next)
	if got := counts.take(); len(got) != 1 || got["commit applied"] != 1 {
		t.Errorf("requests of a commit: %v", got)
	}
	var header, member, request int64
	var ttl int
	scanOne(t, s, "SELECT writetime(seq) FROM content WHERE content_id = ? AND kind = 0", []any{"c:t:commit"}, &header)
	scanOne(t, s, "SELECT writetime(mseq) FROM content WHERE content_id = ? AND kind = 1 AND key = ?",
		[]any{"c:t:commit", string(bob)}, &member)
	scanOne(t, s, "SELECT writetime(answer), ttl(answer) FROM content WHERE content_id = ? AND kind = 2", []any{"c:t:commit"}, &request, &ttl)
	if header != member || header != request {
		t.Errorf("the rows of one batch were written at %d, %d and %d", header, member, request)
	}
	if ttl < 86000 || ttl > 86401 {
		t.Errorf("the answered request lives for %d s, not for a day", ttl)
	}
	var unsettled map[int64]int8
	scanOne(t, s, "SELECT unsettled FROM content WHERE content_id = ? AND kind = 0", []any{"c:t:commit"}, &unsettled)
	if len(unsettled) != 1 || unsettled[int64(someTime)] != int8(principal.Public) {
		t.Errorf("unsettled: %v", unsettled)
	}
}

func checkRefused(t *testing.T, s *Store, _ *counter) {
	c := creation("c:t:refused", someTime)
	mustCommit(t, s, c)
	late := moveOf(moveOf(c))
	late.Members = []library.Member{{Principal: bob, Role: library.Viewing, Seq: 3}}
	late.Request = &commit.RequestRow{Key: commit.RequestKey{7}, Until: s.now().Add(day)}
	v, err := s.Contents.Commit(t.Context(), late)
	if err != nil || v.Applied || v.Seq != 1 || len(v.Writers) != 1 || v.Writers[0] != (commit.Writer{Seq: 1, Entry: c.Writer}) {
		t.Fatalf("commit on base 2 of seq 1: %+v, %v", v, err)
	}
	var rows, seq int64
	scanOne(t, s, "SELECT count(*), max(seq) FROM content WHERE content_id = ?", []any{"c:t:refused"}, &rows, &seq)
	if rows != 2 || seq != 1 {
		t.Errorf("%d rows, seq %d", rows, seq)
	}
}

func checkTwoConditions(t *testing.T, s *Store, _ *counter) {
	c := creation("c:t:two", someTime)
	mustCommit(t, s, c)
	for _, try := range []struct {
		seq     int64
		member  principal.ID
		applies bool
	}{{9, bob, false}, {1, ann, false}, {1, bob, true}} {
		var ch session.Batch
		ch.Append("UPDATE content SET title = 'changed' WHERE content_id = ? AND kind = 0 AND key = '~' IF seq = ?", "c:t:two", try.seq)
		ch.Append("INSERT INTO content (content_id, kind, key, mseq) VALUES (?, 1, ?, 1) IF NOT EXISTS", "c:t:two", string(try.member))
		applied, err := s.session.Decide(t.Context(), "try", &ch)
		if err != nil || applied != try.applies {
			t.Errorf("seq %d and a new row of %s: applied %v, %v", try.seq, try.member, applied, err)
		}
	}
}

func applyIndex(t *testing.T, s *Store, c *library.ContentCommit, rows ...library.Member) {
	t.Helper()
	if err := s.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &c.Header, Rows: rows, All: true}); err != nil {
		t.Fatal(err)
	}
}

func checkTimestamps(t *testing.T, s *Store, _ *counter) {
	const p principal.ID = "u:t:stamps"
	c := creation("c:t:stamps", someTime)
	applyIndex(t, s, c, library.Member{Principal: p, Role: library.Viewing, Seq: 1})
	iter := s.session.Driver().Query("SELECT bucket, writetime(role) FROM library_by_principal WHERE principal_id = ?", string(p)).Iter()
	var bucket int8
	var at int64
	n := 0
	for iter.Scan(&bucket, &at) {
		n++
		if at != int64(c.Header.MTS) {
			t.Errorf("the entry of bucket %d was written at %d, want %d", bucket, at, c.Header.MTS)
		}
	}
	if err := iter.Close(); err != nil || n != 3 {
		t.Errorf("%d entries, %v", n, err)
	}
	scanOne(t, s, "SELECT writetime(role) FROM content_by_principal WHERE principal_id = ?", []any{string(p)}, &at)
	if at != int64(c.Header.MTS) {
		t.Errorf("content_by_principal was written at %d, want %d", at, c.Header.MTS)
	}
}

func checkDeleteWins(t *testing.T, s *Store, _ *counter) {
	for n, order := range [][]bool{{true, false}, {false, true}} {
		p := fmt.Sprintf("u:t:ties%d", n)
		for _, insert := range order {
			var ch session.Batch
			if insert {
				ch.Append(putShared, p, "c:t:x", int8(1), int64(5000))
			} else {
				ch.Append(dropShared, int64(5000), p, "c:t:x")
			}
			if err := s.session.WriteBatch(t.Context(), "try", &ch); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := s.Libraries.SharedWith(t.Context(), principal.ID(p), "", 10); err != nil || len(left) != 0 {
			t.Errorf("insert first %v: %v is stored, %v", order[0], left, err)
		}
	}
}

// checkOneMutation traces an index update on the node and counts what it appends to its commit log.
func checkOneMutation(t *testing.T, s *Store, _ *counter) {
	trace := new(traced)
	c := creation("c:t:mutation", someTime)
	var ch session.Batch
	ch.Append(putEntry, "u:t:m", int8(1), int64(1), "c:t:mutation", int64(c.Header.MTS), int8(1), int64(c.Header.MTS))
	ch.Append(putEntry, "u:t:m", int8(2), int64(1), "c:t:mutation", int64(c.Header.MTS), int8(1), int64(c.Header.MTS))
	ch.Append(putShared, "u:t:m", "c:t:mutation", int8(1), int64(c.Header.MTS))
	b := s.session.Driver().NewBatch(gocql.UnloggedBatch).WithContext(t.Context()).Trace(trace)
	b.Entries = ch.Entries
	if err := s.session.Driver().ExecuteBatch(b); err != nil {
		t.Fatal(err)
	}
	appended := func() int {
		n := 0
		var activity string
		iter := s.session.Driver().Query("SELECT activity FROM system_traces.events WHERE session_id = ?", trace.id).Consistency(gocql.One).Iter()
		for iter.Scan(&activity) {
			if strings.HasPrefix(activity, "Appending to commitlog") {
				n++
			}
		}
		if err := iter.Close(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// The trace is written after the answer, to a keyspace with two replicas.
	var finished int
	await(t, func() bool {
		err := s.session.Driver().Query("SELECT duration FROM system_traces.sessions WHERE session_id = ?",
			trace.id).Consistency(gocql.One).Scan(&finished)
		return err == nil && finished > 0 && appended() > 0
	})
	if n := appended(); n != 1 {
		t.Errorf("%d mutations were appended to the commit log", n)
	}
}

type traced struct{ id []byte }

func (tr *traced) Trace(id []byte) { tr.id = slices.Clone(id) }

// await waits until a condition is true.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatal("waited too long")
		case <-ticks.C:
		}
	}
}

// checkAtomicMove reads a library while an item moves in it. Every read shows the item once in each
// bucket, at one position.
func checkAtomicMove(t *testing.T, s *Store, _ *counter) {
	m := library.Member{Principal: "u:t:reader", Role: library.Viewing, Seq: 1}
	c := creation("c:t:moving", someTime)
	applyIndex(t, s, c, m)
	done := make(chan error, 1)
	ctx := t.Context()
	go func() {
		var err error
		for range 200 {
			c = moveOf(c)
			c.Header.Unsettled = []library.Superseded{*c.Supersede}
			if err = s.Contents.ApplyIndex(ctx, &library.IndexUpdate{Header: &c.Header, Rows: []library.Member{m}}); err != nil {
				break
			}
		}
		done <- err
	}()
	for readings := 0; ; readings++ {
		select {
		case err := <-done:
			if err != nil || readings < 5 {
				t.Errorf("%d readings, %v", readings, err)
			}
			return
		default:
		}
		var positions []int64
		var at int64
		iter := s.session.Driver().Query("SELECT position FROM library_by_principal WHERE principal_id = ?", string(m.Principal)).Iter()
		for iter.Scan(&at) {
			positions = append(positions, at)
		}
		if err := iter.Close(); err != nil {
			t.Fatal(err)
		}
		if len(positions) != 3 || positions[0] != positions[1] || positions[1] != positions[2] {
			t.Fatalf("read %d shows the positions %v", readings, positions)
		}
	}
}

func checkCost(t *testing.T, s *Store, counts *counter) {
	c := creation("c:t:cost", someTime)
	mustCommit(t, s, c)
	next := moveOf(c)
	var rows []library.Member
	for n := range 20 {
		rows = append(rows, library.Member{Principal: principal.ID(fmt.Sprintf("u:t:m%d", n)), Role: library.Viewing, Seq: 1})
	}
	counts.take()
	mustCommit(t, s, next)
	applyIndex(t, s, next, rows...)
	if err := s.Contents.CleanUp(t.Context(), &library.Cleanup{ID: next.ID, Positions: []clock.Instant{next.Supersede.Position}}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"commit applied": 1, "update index ok": 20, "clean up applied": 1}
	if got := counts.take(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("requests of an update of an item with 20 members: %v, want %v", got, want)
	}
}

func checkCleanUp(t *testing.T, s *Store, counts *counter) {
	c := creation("c:t:cleanup", someTime)
	mustCommit(t, s, c)
	next := moveOf(c)
	next.Members = []library.Member{{Principal: ann, Role: library.Manages, Leaving: true, Seq: 2},
		{Principal: bob, Role: library.Viewing, Seq: 2}}
	mustCommit(t, s, next)
	counts.take()
	changed := library.Member{Principal: bob, Leaving: true, Seq: 1}
	cleanup := &library.Cleanup{ID: next.ID, Positions: []clock.Instant{someTime}, Leaving: []library.Member{next.Members[0], changed}}
	if err := s.Contents.CleanUp(t.Context(), cleanup); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"clean up refused": 1, "clean up ok": 1, "clean up applied": 1}
	if got := counts.take(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("requests of a cleanup with one changed row: %v, want %v", got, want)
	}
	rows, err := s.Contents.Read(t.Context(), next.ID, library.ContentQuery{Members: []principal.ID{ann, bob}, Serial: true})
	if err != nil {
		t.Fatal(err)
	}
	if rows.Header.Seq != 2 || len(rows.Header.Unsettled) != 0 || rows.Members[0].Seq != 0 || rows.Members[1].Seq != 2 {
		t.Errorf("after it: %+v", rows)
	}
}

func checkSerial(t *testing.T, s *Store, _ *counter) {
	c := creation("c:t:serial", someTime)
	mustCommit(t, s, c)
	for range 5 {
		c = moveOf(c)
		mustCommit(t, s, c)
		rows, err := s.Contents.Read(t.Context(), c.ID, library.ContentQuery{Serial: true})
		if err != nil || rows.Header.Seq != c.Header.Seq {
			t.Fatalf("seq %d after a commit of %d, %v", rows.Header.Seq, c.Header.Seq, err)
		}
	}
}
