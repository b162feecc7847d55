package cassandra

import (
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// A creation that was replaced by the same with a later time is kept until that:
// every column of it has the time to live of the new row.
func TestFixCreation_RenewedRowIsKeptUntilItsOwnTime(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	one := commit.Creation{Key: commit.RequestKey{1}, ID: "c:acme:x", Until: clock.Of(time.Now()).Add(time.Hour)}
	renewed := one
	renewed.Until = one.Until.Add(time.Hour)
	for _, step := range []struct{ c, replace *commit.Creation }{{&one, nil}, {&renewed, &one}} {
		if got, err := s.PutCreationIfAbsent(t.Context(), *step.c, step.replace); err != nil || got != *step.c {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	var hash, id, until int
	const left = `SELECT ttl(input_hash), ttl(id), ttl(until) FROM request`
	if err := s.session.Driver().Query(left).WithContext(t.Context()).Scan(&hash, &id, &until); err != nil {
		t.Fatal(err)
	}
	if first := int(time.Hour / time.Second); min(hash, id, until) <= first {
		t.Errorf("the columns are kept for %d, %d and %d s, want more than the %d s of the row as it was", hash, id, until, first)
	}
}
