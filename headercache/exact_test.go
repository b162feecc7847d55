package headercache_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/principal"
)

const ann, item = principal.ID("u:acme:ann"), library.ContentID("c:acme:a/1")

// counted is a store that counts the reads of headers, and runs hooks within them and within commits.
type counted struct {
	library.ContentStore
	principal.Store
	reads                              atomic.Int64
	afterRead, beforeWrite, afterWrite func()
}

func run(hook func()) {
	if hook != nil {
		hook()
	}
}

func (c *counted) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	c.reads.Add(1)
	rows, err := c.ContentStore.ReadMany(ctx, ids, members)
	run(c.afterRead)
	return rows, err
}

func (c *counted) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	c.reads.Add(1)
	headers, err := c.Store.ReadPrincipals(ctx, ids)
	run(c.afterRead)
	return headers, err
}

func (c *counted) Commit(ctx context.Context, cc *library.ContentCommit) (commit.Verdict, error) {
	run(c.beforeWrite)
	v, err := c.ContentStore.Commit(ctx, cc)
	run(c.afterWrite)
	return v, err
}

// exact is an Exact with an item of ann's.
type exact struct {
	*testing.T
	*headercache.Exact
	store *counted
}

func newExact(t *testing.T, bytes int) *exact {
	t.Helper()
	r := domaintest.NewRows(t)
	r.Principals(ann)
	r.Item(item, 1, principal.Public, domaintest.ContentMember(ann, library.Manages))
	x := &exact{T: t, store: &counted{ContentStore: r.Store.Contents, Store: r.Store.Principals}}
	x.Exact = headercache.NewExact(x.store, x.store, bytes)
	return x
}

// title returns the title of the item as it is read.
func (x *exact) title() string {
	x.Helper()
	rows, err := x.ReadMany(x.Context(), []library.ContentID{item, "c:acme:a/none"}, []principal.ID{ann})
	if err != nil || len(rows) != 2 || !rows[0].Members[0].Active() || rows[1].Header.Seq != 0 {
		x.Fatalf("%+v, %v", rows, err)
	}
	return rows[0].Header.Title
}

// retitle changes the title of the item.
func (x *exact) retitle(title string) {
	x.Helper()
	rows, err := x.Read(x.Context(), item, library.ContentQuery{Serial: true})
	if err != nil {
		x.Fatal(err)
	}
	h := rows.Header
	h.Seq, h.MTS, h.Title = h.Seq+1, h.MTS+1, title
	if v, err := x.Commit(x.Context(), &library.ContentCommit{ID: item, Base: h.Seq - 1, Header: h}); err != nil || !v.Applied {
		x.Fatalf("%+v, %v", v, err)
	}
}

// wantReads checks how many reads have reached the store since the last call.
func (x *exact) wantReads(what string, n int64) {
	x.Helper()
	if got := x.store.reads.Swap(0); got != n {
		x.Errorf("%s reads the store %d times, want %d", what, got, n)
	}
}

func (x *exact) want(what, title string) {
	x.Helper()
	if got := x.title(); got != title {
		x.Errorf("%s the title is %q, want %q", what, got, title)
	}
}

