package sched_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"carrel/core/sched"
)

func TestForEach_WithOneAtATimeEndsAtTheFirstError(t *testing.T) {
	var called []int
	failed := errors.New("failed")
	err := sched.ForEach(t.Context(), nil, 4, 1, func(i int) error {
		if called = append(called, i); i == 2 {
			return failed
		}
		return nil
	})
	if err != failed || !slices.Equal(called, []int{0, 1, 2}) {
		t.Errorf("called for %v: %v", called, err)
	}
}

func TestForEach_CallsForAllAndReturnsTheFirstError(t *testing.T) {
	for n := range 5 {
		synctest.Test(t, func(t *testing.T) {
			rt := sched.NewReal()
			called, failed := make([]int, n), errors.New("failed")
			err := sched.ForEach(t.Context(), rt, n, 2, func(i int) error {
				if called[i]++; i > 0 {
					return errors.Join(failed, errors.New("later"))
				}
				return failed
			})
			for i, times := range called {
				if times != 1 {
					t.Errorf("of %d, do was called %[3]d times for %[2]d", n, i, times)
				}
			}
			if n == 0 && err != nil || n > 0 && err != failed {
				t.Errorf("of %d: error %v", n, err)
			}
			rt.Close()
		})
	}
}
