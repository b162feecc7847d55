package paste

import (
	"crypto/sha256"
	"crypto/subtle"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/principal"
)

// Paste is a paste as it is stored.
type Paste struct {
	ID    ID
	Seq   int64 // of the state, from 1
	State commit.State
	// MTS is the write timestamp of the state. It increases with each state.
	MTS clock.Instant
	// Secret is the SHA-256 of the secret, which is not stored.
	Secret [sha256.Size]byte
	// Author created the paste; empty for an anonymous caller.
	Author    principal.ID
	IsPrivate bool
	// BornPublic is whether the paste was public when it was created.
	BornPublic bool
	Title      *string
	Body       Body
	CreatedAt  clock.Instant
	ModifiedAt clock.Instant
	ExpiresAt  *clock.Instant
	// Version is 1 for a new paste, and increases by one with every visible change.
	Version int
	// Request is the request that created the paste; nil if it had no idempotency key.
	Request *commit.RequestRow
	// Writers wrote the last states, at most commit.MaxWriters, the latest last.
	Writers []commit.EntryID
}

// Body is the body of a paste, or a reference to it.
type Body struct {
	// Text is the body itself. A long body is stored in a separate row, and Text is empty until
	// LoadBodies has read it.
	Text string
	// Long identifies a long body. It is zero if the body is not long.
	Long BodyID
	// Size is the number of bytes.
	Size int
	// stored is a long body that a change has stored before it is decided.
	stored *string
}

// IsLong reports whether the body is stored in a separate row.
func (b *Body) IsLong() bool { return b.Long != BodyID{} }

// Loaded reports whether Text is the body. No body is empty.
func (b *Body) Loaded() bool { return b.Text != "" }

// readable reports whether the paste is visible to readers.
func (p *Paste) readable(now clock.Instant) bool {
	return p != nil && p.State == commit.Live && !p.expired(now)
}

// expired reports whether the paste has expired.
func (p *Paste) expired(now clock.Instant) bool { return p.ExpiresAt != nil && *p.ExpiresAt <= now }

// listed reports whether the feed shows the paste, until it expires.
func (p *Paste) listed() bool { return p.State == commit.Live && !p.IsPrivate }

// entry returns the entry of the paste in the feed.
func (p *Paste) entry() feed.Entry {
	e := feed.Entry{Created: p.CreatedAt, ID: string(p.ID)}
	if p.ExpiresAt != nil {
		e.Until = *p.ExpiresAt
	}
	return e
}

// opens reports whether a secret is that of the paste, in constant time. For a nil paste it
// takes as long, and returns false. A text of another length than a secret is not compared.
func (p *Paste) opens(secret string) bool {
	if len(secret) != secretLength {
		return false
	}
	var stored [sha256.Size]byte
	if p != nil {
		stored = p.Secret
	}
	given := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(given[:], stored[:]) == 1 && p != nil
}

// deleted returns the deleted state of a paste. The row is kept for a while, so that a late
// writer finds it, but without the content of the paste.
func (p *Paste) deleted(mts clock.Instant) *Paste {
	return &Paste{
		ID: p.ID, Seq: p.Seq + 1, State: commit.Deleted, MTS: mts, CreatedAt: p.CreatedAt, ModifiedAt: mts, Version: p.Version + 1,
		IsPrivate: p.IsPrivate, Request: p.Request, Writers: p.Writers,
	}
}

// Tenant returns the tenant of the author, or "" for an anonymous one. Pastes are shared by all
// tenants.
func (p *Paste) Tenant() string { return p.Author.Tenant() }