func TestExact_ServesUntilAChange(t *testing.T) {
	x := newExact(t, 1<<20)
	first := x.title()
	x.wantReads("the first read", 1)
	found, err := x.ReadMany(t.Context(), []library.ContentID{item}, []principal.ID{ann})
	if err != nil || found[0].Header.Title != first {
		t.Errorf("%+v, %v", found, err)
	}
	x.wantReads("the second one", 0)
	if _, err := x.ReadMany(t.Context(), []library.ContentID{item}, nil); err != nil {
		t.Fatal(err)
	}
	x.wantReads("one with other members", 1)
	for _, third := range []principal.ID{"u:acme:cat", "u:acme:dan"} { // more than a key has
		found, err = x.ReadMany(t.Context(), []library.ContentID{item}, []principal.ID{ann, "u:acme:bob", third})
		if err != nil || found[0].Members[2].Principal != third {
			t.Errorf("%+v, %v; want the row of %s", found, err, third)
		}
	}
	x.wantReads("two with three members", 2)
	x.retitle("new")
	x.want("after a change", "new")
	x.wantReads("a read after a change", 1)
	member := library.Member{Principal: ann, Role: library.Manages, Leaving: true}
	rows, _ := x.Read(t.Context(), item, library.ContentQuery{})
	h := rows.Header
	h.Seq, h.MTS = h.Seq+1, h.MTS+1
	member.Seq = h.Seq
	if v, err := x.Commit(t.Context(), &library.ContentCommit{ID: item, Base: h.Seq - 1, Header: h,
		Members: []library.Member{member}}); err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, left := range []int64{h.Seq, 0} { // its row is leaving, and then removed
		found, err = x.ReadMany(t.Context(), []library.ContentID{item}, []principal.ID{ann})
		if err != nil || found[0].Members[0].Seq != left || found[0].Members[0].Active() {
			t.Errorf("after ann has left: %+v, %v; want a row of %d", found, err, left)
		}
		if err := x.CleanUp(t.Context(), &library.Cleanup{ID: item, Leaving: []library.Member{member}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExact_KeepsWhatIsMissing: a look-up reads the store as often for what does not exist as for what does.
func TestExact_KeepsWhatIsMissing(t *testing.T) {
	x := newExact(t, 1<<20)
	const none, nobody = library.ContentID("c:acme:none"), principal.ID("u:acme:nobody")
	for n, reads := range []int64{1, 0, 0} {
		rows, err := x.ReadMany(t.Context(), []library.ContentID{none}, []principal.ID{ann})
		if err != nil || rows[0].Header.Seq != 0 {
			t.Errorf("%+v, %v", rows, err)
		}
		x.wantReads(fmt.Sprintf("look-up %d of a missing item", n), reads)
	}
	for n, reads := range []int64{1, 0} {
		if headers, err := x.ReadPrincipals(t.Context(), []principal.ID{nobody}); err != nil || headers[0].Seq != 0 {
			t.Errorf("%+v, %v", headers, err)
		}
		x.wantReads(fmt.Sprintf("look-up %d of a missing user", n), reads)
	}
	h := library.Header{Seq: 1, MTS: 1, State: commit.Live}
	h.ID, h.Title, h.Kind = none, "made", library.Note
	if v, err := x.Commit(t.Context(), &library.ContentCommit{ID: none, Header: h}); err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	if rows, err := x.ReadMany(t.Context(), []library.ContentID{none}, []principal.ID{ann}); err != nil || rows[0].Header.Title != "made" {
		t.Errorf("after its creation: %+v, %v", rows, err)
	}
}

func TestExact_ServesUsersUntilAChange(t *testing.T) {
	x := newExact(t, 1<<20)
	want := func(what, name string, reads int64) {
		t.Helper()
		headers, err := x.ReadPrincipals(t.Context(), []principal.ID{ann})
		shown, again := x.ReadHeaders(t.Context(), []principal.ID{ann}, nil)
		if err != nil || again != nil || headers[0].DisplayName != name || shown[0].DisplayName != name {
			t.Errorf("%s: %+v, %v; want the name %q", what, headers, err, name)
		}
		x.wantReads(what, reads)
	}
	rows, err := x.ReadPrincipal(t.Context(), ann, principal.Query{Serial: true})
	if err != nil {
		t.Fatal(err)
	}
	h := rows.Header
	want("the first read", h.DisplayName, 1)
	h.Seq, h.MTS, h.DisplayName = h.Seq+1, h.MTS+1, "Ann the Second"
	if v, err := x.CommitPrincipal(t.Context(), &principal.Commit{ID: ann, Base: h.Seq - 1, Header: h}); err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	want("after a change", "Ann the Second", 1)
	unknown, err := x.ReadHeaders(t.Context(), []principal.ID{"u:acme:none", ann}, nil)
	if err != nil || unknown[0].Seq != 0 || unknown[1].DisplayName != "Ann the Second" {
		t.Errorf("of an unknown user and ann it returns %+v, %v", unknown, err)
	}
}

// TestExact_KeepsNothingThatWasReadDuringAChange: a read that began before a change, or while it runs, may return the
// former state after the change was acknowledged, and somebody may have seen the change before it is acknowledged.
func TestExact_KeepsNothingThatWasReadDuringAChange(t *testing.T) {
	x := newExact(t, 1<<20)
	former := x.title()
	x.store.beforeWrite = func() { x.want("before the change is written", former) }
	x.store.afterWrite = func() { x.want("before the change is acknowledged", "new") }
	x.retitle("new")
	x.store.beforeWrite, x.store.afterWrite = nil, nil
	x.wantReads("before and during the change", 3)
	x.want("after the change", "new")
	x.wantReads("after the change", 1)

	x = newExact(t, 1<<20)
	var once sync.Once
	x.store.afterRead = func() { once.Do(func() { x.retitle("new") }) }
	x.want("read before the change", former)
	x.want("after the change", "new")

	x = newExact(t, 1<<20)
	waits, goOn := make(chan struct{}), make(chan struct{})
	x.store.afterWrite = func() { close(waits); <-goOn }
	var group sync.WaitGroup
	group.Go(func() { x.retitle("slow") })
	<-waits
	for range 2 { // a read is not kept while the change runs, and neither once it has ended
		x.want("while a change runs", "slow")
	}
	close(goOn)
	group.Wait()
	x.store.reads.Store(0)
	x.want("afterwards", "slow")
	x.wantReads("the first read after a change", 1)
}

func TestExact_WithoutBytesReadsTheStore(t *testing.T) {
	x := newExact(t, 0)
	for range 2 {
		x.title()
		if _, err := x.ReadHeaders(t.Context(), []principal.ID{ann}, nil); err != nil {
			t.Fatal(err)
		}
	}
	x.wantReads("a cache without bytes", 4)
}

// TestExact_NeverServesAStateThatWasReplaced: while one goroutine changes an item, others read it. What they read is
// never older than what was acknowledged, or seen by any of them, before they began.
func TestExact_NeverServesAStateThatWasReplaced(t *testing.T) {
	x := newExact(t, 1<<20)
	var acknowledged atomic.Int64
	number := func(title string) (n int64) { _, _ = fmt.Sscan(title, &n); return n }
	x.retitle("1")
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least := acknowledged.Load()
				if got := number(x.title()); got < least {
					t.Errorf("a read returns the state %d although %d was seen before it", got, least)
				} else {
					for at := acknowledged.Load(); at < got && !acknowledged.CompareAndSwap(at, got); at = acknowledged.Load() {
					}
				}
			}
		})
	}
	for n := range 2000 {
		x.retitle(fmt.Sprint(n + 2))
	}
	close(done)
	group.Wait()
}
