package main

import (
	"testing"
	"time"
)

func TestRoundTrips_CountsTheLongestChain(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	read := func(from, to int) span { return span{from: at(from), to: at(to)} }
	cas := func(from, to int) span { return span{from: at(from), to: at(to), conditional: true} }
	for _, tc := range []struct {
		name  string
		spans []span
		want  int
	}{
		{"nothing", nil, 0},
		{"one", []span{read(0, 3)}, 1},
		{"one after the other", []span{read(3, 5), read(0, 3), read(5, 6)}, 3},
		{"at the same time", []span{read(0, 3), read(1, 4), read(2, 5)}, 1},
		{"many beside two", []span{read(0, 9), read(0, 3), read(1, 4), read(4, 8)}, 2},
		{"a compare-and-set between reads", []span{read(0, 3), cas(3, 9), read(9, 10)}, 5},
		{"a compare-and-set beside reads", []span{read(0, 3), cas(0, 9), read(3, 4)}, 3},
	} {
		if got := roundTrips(tc.spans, 3); got != tc.want {
			t.Errorf("%s: %d round trips, want %d", tc.name, got, tc.want)
		}
	}
}
