package sched_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"carrel/core/sched"
)

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
