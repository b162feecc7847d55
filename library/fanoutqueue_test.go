package library

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/principal"
)

// TestWalkOf_MergesWaitingFanOuts: one walk does what each of the fan-outs needs, and the libraries
// of all actors first.
func TestWalkOf_MergesWaitingFanOuts(t *testing.T) {
	rt := sched.NewReal()
	t.Cleanup(rt.Close)
	q := &fanOutQueues{s: &Service{rt: rt}}
	fan := func(e commit.Entry, actors ...principal.ID) *fanOut {
		e.Key = "c:acme:a"
		return &fanOut{entry: inFlight{Entry: e}, actors: actors, own: rt.Latch()}
	}
	narrow := commit.Entry{Base: 7,
		Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:acme:ann", "u:acme:cat"}, All: true}}
	wide := commit.Entry{Base: 5, Reach: commit.Reach{Scope: commit.ScopeAll}}
	for _, c := range []struct {
		name  string
		batch []*fanOut
		want  commit.Entry
		first []principal.ID
	}{
		{"one", []*fanOut{fan(narrow, "u:acme:ann")}, narrow, []principal.ID{"u:acme:ann"}},
		{"a narrow one and a wide one", []*fanOut{fan(narrow, "u:acme:ann"), fan(wide, "u:acme:bob")},
			commit.Entry{Base: 7,
				Reach: commit.Reach{Scope: commit.ScopeAll, Principals: narrow.Principals, All: true}}, []principal.ID{"u:acme:ann", "u:acme:bob"}},
		{"in the other order", []*fanOut{fan(wide), fan(narrow, "u:acme:ann")},
			commit.Entry{Base: 7,
				Reach: commit.Reach{Scope: commit.ScopeAll, Principals: narrow.Principals, All: true}}, []principal.ID{"u:acme:ann"}},
		{"of the same actor and principals", []*fanOut{
			fan(narrow, "u:acme:ann"), fan(commit.Entry{Base: 9,
				Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:acme:bob", "u:acme:cat"}}},
				"u:acme:ann")},
			commit.Entry{Base: 9,
				Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:acme:ann", "u:acme:bob", "u:acme:cat"}, All: true}},
			[]principal.ID{"u:acme:ann"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := q.walkOf(c.batch)
			c.want.Key = "c:acme:a"
			if diff := cmp.Diff(c.want, w.entry.Entry); diff != "" {
				t.Errorf("the change (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.first, w.first); diff != "" {
				t.Errorf("the principals that go first (-want +got):\n%s", diff)
			}
			w.firstDone()
			for n, f := range c.batch {
				if !f.own.IsOpen() {
					t.Errorf("fan-out %d still waits for the libraries of its actors", n)
				}
			}
		})
	}
}
