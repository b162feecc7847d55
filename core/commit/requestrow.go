package commit

import (
	"bytes"

	"carrel/core/clock"
)

// RequestKey identifies an answered request: a hash of viewer and idempotency key.
type RequestKey [32]byte

// RequestRow is the first outcome of a keyed mutation, usually kept for a day.
type RequestRow struct {
	Key       RequestKey
	InputHash [32]byte
	Answer    []byte
	// Until is when the row may be forgotten; stores may keep it longer. clock.Max means never.
	Until clock.Instant
}

// claimAnswer marks a request row that is a claim and not an outcome. No outcome is
// encoded like this.
var claimAnswer = []byte("claimed")

// Claims reports whether the row only claims an id for a creation that has not happened.
func (r *RequestRow) Claims() bool { return bytes.Equal(r.Answer, claimAnswer) }
