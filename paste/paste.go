package paste

import (
	"crypto/sha256"
	"crypto/subtle"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/timeline"
	"carrel/principal"
)

// Paste is a paste as it is stored.
type Paste struct {
	ID    ID
	Seq   int64 // of the state, from 1
	State commit.State
	// MTS is the write timestamp of the state; it rises with each.
	MTS clock.Instant
	// Secret is the SHA-256 of the secret, which is not stored.
	Secret [sha256.Size]byte
	// Author created the paste; empty: an anonymous caller.
	Author    principal.ID
	IsPrivate bool
	// BornPublic: the paste was public when it was created.
	BornPublic bool
	Title      *string
	Body       Body
	CreatedAt  clock.Instant
	ModifiedAt clock.Instant
	ExpiresAt  *clock.Instant
	// Version goes up by one with every change of what is shown, from 1.
	Version int
	// Request is the request that created the paste; nil: it had no idempotency key.
	Request *commit.RequestRow
	// Writers made the states, at most commit.MaxWriters, the last one last.
	Writers []commit.EntryID
}

// Body is where the body of a paste is.
type Body struct {
	// Text is the body itself; a long one is stored beside the row, and Text is empty.
	Text string
	// Long names a long body; the zero BodyID: there is none.
	Long BodyID
	// Size is the number of bytes.
	Size int
}

// IsLong reports whether the body is stored beside the row.
func (b *Body) IsLong() bool { return b.Long != BodyID{} }

// readable reports whether the paste is there for readers.
func (p *Paste) readable(now clock.Instant) bool {
	return p != nil && p.State == commit.Live && !p.expired(now)
}

// expired reports whether the time of the paste has come.
func (p *Paste) expired(now clock.Instant) bool { return p.ExpiresAt != nil && *p.ExpiresAt <= now }

// listed reports whether the state is one that the feed shows, until it expires.
func (p *Paste) listed() bool { return p.State == commit.Live && !p.IsPrivate }

// entry returns the entry of the paste in the feed.
func (p *Paste) entry() timeline.Entry {
	e := timeline.Entry{Created: p.CreatedAt, ID: string(p.ID)}
	if p.ExpiresAt != nil {
		e.Until = *p.ExpiresAt
	}
	return e
}

// opens reports whether a secret is that of the paste, in constant time. A paste that is
// not there has no secret, and takes as long.
func (p *Paste) opens(secret string) bool {
	var stored [sha256.Size]byte
	if p != nil {
		stored = p.Secret
	}
	given := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(given[:], stored[:]) == 1 && p != nil
}

// deleted returns the paste as it is after it was deleted. The row stays for a while, so
// that a late writer finds it, and holds nothing that was in the paste.
func (p *Paste) deleted(mts clock.Instant) *Paste {
	return &Paste{
		ID: p.ID, Seq: p.Seq + 1, State: commit.Deleted, MTS: mts, CreatedAt: p.CreatedAt, ModifiedAt: mts, Version: p.Version + 1,
		IsPrivate: p.IsPrivate, Request: p.Request, Writers: p.Writers,
	}
}

// Tenant returns the tenant of the author, empty for an anonymous one. Pastes are shared by
// all tenants.
func (p *Paste) Tenant() string { return p.Author.Tenant() }
