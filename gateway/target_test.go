package gateway

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
	"carrel/observe"
	"carrel/pebblestore"
)

func TestCallOf_OutcomesOfTheEmbeddedStore(t *testing.T) {
	failed := fault.Unavailablef(nil, "x")
	for _, tc := range []struct {
		call pebblestore.Call
		want string
	}{
		{pebblestore.Call{}, "ok"},
		{pebblestore.Call{Refused: true}, "refused"},
		{pebblestore.Call{Err: failed}, "unavailable"},
		{pebblestore.Call{Err: fault.Uncertain(failed), Refused: true}, "unknown"},
	} {
		tc.call.Operation, tc.call.Took = "commit", time.Second
		want := observe.Call{System: "pebble", Operation: "commit", Outcome: tc.want, Took: time.Second}
		if diff := cmp.Diff(want, callOf(tc.call)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.call, diff)
		}
	}
}
