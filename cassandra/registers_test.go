package cassandra

import (
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// TestPutCreationIfAbsent_RenewedRowIsKeptUntilItsOwnTime: a creation that was replaced by the same
// one with a later expiry is kept until then. Every column has the time to live of the new row.
func TestPutCreationIfAbsent_RenewedRowIsKeptUntilItsOwnTime(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	one := commit.Creation{Key: commit.RequestKey{1}, ID: "c:acme:x", Until: clock.Of(time.Now()).Add(time.Hour)}
	renewed := one
	renewed.Until = one.Until.Add(time.Hour)
	for _, step := range []struct{ c, replace *commit.Creation }{{&one, nil}, {&renewed, &one}} {
		if got, err := s.Registers.PutCreationIfAbsent(t.Context(), *step.c, step.replace); err != nil || got != *step.c {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	var hash, id, until int
	const remaining = `SELECT ttl(input_hash), ttl(id), ttl(until) FROM request`
	if err := s.session.Driver().Query(remaining).WithContext(t.Context()).Scan(&hash, &id, &until); err != nil {
		t.Fatal(err)
	}
	if first := int(time.Hour / time.Second); min(hash, id, until) <= first {
		t.Errorf("the columns are kept for %d, %d and %d s, want more than the %d s of the old row", hash, id, until, first)
	}
}
