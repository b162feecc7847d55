package sched_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"carrel/core/sched"
)

func TestPages_CallsForEachPageUpToTheLast(t *testing.T) {
	for rows, want := range map[int][]int{0: {0}, 2: {2}, 3: {3, 0}, 7: {3, 3, 1}} {
		read := func(_ context.Context, after string, limit int) (page []int, err error) {
			from, _ := strconv.Atoi(after)
			for n := from; n < rows && len(page) < limit; n++ {
				page = append(page, n)
			}
			return page, nil
		}
		var sizes, seen []int
		err := sched.Pages(t.Context(), 3, read, func(n int) string { return strconv.Itoa(n + 1) }, func(page []int) error {
			sizes, seen = append(sizes, len(page)), append(seen, page...)
			return nil
		})
		if err != nil || !slices.Equal(sizes, want) || len(seen) != rows || !slices.IsSorted(seen) {
			t.Errorf("of %d rows: pages of %v, %v, %v", rows, sizes, seen, err)
		}
	}
}

func TestPages_EndsAtTheFirstError(t *testing.T) {
	down := errors.New("down")
	for _, failing := range []string{"read", "see"} {
		calls := 0
		fail := func(what string) error {
			if calls++; what == failing && calls > 2 {
				return down
			}
			return nil
		}
		read := func(context.Context, int, int) ([]int, error) { return []int{calls}, fail("read") }
		err := sched.Pages(t.Context(), 1, read, func(n int) int { return n }, func([]int) error { return fail("see") })
		if !errors.Is(err, down) || calls > 4 {
			t.Errorf("%s fails: %v after %d calls", failing, err, calls)
		}
	}
}
