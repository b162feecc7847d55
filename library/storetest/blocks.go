package storetest

import (
	"carrel/core/commit"
)

// Blocks returns the blocks of an in-flight list with the changes, for tests that write one.
func Blocks(changes ...interface{ Entry() commit.Entry }) [][]byte {
	entries := make([]commit.Entry, len(changes))
	for i, c := range changes {
		entries[i] = c.Entry()
	}
	blocks, err := commit.Encode(entries)
	if err != nil {
		panic(err) // a test has made changes too large for a block
	}
	return blocks
}
