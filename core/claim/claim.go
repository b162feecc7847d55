// Package claim makes names unique: it gives each name to at most one owner. A name is the URL of
// an item, the e-mail address of a user or a key of a lease. docs/unique-names.md describes the
// protocol and its proof.
//
// A key has one row, its claim, which points to a record: an item, a user or a lease. The record
// decides. A key is held if and only if its claim points to a record that says, when it is read
// serially, that it holds the key. A record that takes one key and gives up another therefore does
// both in one compare-and-set of its own row.
package claim

import (
	"encoding/binary"
	"strings"
	"time"

	"carrel/core/clock"
)

// Key is a name in a namespace. Equal names of different namespaces are different keys.
type Key struct {
	Space, Name string
}

// URL returns the key of a canonical URL, which is unique in its tenant.
func URL(tenant, url string) Key { return Key{"url:" + tenant, url} }

// Email returns the key of a normalized e-mail address, which is unique in its tenant.
func Email(tenant, address string) Key { return Key{"email:" + tenant, address} }

// leasedSpace begins the namespaces of the keys of leases.
const leasedSpace = "key:"

// Leased returns the key of a lease for a name that a user of the tenant has chosen.
func Leased(tenant, name string) Key { return Key{leasedSpace + tenant, name} }

// Token identifies one write of a claim. Each write has a new token, so that a process can
// change a claim that it has read only if nobody else has written it since. It is a number, which is
// larger than that of the claim that was replaced, and 8 random bytes.
type Token [16]byte

// Number returns the number of the write: an instant in microseconds, or the successor of the
// former number if that is larger.
func (t Token) Number() int64 { return int64(binary.BigEndian.Uint64(t[:8])) }

// RememberedFor is how long the claim of a leased key is kept after its number, at least. From then
// on, the clock of every gateway shows an instant that is larger than the number.
const RememberedFor = time.Minute

// remembered reports whether the number of the claim must be known to the next owner of the key.
func (c *Claim) remembered(now clock.Instant) bool {
	return strings.HasPrefix(c.Space, leasedSpace) && clock.Instant(c.Token.Number()).Add(RememberedFor) > now
}

// Claim is the row of a key.
type Claim struct {
	Key
	// Record is the id of the record that decides whether the key is held.
	Record string
	Token  Token
	// Until is when the claim lapses. Before that, others do not replace it even if its
	// record does not hold the key: the record may be about to take it.
	Until clock.Instant
}
