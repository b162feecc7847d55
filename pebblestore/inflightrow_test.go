package pebblestore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// TestDecodeInFlightList_FirstVersionIsRead reads lists that were written before changes had kinds.
func TestDecodeInFlightList_FirstVersionIsRead(t *testing.T) {
	for _, c := range []struct {
		name, row string
		want      commit.Entry
	}{
		{"an item", "\x01\n\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x03\x05c:a:b\x00\x04\x10\x01\x05u:a:c",
			library.InFlight{ID: commit.EntryID{1}, Content: "c:a:b", Base: 2, Scope: commit.ScopeListed,
				Principals: []principal.ID{"u:a:c"}, Reverse: true, Due: 8, Decided: true}.Entry()},
		{"a renamed user", "\x01\n\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01N\x05u:a:b\x04\x00\x00",
			commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "u:a:b", Base: 2, Payload: (&commit.Reach{Former: "N"}).Encode()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := decodeInFlightList("x", []byte(c.row))
			if err != nil || l.Stamp != 5 {
				t.Fatalf("%+v, %v", l, err)
			}
			entries, err := commit.Decode(l.Blocks)
			if err != nil || len(entries) != 1 {
				t.Fatalf("%+v, %v", entries, err)
			}
			if diff := cmp.Diff(c.want, entries[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
