package budget

import (
	"fmt"
	"sync"
	"testing"
)

func TestBudget_OneAccountHoldsAQuarter(t *testing.T) {
	b := New(100, 1)
	if b.Hold("a", 26) || !b.Hold("a", 20) || b.Hold("a", 6) || !b.Hold("a", 5) || b.Hold("a", 1) {
		t.Error("an account does not hold exactly 25 of 100")
	}
	for _, other := range []string{"b", "c", "d"} {
		if !b.Hold(other, 25) {
			t.Errorf("nothing is left for %s", other)
		}
	}
	if b.Hold("e", 1) || b.Hold(Nobody, 1) || b.Used() != 100 {
		t.Errorf("%d of 100 are held", b.Used())
	}
	b.Free("a", 1)
	if !b.Hold("e", 1) || b.Hold("a", 1) {
		t.Error("what is freed is not free for others")
	}
}

// TestBudget_OneLargestUseIsPossible: a small budget does not refuse what is within all other
// limits.
func TestBudget_OneLargestUseIsPossible(t *testing.T) {
	for _, c := range []struct{ total, largest, share int }{{100, 60, 60}, {100, 500, 100}, {1, 1, 1}, {3, 1, 1},
		{400, 100, 100}, {400, 101, 101}} {
		b := New(c.total, c.largest)
		if b.Hold("a", c.share+1) || !b.Hold("a", c.share) {
			t.Errorf("of %d, with one use of %d, an account does not hold %d", c.total, c.largest, c.share)
		}
	}
}

func TestBudget_NobodyIsLimitedByTheTotalOnly(t *testing.T) {
	b := New(100, 1)
	if !b.Hold(Nobody, 90) || b.Hold(Nobody, 11) || !b.Hold("a", 10) || b.Hold("b", 1) {
		t.Error("the total is not the only limit")
	}
	b.Free(Nobody, 90)
	b.Free("a", 10)
	if b.Used() != 0 || len(b.held) != 0 {
		t.Errorf("%d are held, by %v", b.Used(), b.held)
	}
}

// TestBudget_NothingIsLost: after all is freed nothing is held, and no account is remembered.
func TestBudget_NothingIsLost(t *testing.T) {
	b := New(1000, 1)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			account := fmt.Sprint("account", n%3)
			for i := range 1000 {
				if size := i % 100; b.Hold(account, size) {
					if b.Used() > 1000 {
						t.Error("more than the total is held")
					}
					b.Free(account, size)
				}
			}
		})
	}
	all.Wait()
	if b.Used() != 0 || len(b.held) != 0 {
		t.Errorf("%d are held, by %v", b.Used(), b.held)
	}
}
