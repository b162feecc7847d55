// Package claim gives a name to one owner only: the URL of an item, the e-mail
// address of a user, a key of a lease. docs/unique-names.md describes the protocol
// and its proof.
//
// A key has one row, its claim, which points to a record: an item, a user or a lease.
// The record decides. A key is held if and only if its claim points to a record that
// says, when it is read serially, that it holds the key. So the record that takes a
// key, and gives up another one, changes both in its own compare-and-set.
package claim

import "carrel/core/clock"

// Key is a name of a space. Names of different spaces have nothing in common.
type Key struct {
	Space, Name string
}

// URL returns the key of a canonical URL, which is unique in its tenant.
func URL(tenant, url string) Key { return Key{"url:" + tenant, url} }

// Email returns the key of a normalized e-mail address, which is unique in its tenant.
func Email(tenant, address string) Key { return Key{"email:" + tenant, address} }

// Leased returns the key that a lease takes under a name of its caller's choice.
func Leased(name string) Key { return Key{"key", name} }

// Token identifies one writing of a claim. Each writing has a new one, so that who has
// read a claim can change it only while nobody else has written it.
type Token [16]byte

// Claim is the row of a key.
type Claim struct {
	Key
	// Record is the id of the record that decides.
	Record string
	Token  Token
	// Until is the time before which others leave the claim alone although its record
	// does not hold the key: the record may be about to take it.
	Until clock.Instant
}
