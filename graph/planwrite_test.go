package graph

import (
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"pgregory.net/rapid"

	"carrel/core/clock"
)

// TestPlan_WritesValuesLikeTheMarshalers compares the functions with the marshalers that the
// generated code uses.
func TestPlan_WritesValuesLikeTheMarshalers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		if got, want := string(appendString(nil, s)), marshaled(graphql.MarshalString(s)); got != want {
			t.Errorf("string %q: got %s, want %s", s, got, want)
		}
		i := clock.Instant(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "instant"))
		if got, want := string(appendInstant(nil, i)), marshaled(MarshalDateTime(i)); got != want {
			t.Errorf("instant %d: got %s, want %s", i, got, want)
		}
	})
}
