package cassandra

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/cassandra/session"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
	"carrel/storetest"
)

func TestConformance_Notifier(t *testing.T) {
	shared := open(t, options(t))
	storetest.RunNotifier(t, func(*testing.T) library.Notifier { return shared })
}

// TestApplyIndex_ChangeIsPartOfTheSameMutation: the change row of a library has the timestamp of
// its entry, a time to live, and the same partition key, so that all rows of an index update are
// one mutation.
func TestApplyIndex_ChangeIsPartOfTheSameMutation(t *testing.T) {
	s := open(t, options(t))
	c := creation("c:t:changed", someTime)
	if v, err := s.Contents.Commit(t.Context(), c); err != nil || !v.Applied {
		t.Fatal(v, err)
	}
	e := &library.IndexUpdate{Header: &c.Header, Rows: []library.Member{{Principal: "u:t:reader", Role: library.Viewing, Seq: 1}},
		All: true, At: someTime + 5}
	if err := s.Contents.ApplyIndex(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	var entry, change, left int64
	scanOne(t, s, "SELECT writetime(mts) FROM library_by_principal WHERE principal_id = ? LIMIT 1", []any{"u:t:reader"}, &entry)
	scanOne(t, s, "SELECT writetime(left_buckets), ttl(left_buckets) FROM library_change WHERE principal_id = ?",
		[]any{"u:t:reader"}, &change, &left)
	if mts := int64(c.Header.MTS); entry != mts || change != mts {
		t.Errorf("the entry was written at %d and its change at %d, the mts of the state is %d", entry, change, mts)
	}
	if left > int64(changeTTL) || left < int64(changeTTL)-600 {
		t.Errorf("the change is kept for %d s, want %d", left, changeTTL)
	}
}

// gateway is a Service with its own session.
type gateway struct {
	t   *testing.T
	svc *domain.Services
}

// serve starts a gateway that is stopped at the end of the test.
func serve(t *testing.T, o session.Options) *gateway {
	t.Helper()
	store := open(t, o)
	rt := sched.NewReal()
	t.Cleanup(rt.Close)
	j := journal.New(t.Context(), store.Journal, rt, nil)
	svc := domaintest.Open(t, domain.Config{Store: store.Store, Runtime: rt, Journal: j, Names: unnamed{}, Notifier: store})
	return &gateway{t, svc}
}

// unnamed generates no names, for content that has given ones.
type unnamed struct{}

func (unnamed) ContentName(context.Context) (string, error) {
	return "", fmt.Errorf("no name was given")
}

func (g *gateway) user(name string) {
	g.t.Helper()
	_, err := g.svc.People.CreateUser(g.t.Context(), &principal.Viewer{User: principal.UserID("acme", name)}, principal.CreateUser{
		Tenant: "acme", Name: name, DisplayName: name, Email: name + "@example.com", Visibility: principal.Public})
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) note(name string, members ...string) {
	g.t.Helper()
	in := library.CreateContent{Name: &name, Kind: library.Note, Title: name, Visibility: principal.Private}
	for _, m := range members {
		role := library.Viewing
		in.Members = append(in.Members, library.ContentMemberChange{Principal: m, Role: &role})
	}
	if _, err := g.svc.Library.CreateContent(g.t.Context(), &principal.Viewer{User: "u:acme:ann"}, in); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) retitle(name, title string) {
	g.t.Helper()
	in := library.UpdateContent{ID: "c:acme:" + name, Title: input.Some(&title)}
	if _, err := g.svc.Library.UpdateContent(g.t.Context(), &principal.Viewer{User: "u:acme:ann"}, in); err != nil {
		g.t.Fatal(err)
	}
}

// wantUpdates checks the next updates of a subscription and returns the last cursor.
func wantUpdates(t *testing.T, f library.Subscription, want ...string) (cursor string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var got []string
	for range want {
		c, err := f.Next(ctx)
		switch c := c.(type) {
		case *library.LibraryEntryPlaced:
			got, cursor = append(got, "+"+c.Edge.Node.Title), c.Edge.Cursor()
		case *library.LibraryEntryRemoved:
			got = append(got, "-"+c.ContentID.Name())
		default:
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	return cursor
}

// TestFollow_DeliversChangesOfAnotherGateway: changes made through one gateway are delivered by the
// other, including updates of a hot item, and a subscription can be resumed on any gateway.
func TestFollow_DeliversChangesOfAnotherGateway(t *testing.T) {
	o := options(t)
	a, b := serve(t, o), serve(t, o)
	a.user("ann")
	a.user("ben")
	ben := &principal.Viewer{User: "u:acme:ben"}
	follow := func(g *gateway, after *string) library.Subscription {
		t.Helper()
		f, err := g.svc.Feed.Follow(t.Context(), ben, "u:acme:ben", after)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		return f
	}
	f := follow(b, nil)
	began := time.Now()
	a.note("one", "u:acme:ben")
	wantUpdates(t, f, "+one")
	t.Logf("delivered by another gateway after %v", time.Since(began).Round(time.Millisecond))
	a.retitle("one", "uno")
	a.note("two", "u:acme:ben")
	cursor := wantUpdates(t, f, "+uno", "+two")
	f.Close()
	if _, err := a.svc.Library.DeleteContent(t.Context(), &principal.Viewer{User: "u:acme:ann"},
		library.DeleteContent{ID: "c:acme:one"}); err != nil {
		t.Fatal(err)
	}
	b.note("three", "u:acme:ben")
	for _, g := range []*gateway{a, b} {
		f := follow(g, &cursor)
		wantUpdates(t, f, "+two", "-one", "+three")
		f.Close()
	}
	f = follow(b, nil)
	// An item with more than thirty moves an hour is hot: further changes touch no library.
	for n := range 31 {
		a.retitle("two", fmt.Sprint("two", n))
	}
	a.retitle("two", "hot")
	for title := ""; title != "hot"; {
		c, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		title = c.(*library.LibraryEntryPlaced).Edge.Node.Title
	}
	f.Close()
}
