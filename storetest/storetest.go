// Package storetest is the conformance suite of domain.Store. It depends on the interface
// only, so that every backend, the simulated one included, runs it unchanged. Subtests are named
// with the words of the comments on the store interfaces, and a test of this package checks that
// every sentence of these comments with a "must" has a subtest.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/library"
	"carrel/principal"
)

// A checkOf is one subtest, in an environment E. area is the method or the subject that it is about.
type checkOf[E any] struct {
	area, name string
	run        func(s E)
}

type check = checkOf[*env]

// runAll runs checks. open returns an environment for a tenant, which each check has of its own: number is a part of
// their names.
func runAll[E any](t *testing.T, checks []checkOf[E], number int, open func(t *testing.T, tenant string) E) {
	for n, c := range checks {
		t.Run(c.area+"/"+c.name, func(t *testing.T) { c.run(open(t, fmt.Sprintf("t%d-%d", number, n))) })
	}
}

// checks returns all checks that need no more than a store.
func checks() []check {
	return slices.Concat(
		contentChecks(), commitChecks(), applyIndexChecks(), cleanUpChecks(), libraryChecks(), titleChecks(), deletedChecks(),
		changeChecks(), sharedChecks(), principalChecks(), groupChecks(), directoryChecks(), journalChecks(), registerChecks(),
		claimChecks(), leaseChecks(), pasteChecks(), feedChecks(), rowChecks(), textChecks(), draftChecks(), raceChecks(),
		refusalChecks())
}

// Run runs the suite. open returns a store that was empty when the suite started: a new one
// each time, or one for all subtests, which use ids of their own.
func Run(t *testing.T, open func(t *testing.T) domain.Store) {
	runAll(t, checks(), 0, func(t *testing.T, tenant string) *env { return newEnv(t, open(t), tenant) })
}

// env is the environment of a subtest: a store and a tenant of its own.
type env struct {
	*testing.T
	domain.Store
	ctx    context.Context
	tenant string
	clock  clock.Instant
	writes byte
}

// start is the first instant of every subtest: 2026-01-01.
const start clock.Instant = 1767225600000000

func newEnv(t *testing.T, store domain.Store, tenant string) *env {
	return &env{T: t, Store: store, ctx: t.Context(), tenant: tenant, clock: start}
}

// tick returns the next instant; no two are the same.
func (s *env) tick() clock.Instant {
	s.clock += 1000
	return s.clock
}

// later returns an instant after which a row may be forgotten, in 2040 or after: stores have
// clocks of their own, and none of them is there yet.
func (s *env) later() clock.Instant { return s.tick() + (2208988800000000 - start) }

// entry returns the next id of an in-flight entry.
func (s *env) entry() commit.EntryID {
	s.writes++
	return commit.EntryID{0: 0xe0, 14: s.writes, 15: byte(len(s.tenant))}
}

func (s *env) user(name string) principal.ID  { return principal.UserID(s.tenant, name) }
func (s *env) group(name string) principal.ID { return principal.GroupID(s.tenant, name) }

func (s *env) content(name string) library.ContentID {
	return library.ContentID("c:" + s.tenant + ":" + name)
}

// ok ends the subtest if err is not nil.
func (s *env) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// same ends the subtest if got differs from want. Nil and empty lists are equal.
func (s *env) same(what string, got, want any) {
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

// decide makes a conditional write. It repeats it after an unknown outcome, as the protocol
// does: it can apply at most once, and applied reports whether it has.
func (s *env) decide(write func() (commit.Verdict, error), applied func(commit.Verdict) bool) commit.Verdict {
	s.Helper()
	unsure := false
	for range 8 {
		v, err := write()
		if err == nil {
			if unsure && !v.Applied && applied(v) {
				v = commit.Verdict{Applied: true}
			}
			return v
		}
		if !fault.MayHaveCommitted(err) {
			s.Fatal(err)
		}
		unsure = true
	}
	s.Fatal("the outcome of a conditional write is still unknown")
	return commit.Verdict{}
}

// made reports whether the verdict names entry as the writer of seq.
func made(v commit.Verdict, seq int64, entry commit.EntryID) bool {
	for _, w := range v.Writers {
		if w.Seq == seq {
			return w.Entry == entry
		}
	}
	return false
}

// commit commits a content.
func (s *env) commit(c *library.ContentCommit) commit.Verdict {
	s.Helper()
	return s.decide(
		func() (commit.Verdict, error) { return s.Contents.Commit(s.ctx, c) },
		func(v commit.Verdict) bool { return made(v, c.Header.Seq, c.Writer) })
}

// read reads a content.
func (s *env) read(id library.ContentID, q library.ContentQuery) *library.ContentRows {
	s.Helper()
	rows, err := s.Contents.Read(s.ctx, id, q)
	s.ok(err)
	if rows == nil {
		s.Fatalf("Read of %q gave no rows and no error", id)
	}
	return rows
}

// page reads a slice.
func (s *env) page(p library.Slice) []library.Entry {
	s.Helper()
	es, err := s.Libraries.PageLibrary(s.ctx, p)
	s.ok(err)
	return es
}

// ownIDs returns the ids of this subtest's tenant.
func ownIDs[ID ~string](s *env, ids []ID) []ID {
	var own []ID
	for _, id := range ids {
		if strings.Contains(string(id), ":"+s.tenant+":") {
			own = append(own, id)
		}
	}
	return own
}
