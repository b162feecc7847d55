package storetest

import "carrel/core/commit"

// Block returns the block of an in-flight list with the changes, for tests that write one.
func Block(changes ...interface{ Entry() commit.Entry }) []byte {
	entries := make([]commit.Entry, len(changes))
	for i, c := range changes {
		entries[i] = c.Entry()
	}
	block, err := commit.Encode(entries)
	if err != nil {
		panic(err) // a test has made changes too large for a block
	}
	return block
}
