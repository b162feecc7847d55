package storetest

import "carrel/core/commit"

// Block returns the block of an in-flight list with the changes, for tests that write one.
func Block(changes ...commit.Entry) []byte {
	block, err := commit.Encode(changes)
	if err != nil {
		panic(err) // a test has made changes too large for a block
	}
	return block
}
