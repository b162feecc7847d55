// Package lease takes several keys together or none of them, for a time, and makes them
// permanent on request. Keys are texts of the callers' choice, and belong to the tenant of the lease's
// owner. docs/leases.md describes leases for users, docs/unique-names.md the claims
// that give a key only one owner.
//
// A lease is one row, and the row decides: its keys are held while it is CONFIRMED, or
// PENDING before its deadline. Each change of the row is one compare-and-set, so exactly
// one of confirm, cancel and expiry wins.
package lease

import (
	"slices"
	"strconv"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/principal"
)

// ID is the global id of a lease: "l:" and 32 hexadecimal digits.
type ID string

// ParseID checks the id of a lease. Its error has code Invalid.
func ParseID(s string) (ID, error) {
	if id.KindOf(s) != id.Lease {
		return "", fault.Invalidf(nil, "not the id of a lease: it has the form l:<%d digits of 0-9 and a-f>", id.RandomDigits)
	}
	return ID(s), nil
}

// State is the state of a lease.
type State uint8

// The states of a lease. Stores contain these numbers.
const (
	// Pending: the keys are held until the deadline.
	Pending State = 1
	// Confirmed: the keys are held permanently.
	Confirmed State = 2
	// Cancelled: the holder of the token gave the keys up.
	Cancelled State = 3
	// Expired: the deadline passed before the lease was confirmed or cancelled.
	Expired State = 4
	// Refused: the lease did not get all its keys. Nobody got its token.
	Refused State = 5
)

// Document is a key of a lease with its value.
type Document struct {
	Key   string
	Value *string
	// ETag is set when the lease is confirmed; nil before that.
	ETag *string
}

// Lease is a lease as it is stored.
type Lease struct {
	ID    ID
	Seq   int64 // of the state, from 1
	State State
	// Token is the SHA-256 of the token, which is not stored.
	Token     [32]byte
	Owner     principal.ID
	CreatedAt clock.Instant
	Deadline  clock.Instant
	// Fence is the fencing number. It is larger than that of every earlier owner of one of the keys. It
	// is final once Acquire has returned the lease.
	Fence     int64
	Documents []Document
	// Request is the request that created the lease; nil if it had no idempotency key, or the
	// lease was refused because it did not get its keys (see partition).
	Request *commit.RequestRow
	// Writers wrote the states, the latest last.
	Writers []commit.EntryID
}

// ExpiresAt returns the deadline of the lease; nil if it is confirmed or was cancelled.
func (l *Lease) ExpiresAt() *clock.Instant {
	if l.State == Confirmed || l.IsCancelled() {
		return nil
	}
	return &l.Deadline
}

// Tenant returns the tenant of the owner, to which the keys belong.
func (l *Lease) Tenant() string { return l.Owner.Tenant() }

// FencingNumber returns Fence as a decimal number.
func (l *Lease) FencingNumber() string { return strconv.FormatInt(l.Fence, 10) }

// IsConfirmed reports whether the keys are held permanently.
func (l *Lease) IsConfirmed() bool { return l.State == Confirmed }

// IsCancelled reports whether the lease was cancelled or refused.
func (l *Lease) IsCancelled() bool { return l.State == Cancelled || l.State == Refused }

// IsExpired reports whether the lease is in state Expired.
func (l *Lease) IsExpired() bool { return l.State == Expired }

// String returns the name of the state in the API. A refused lease, which nobody ever got, is
// shown as cancelled.
func (s State) String() string {
	switch s {
	case Pending:
		return "PENDING"
	case Confirmed:
		return "CONFIRMED"
	case Cancelled, Refused:
		return "CANCELLED"
	case Expired:
		return "EXPIRED"
	}
	return ""
}

// ParseState returns the state with a name.
func ParseState(name string) (State, bool) {
	for _, s := range []State{Pending, Confirmed, Cancelled, Expired} {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Ended reports whether the lease holds no key and never will.
func (l *Lease) Ended() bool {
	return l.State == Cancelled || l.State == Expired || l.State == Refused
}

// overdue reports whether the deadline of a pending lease has passed.
func (l *Lease) overdue(now clock.Instant) bool { return l.State == Pending && l.Deadline <= now }

// keeps reports whether the lease holds a key at a time.
func (l *Lease) keeps(key claim.Key, now clock.Instant) bool {
	if l.State != Confirmed && l.State != Pending || l.overdue(now) {
		return false
	}
	return slices.Contains(l.keys(), key)
}

// keys returns the keys in the order of the input.
func (l *Lease) keys() []claim.Key {
	keys := make([]claim.Key, len(l.Documents))
	for i := range l.Documents {
		keys[i] = claim.Leased(l.Tenant(), l.Documents[i].Key)
	}
	return keys
}
