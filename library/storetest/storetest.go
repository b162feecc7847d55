// Package storetest is the conformance suite of backend.Store. It knows the
// interface alone, so that every backend, the simulated one included, runs it
// unchanged. Its subtests bear the words of the contract, and a test of this
// package holds that no "must" of the contracts is without one.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/backend"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// check is one subtest.
type check struct {
	name string
	run  func(s *stage)
}

// area is what is checked of one method or one theme.
type area struct {
	name   string
	checks []check
}

// areas are all checks that need no more than a store.
func areas() []area {
	var all []area
	for _, as := range [][]area{
		contentAreas(), commitAreas(), applyIndexAreas(), settleAreas(), libraryAreas(), changeAreas(), sharedAreas(),
		principalAreas(), groupAreas(), directoryAreas(), journalAreas(), registerAreas(), claimAreas(), leaseAreas(), pasteAreas(), feedAreas(),
		rowAreas(), textAreas(), draftAreas(), raceAreas(), refusalAreas(),
	} {
		all = append(all, as...)
	}
	return all
}

// Run runs the suite. open gives a store that was empty when the suite began:
// a new one each time, or one for all subtests, which use ids of their own.
func Run(t *testing.T, open func(t *testing.T) backend.Store) {
	for n, a := range areas() {
		t.Run(a.name, func(t *testing.T) {
			for m, c := range a.checks {
				t.Run(c.name, func(t *testing.T) {
					c.run(newStage(t, open(t), fmt.Sprintf("t%d-%d", n, m)))
				})
			}
		})
	}
}

// stage is what a subtest plays on: a store and a tenant of its own.
type stage struct {
	*testing.T
	backend.Store
	ctx    context.Context
	tenant string
	clock  clock.Instant
	writes byte
}

// start is the first instant of every stage: 2026-01-01.
const start clock.Instant = 1767225600000000

func newStage(t *testing.T, store backend.Store, tenant string) *stage {
	return &stage{T: t, Store: store, ctx: t.Context(), tenant: tenant, clock: start}
}

// tick is the next instant; no two are the same.
func (s *stage) tick() clock.Instant {
	s.clock += 1000
	return s.clock
}

// later is an instant by which a row may be forgotten, 2040 or after: stores
// have clocks of their own, and none of them is there yet.
func (s *stage) later() clock.Instant { return s.tick() + (2208988800000000 - start) }

// entry is the next id of an in-flight entry.
func (s *stage) entry() commit.EntryID {
	s.writes++
	return commit.EntryID{0: 0xe0, 14: s.writes, 15: byte(len(s.tenant))}
}

func (s *stage) user(name string) principal.ID  { return principal.UserID(s.tenant, name) }
func (s *stage) group(name string) principal.ID { return principal.GroupID(s.tenant, name) }

func (s *stage) content(name string) library.ContentID {
	return library.ContentID("c:" + s.tenant + ":" + name)
}

// ok ends the subtest where err is not nil.
func (s *stage) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// same ends the subtest where got is not want. Nil and empty lists are equal.
func (s *stage) same(what string, got, want any) {
	s.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), wholeBytes); diff != "" {
		s.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// wholeBytes compares slices of bytes as wholes. By default cmp compares them byte by
// byte, which takes a minute for large ones under the race detector.
var wholeBytes = cmp.FilterValues(
	func(a, b []byte) bool { return len(a) > 0 || len(b) > 0 }, // cmpopts.EquateEmpty compares the others
	cmp.Comparer(bytes.Equal))

// decide makes a conditional write. Where its outcome is unknown it is made
// again, as the protocol does: it can apply at most once, and stands tells
// whether it has.
func (s *stage) decide(write func() (commit.Verdict, error), stands func(commit.Verdict) bool) commit.Verdict {
	s.Helper()
	unsure := false
	for range 8 {
		v, err := write()
		if err == nil {
			if unsure && !v.Applied && stands(v) {
				v = commit.Verdict{Applied: true}
			}
			return v
		}
		if !fault.MayHaveCommitted(err) {
			s.Fatal(err)
		}
		unsure = true
	}
	s.Fatal("the outcome of a conditional write stayed unknown")
	return commit.Verdict{}
}

// made tells whether the verdict names entry as the writer of seq.
func made(v commit.Verdict, seq int64, entry commit.EntryID) bool {
	for _, w := range v.Writers {
		if w.Seq == seq {
			return w.Entry == entry
		}
	}
	return false
}

// commit commits a content.
func (s *stage) commit(c *library.ContentCommit) commit.Verdict {
	s.Helper()
	return s.decide(
		func() (commit.Verdict, error) { return s.Commit(s.ctx, c) },
		func(v commit.Verdict) bool { return made(v, c.Header.Seq, c.Writer) })
}

// read reads a content.
func (s *stage) read(id library.ContentID, q library.ContentQuery) *library.ContentRows {
	s.Helper()
	rows, err := s.Read(s.ctx, id, q)
	s.ok(err)
	if rows == nil {
		s.Fatalf("Read of %q gave no rows and no error", id)
	}
	return rows
}

// page reads a slice.
func (s *stage) page(p library.Slice) []library.Entry {
	s.Helper()
	es, err := s.PageLibrary(s.ctx, p)
	s.ok(err)
	return es
}

// ownIDs keeps the ids of this subtest's tenant.
func ownIDs[ID ~string](s *stage, ids []ID) []ID {
	var own []ID
	for _, id := range ids {
		if strings.Contains(string(id), ":"+s.tenant+":") {
			own = append(own, id)
		}
	}
	return own
}
