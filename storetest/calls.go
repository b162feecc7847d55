package storetest

import (
	"context"
	"fmt"
	"sync"

	"carrel/core/fault"
)

// settle makes a call, and repeats it as long as its outcome is unknown, because its result is what is stored then.
func settle[T any](call func() (T, error)) (got T, err error) {
	for range 8 {
		if got, err = call(); !fault.MayHaveCommitted(err) {
			break
		}
	}
	return got, err
}

// settled is settle for a call that must not fail.
func settled[T any](s *env, call func() (T, error)) T {
	s.Helper()
	got, err := settle(call)
	s.ok(err)
	return got
}

// settle is settled for a call without a result.
func (s *env) settle(call func() error) {
	s.Helper()
	settled(s, func() (struct{}, error) { return struct{}{}, call() })
}

// returns checks what a call returns: s.returns("rows", want)(call()).
func (s *env) returns(what string, want any) func(got any, err error) {
	return func(got any, err error) {
		s.Helper()
		s.ok(err)
		s.same(what, got, want)
	}
}

// racers is the number of goroutines that race for one key.
const racers = 16

// together runs f once for each racer at the same time and waits for all.
func together(f func(n int)) {
	var ready, done sync.WaitGroup
	ready.Add(racers)
	for n := range racers {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f(n)
		})
	}
	done.Wait()
}

// agreed lets all racers make a call at the same time. They must get the same result.
func agreed[T any](s *env, call func(n int) (T, error)) T {
	s.Helper()
	got, errs := make([]T, racers), make([]error, racers)
	together(func(n int) { got[n], errs[n] = settle(func() (T, error) { return call(n) }) })
	for n := range got {
		s.ok(errs[n])
		s.same("what every caller got", got[n], got[0])
	}
	return got[0]
}

// paged reads page after page until one is empty. read gets the last row of the page before, the zero row at first.
func paged[R any](s *env, limit int, read func(last R) ([]R, error)) (all []R) {
	s.Helper()
	var last R
	for range 10_000 {
		rows, err := read(last)
		s.ok(err)
		if len(rows) > limit {
			s.Fatalf("%d rows for a limit of %d", len(rows), limit)
		}
		if len(rows) == 0 {
			return all
		}
		all = append(all, rows...)
		last = rows[len(rows)-1]
	}
	s.Fatalf("the pages do not end")
	return nil
}

// A scan reads all rows of a kind in pages.
type scan[K comparable, R any] struct {
	read func(ctx context.Context, after K, limit int) ([]R, error)
	key  func(R) K
	own  func(K) bool // reports whether a row is of this subtest
}

// all scans in pages of limit, and returns the rows of this subtest by their keys. It calls last, unless it is nil,
// with the last row of each page.
func (c scan[K, R]) all(s *env, limit int, last func(R)) map[K]R {
	s.Helper()
	found := map[K]R{}
	var after K
	for range 10_000 {
		page, err := c.read(s.ctx, after, limit)
		s.ok(err)
		if len(page) > limit {
			s.Fatalf("%d rows on a page of %d", len(page), limit)
		}
		for _, r := range page {
			if after = c.key(r); !c.own(after) {
				continue
			}
			if _, twice := found[after]; twice {
				s.Fatalf("%v is listed twice", after)
			}
			found[after] = r
		}
		if len(page) == 0 {
			return found
		}
		if last != nil {
			last(page[len(page)-1])
		}
	}
	s.Fatalf("the scan does not end")
	return nil
}

// want compares the rows of this subtest, in pages of several sizes.
func (c scan[K, R]) want(s *env, want map[K]R) {
	s.Helper()
	for _, limit := range []int{1, 3, 1000} {
		s.same(fmt.Sprintf("the rows, by pages of %d", limit), c.all(s, limit, nil), want)
	}
}

// among returns a function that reports whether a key is in a map.
func among[K comparable, R any](rows map[K]R) func(K) bool {
	return func(k K) bool {
		_, ours := rows[k]
		return ours
	}
}

// cancelled returns a context that ended before the call.
func cancelled(ctx context.Context) context.Context {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return ended
}

// refused reports whether the error of a write with a context that had ended says that nothing was applied.
func (s *env) refused(what string, err error) bool {
	s.Helper()
	if err == nil {
		s.Fatalf("%s: no error though the context had ended", what)
	}
	return !fault.MayHaveCommitted(err)
}

// A tried is a read with a context that had ended.
type tried struct {
	name string
	err  error
}

// failed returns the error of a read.
func failed(_ any, err error) error { return err }

// wantErrors checks that reads with a context that had ended returned errors.
func (s *env) wantErrors(reads ...tried) {
	s.Helper()
	for _, r := range reads {
		if r.err == nil {
			s.Errorf("%s returns no error", r.name)
		}
	}
}
